"""langchain-openai: messages, streams, bound tools and structured outputs, over chat and Responses."""

from __future__ import annotations

import os
from typing import Any, Literal

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, Field

from results import URL, outcomes, report

CHAT, RESPONSES = (
    ChatOpenAI(
        model="any",
        base_url=f"{URL}/v1",
        temperature=0,
        max_completion_tokens=200,
        max_retries=0,
        stream_usage=True,
        use_responses_api=responses,
    )
    for responses in (False, True)
)
RUN = "Run `ls -la /tmp`"
EMBEDDER_URL = os.environ["EMBEDDER_URL"]
PERSON = "Give me JSON with name = Ada and age = 36"


class Person(BaseModel):
    """Bounded, for the model would go on for ever."""

    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=150)


@tool
def bash(command: str) -> str:
    """Run a command."""
    return f"I ran {command}\nand that is all."


def invoked(model: ChatOpenAI) -> object:
    answer = model.invoke([SystemMessage("Be brief."), HumanMessage("Repeat: one fine day")])
    usage = answer.usage_metadata or {}
    return {"text": answer.text, "counted": usage["input_tokens"] > 0 and usage["output_tokens"] > 0}


def streamed(model: ChatOpenAI) -> object:
    chunks = list(model.stream("Repeat: one fine day"))
    whole: Any = sum(chunks[1:], chunks[0])
    return {
        "text": whole.text,
        "pieces": len(chunks) > 2,
        "counted": whole.usage_metadata["output_tokens"] > 0,
    }


def batched(model: ChatOpenAI) -> object:
    return [answer.text for answer in model.batch(["Say one", "Say two"])]


def called(model: ChatOpenAI) -> object:
    bound = model.bind_tools([bash])
    question = HumanMessage(RUN)
    asked = bound.invoke([question])
    results = [bash.invoke(call) for call in asked.tool_calls]
    calls = [[call["name"], call["args"]] for call in asked.tool_calls]
    return {"calls": calls, "report": bound.invoke([question, asked, *results]).text}


def called_in_a_stream(model: ChatOpenAI) -> object:
    chunks = list(model.bind_tools([bash]).stream(RUN))
    whole = sum(chunks[1:], chunks[0])
    return [[call["name"], call["args"]] for call in whole.tool_calls]


def forced(model: ChatOpenAI) -> object:
    bound = model.bind_tools([bash], tool_choice="bash", parallel_tool_calls=False, strict=True)
    return [call["name"] for call in bound.invoke(RUN).tool_calls]


def structured(model: ChatOpenAI) -> object:
    methods: list[Literal["json_schema", "function_calling"]] = ["json_schema", "function_calling"]
    people: list[Any] = [model.with_structured_output(Person, method=m).invoke(PERSON) for m in methods]
    return [person.age for person in people]


def structured_in_a_stream(model: ChatOpenAI) -> object:
    parts: list[Any] = list(model.with_structured_output(Person).stream(PERSON))
    return parts[-1].age


def embedded() -> object:
    # Otherwise it sends the tokens of another tokenizer, which it would have to download.
    embeddings = OpenAIEmbeddings(
        model="any",
        base_url=f"{EMBEDDER_URL}/v1",
        check_embedding_ctx_length=False,
    )
    one, other = embeddings.embed_documents(["a", "b"])
    likeness = sum(a * b for a, b in zip(one, embeddings.embed_query("a"), strict=True))
    return [len(one), len(other), round(likeness, 3)]


CHECKS = (
    invoked,
    streamed,
    batched,
    called,
    called_in_a_stream,
    forced,
    structured,
    structured_in_a_stream,
)
report(
    {
        "chat": outcomes(CHECKS, CHAT),
        "responses": outcomes(CHECKS, RESPONSES),
        **outcomes([embedded]),
    }
)

"""instructor: answers as pydantic models, by tools, by schema and through all three protocols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anthropic
import instructor
import openai
from pydantic import BaseModel, Field, field_validator

from results import URL, outcomes, report

Mode = instructor.Mode


class bash(BaseModel):  # noqa: N801 - as the model knows it
    """Run a command."""

    command: str = Field(max_length=20)


class read(BaseModel):  # noqa: N801
    """Read a file."""

    path: str = Field(max_length=20)


class Person(BaseModel):
    """Bounded, for the model would go on for ever."""

    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=150)


class Elder(Person):
    """Never found at once: the first age is refused and asked for again."""

    @field_validator("age")
    @classmethod
    def is_old(cls, age: int) -> int:
        ages.append(age)
        if len(ages) < 2:
            raise ValueError("too young")
        return age


ages: list[int] = []
RUN = "Run `ls -la /tmp`"
PERSON = "Give me JSON with name = Ada and age = 36"


OPENAI: Any = openai.OpenAI(base_url=f"{URL}/v1", api_key="unused")
ANTHROPIC: Any = anthropic.Anthropic(base_url=URL, api_key="unused")


def ask(mode: instructor.Mode, text: str, response_model: Any, create: str = "create", **fields: Any) -> Any:
    client = instructor.from_openai(OPENAI, mode=mode)
    messages: Any = [{"role": "user", "content": text}]
    options = {"max_retries": 0, "temperature": 0, "max_tokens": 200, **fields}
    method = getattr(client.chat.completions, create)
    return method(model="any", messages=messages, response_model=response_model, **options)


def tools() -> object:
    return ask(Mode.TOOLS, RUN, bash).model_dump()


def parallel_tools() -> object:
    text = "Run `ls -la` and read notes.md"
    calls = ask(Mode.PARALLEL_TOOLS, text, Iterable[bash | read])
    return [{type(call).__name__: call.model_dump()} for call in calls]


def partial_objects() -> object:
    parts = [part.command for part in ask(Mode.TOOLS, RUN, bash, "create_partial")]
    return {"grows": len(set(parts)) > 2, "last": parts[-1]}


def schema() -> object:
    return ask(Mode.JSON_SCHEMA, PERSON, Person).age


def schema_in_a_stream() -> object:
    *_, last = ask(Mode.JSON_SCHEMA, PERSON, Person, "create_partial")
    return last.age


def asked_again() -> object:
    person = ask(Mode.TOOLS, PERSON, Elder, max_retries=1)
    return {"times": len(ages), "type": type(person).__name__}


def through_responses() -> object:
    client: Any = instructor.from_openai(OPENAI, mode=Mode.RESPONSES_TOOLS)
    return client.responses.create(
        model="any", input=RUN, response_model=bash, max_retries=0, temperature=0, max_output_tokens=200
    ).model_dump()


def through_messages() -> object:
    client: Any = instructor.from_anthropic(ANTHROPIC, mode=Mode.TOOLS)
    return client.messages.create(
        model="any",
        messages=[{"role": "user", "content": RUN}],
        response_model=bash,
        max_retries=0,
        max_tokens=200,
        extra_body={"temperature": 0},
    ).model_dump()


report(
    outcomes(
        [
            tools,
            parallel_tools,
            partial_objects,
            schema,
            schema_in_a_stream,
            asked_again,
            through_responses,
            through_messages,
        ]
    )
)

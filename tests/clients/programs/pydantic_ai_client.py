"""pydantic-ai: an agent with a tool and typed outputs, whole and streamed, through all three protocols."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelSettings, NativeOutput, ToolOutput
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from results import URL, outcomes, report

OPENAI = OpenAIProvider(base_url=f"{URL}/v1", api_key="unused")
CHAT = OpenAIChatModel("any", provider=OPENAI)
RESPONSES = OpenAIResponsesModel("any", provider=OPENAI)
# By its name it is a model that can be held to a schema.
MESSAGES = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(base_url=URL, api_key="unused"))
RUN = "Run `ls -la /tmp`"


class Person(BaseModel):
    """Bounded, for the model would go on for ever."""

    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=150)


class Command(BaseModel):
    command: str = Field(max_length=20)


def bash(command: str) -> str:
    """Run a command."""
    return f"I ran {command}\nand that is all."


def agent(model: Model, **options: Any) -> Agent[None, Any]:
    settings = ModelSettings(max_tokens=200, extra_body={"temperature": 0})
    return Agent(model, model_settings=settings, retries=0, **options)


def parts(result: Any) -> list[str]:
    return [part.part_kind for message in result.all_messages() for part in message.parts]


def with_a_tool(model: Model) -> object:
    result = agent(model, tools=[bash]).run_sync(RUN)
    return {"output": result.output, "parts": parts(result), "requests": result.usage.requests}


def streamed(model: Model) -> object:
    result = agent(model, tools=[bash]).run_stream_sync(RUN)
    pieces = list(result.stream_text(delta=True, debounce_by=None))
    return {"output": "".join(pieces), "pieces": len(pieces) > 2, "parts": parts(result)}


def native(model: Model) -> object:
    asked = "Give me JSON with name = Ada and age = 36"
    return agent(model, output_type=NativeOutput(Person)).run_sync(asked).output.age


def as_a_call(model: Model) -> object:
    run = ToolOutput(Command, name="bash", description="Run a command.")
    return agent(model, output_type=run).run_sync(RUN).output.model_dump()


CHECKS = (with_a_tool, streamed, native, as_a_call)
report(
    {
        "chat": outcomes(CHECKS, CHAT),
        "responses": outcomes(CHECKS, RESPONSES),
        "messages": outcomes(CHECKS, MESSAGES),
    }
)

"""What is asked of a model, as `/v1/chat/completions` takes it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from fireside_agent.messages import Role, SamplingChoice


class CalledFunction(TypedDict):
    name: str
    arguments: str


class MadeCall(TypedDict):
    """A call in an answer that is sent back."""

    id: str
    type: Literal["function"]
    function: CalledFunction


class ChatMessage(TypedDict):
    """A message as `/v1/chat/completions` takes it."""

    role: Role | Literal["system", "tool"]
    content: str
    tool_calls: NotRequired[list[MadeCall]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the model.

    Attributes:
        tools: in OpenAI's form.
        thinking: whether it may; None for the model's default.
        background: others' requests go first.
        in_memory: nothing of it may be put on the disk.
        chat: the id of the chat that it is of; with that chat goes what the engine has kept of it.
    """

    messages: list[ChatMessage]
    tools: Sequence[dict[str, Any]] = ()
    sampling: SamplingChoice = field(default_factory=SamplingChoice)
    thinking: bool | None = None
    background: bool = False
    in_memory: bool = False
    chat: str = ""

    def body(self, model: str) -> dict[str, Any]:
        """The JSON of the request."""
        body: dict[str, Any] = {
            "model": model,
            "messages": self.messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
            **msgspec.to_builtins(self.sampling),
        }
        if self.tools:
            body["tools"] = list(self.tools)
        if self.thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": self.thinking}
        return body

"""What a tool is: its name and schema for the model, its risk for the person, and what it does."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.messages import FileChange, Preview

Arguments = dict[str, Any]
"""A call's arguments, valid by the tool's schema."""

Risk = Literal["read", "change", "execute", "send"]
"""`read` looks at this machine, `change` writes to it, `execute` runs programs, `send` talks to others."""


class ToolError(AgentError):
    """A call failed. The text is for the model, and says what it may do instead."""


class BlockedError(ToolError):
    """A call that nobody can allow: a path outside the workspace, a credential file, a private address."""


class Subject(msgspec.Struct, frozen=True):
    """What rules for approvals look at; what does not apply is empty."""

    command: str = ""
    path: str = ""
    """Absolute, symbolic links resolved."""
    host: str = ""


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """What has happened in the chat so far, as far as it decides what may leave this machine.

    Attributes:
        urls: that the person typed or that a search in this chat returned.
        local: content of this machine (a file, a command's output, memory) has entered the chat.
    """

    urls: frozenset[str] = frozenset()
    local: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call that runs.

    Attributes:
        id: unique in the chat.
        show: shows output while the call runs; the result still has to hold all of it.
    """

    id: str
    session_id: str
    arguments: Arguments
    show: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave.

    Attributes:
        text: for the model and the person.
        ok: False for a failure that the tool itself reports, such as an exit status.
        urls: that may be fetched from now on without asking.
        changes: of files, already in the journal.
    """

    text: str
    ok: bool = True
    urls: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Spec:
    """A tool as models are told of it: OpenAI's `function`."""

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])


class Tool(ABC):
    """One tool. Instances hold no state of a chat: all of that is in `Call` and `ChatFacts`.

    Class attributes:
        name: as the model calls it.
        description: for the model, short.
        parameters: JSON Schema of an object.
        risk: see `Risk`.
        gives_local: its results are content of this machine.
        source: "built-in", or the name of the MCP server that it belongs to.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    parameters: ClassVar[dict[str, Any]]
    risk: ClassVar[Risk]
    gives_local: ClassVar[bool] = False
    source: ClassVar[str] = "built-in"

    @property
    def spec(self) -> Spec:
        return Spec(self.name, self.description, self.parameters)

    def question(self, arguments: Arguments, facts: ChatFacts) -> str | None:
        """Why the person has to be asked before this call, in words; None: it may run by itself."""
        match self.risk:
            case "read":
                return None
            case "change":
                return "It changes files."
            case "execute":
                return "It runs a program."
            case "send":
                return "It sends something to another machine."

    def subject(self, arguments: Arguments) -> Subject:
        """What rules look at."""
        return Subject()

    async def preview(self, arguments: Arguments) -> Preview:
        """What the card shows. Changes nothing.

        Raises:
            ToolError: the call would fail, so that nobody needs to be asked.
        """
        text = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()
        return Preview("arguments", text)

    @abstractmethod
    async def run(self, call: Call) -> ToolResult:
        """Do it. Cancelling ends everything that it has started, the whole process group included.

        Raises:
            ToolError: it failed; anything else is a fault of ours.
        """

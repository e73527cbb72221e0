"""What sessions and turns work with."""

import secrets
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.permissions import Permissions
from fireside_agent.provider import Provider
from fireside_agent.rendering import Rendering
from fireside_agent.store.sessions import SessionStore
from fireside_agent.tools.journal import Journal
from fireside_agent.tools.registry import Registry
from fireside_agent.tools.workspace import Workspace

MAX_STEPS = 25


def new_id() -> str:
    return secrets.token_hex(12)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of the agent and what governs them.

    Attributes:
        usual: names that a chat has when its settings name none; given the context window in tokens.
        hints: sentences for the system prompt.
        workspace: the folders that tools may use.
        journal: what files held before tools changed them.
    """

    registry: Registry
    permissions: Permissions
    workspace: Workspace
    journal: Journal
    usual: Callable[[int | None], Sequence[str]]
    hints: Callable[[Sequence[str]], Sequence[str]] = lambda names: ()


@dataclass(frozen=True, slots=True)
class Services:
    """What sessions and turns work with.

    Attributes:
        sessions_changed: the list of chats is to be sent again.
        forget_chat: the engine is to remove what it has kept of a chat.
        instructions: the person's, for all chats.
        context_window: of the served model in tokens, where it can be known; asks for it if need be.
        own_model: name of the served model, where it is known and the server is Fireside's.
        known_window: the same as far as it is known now.
        traces: whether standard error is told what turns do, without what is said in them.
    """

    store: SessionStore
    provider: Provider
    rendering: Rendering
    sessions_changed: Callable[[], None]
    forget_chat: Callable[[str], None]
    toolbox: Toolbox
    attachments: AttachmentStore
    instructions: Callable[[], Awaitable[str]]
    context_window: Callable[[], Awaitable[int | None]]
    known_window: Callable[[], int | None]
    own_model: Callable[[], str | None] = lambda: None
    traces: bool = False
    max_steps: int = MAX_STEPS
    titles: bool = True

    def trace(self, line: str) -> None:
        """Tell what a turn does, if anybody wants to know."""
        if self.traces:
            print(f"agent {line}", file=sys.stderr, flush=True)

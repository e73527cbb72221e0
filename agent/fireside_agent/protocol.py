"""The frames of `/ws`, defined once.

Every frame is a JSON object with a `type`. `docs/protocol.md` and `frontend/js/protocol.d.ts` are
generated from this file, `client_frames.py` and `messages.py` by `scripts/protocol.py`.

A session's frames carry `session_id` and `seq`. `seq` rises by one with every frame of the session
within one `epoch` (one run of the app). A client that lost its socket sends
`open_session {id, epoch, after_seq}` and gets either exactly the frames it missed or, where those are
gone or the epoch is another, one `history` frame that replaces everything it had.
"""

from typing import Literal

import msgspec

from fireside_agent.client_frames import ClientFrame
from fireside_agent.messages import Message, SamplingChoice, SessionRow, SessionSettings, Summary, ToolCall

__all__ = ["ClientFrame"]

PROTOCOL_VERSION = 3

TurnStatus = Literal["done", "aborted", "interrupted", "error"]
Phase = Literal["waiting", "loading", "queued", "prefill", "decode", "restarting", "retrying"]


# What the server sends about the connection.


class Hello(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """The first frame of every connection."""

    protocol: int
    epoch: str


class Ready(msgspec.Struct, frozen=True, tag="ready", kw_only=True):
    """A model can be asked. Sent after `hello`, again whenever the model changes."""

    model: str
    context_window: int | None = None
    thinking: bool = False
    """It can think."""
    thinks: bool = False
    """It does unless it is told otherwise."""
    vision: bool = False
    audio: bool = False
    gen_defaults: SamplingChoice | None = None
    """How it draws tokens where nothing is said."""


class Storage(msgspec.Struct, frozen=True, tag="storage", kw_only=True):
    """Whether what is said can be stored. Sent after `hello` where it cannot, again whenever that changes."""

    problem: str
    """Why it cannot; `""` where it can."""


class Sessions(msgspec.Struct, frozen=True, tag="sessions", kw_only=True):
    """The list of chats."""

    sessions: list[SessionRow]
    deleted: int = 0
    """How many deleted ones can be restored; `GET /api/sessions/deleted` lists them."""


class Deleted(msgspec.Struct, frozen=True, tag="deleted", kw_only=True):
    """A session is gone; whoever showed it shows another one."""

    session_id: str


class Error(msgspec.Struct, frozen=True, tag="error", kw_only=True):
    """A frame was not acted upon. Nothing was changed by it."""

    code: str
    """`invalid_json`, `invalid_frame`, `empty_prompt`, `prompt_too_long`, `unknown_session`,
    `not_deleted`, `unknown_message`, `unknown_call`, `already_settled`, `unknown_attachment`,
    `not_possible`, `too_many_frames`, `storage_failed`."""
    message: str
    session_id: str | None = None
    client_id: str | None = None


# What the server sends about one session.


class Rendered(msgspec.Struct, frozen=True, tag="rendered", kw_only=True):
    """What `render` asked for. It has no `seq`: it says nothing new about the session."""

    session_id: str
    html: dict[str, list[str]]
    """By the message's id; without those that are not in the session."""


class History(msgspec.Struct, frozen=True, tag="history", kw_only=True):
    """The whole session as it is after frame `seq`. Replaces what the client had of it."""

    session_id: str
    epoch: str
    seq: int
    title: str
    messages: list[Message]
    """All of its branches, every message after its parent. `html` of old ones may be null."""
    leaf_id: str | None = None
    """Where the current branch ends."""
    summaries: list[Summary] = []
    settings: SessionSettings = SessionSettings()
    temporary: bool = False


class Accepted(msgspec.Struct, frozen=True, tag="accepted", kw_only=True):
    """The prompt is stored. Its message is `queued` until `turn_start` names it."""

    session_id: str
    seq: int
    message: Message


class TurnStart(msgspec.Struct, frozen=True, tag="turn_start", kw_only=True):
    """An answer begins: `prompt_id` is asked now, `message` is the empty answer, running."""

    session_id: str
    seq: int
    prompt_id: str
    message: Message


class StepStart(msgspec.Struct, frozen=True, tag="step_start", kw_only=True):
    """The turn goes on: `ended` is complete, `message` is the next answer, empty and running."""

    session_id: str
    seq: int
    ended: Message
    message: Message


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning_delta", kw_only=True):
    """Text to append to the running answer's reasoning."""

    session_id: str
    seq: int
    message_id: str
    text: str


class ToolStart(msgspec.Struct, frozen=True, tag="tool_start", kw_only=True):
    """The model has asked for a call. `call` replaces what was known of it; so in all frames of calls."""

    session_id: str
    seq: int
    message_id: str
    call: ToolCall


class ToolApprovalRequest(msgspec.Struct, frozen=True, tag="tool_approval_request", kw_only=True):
    """A call waits for `approval`, for as long as it takes."""

    session_id: str
    seq: int
    message_id: str
    call: ToolCall


class ApprovalSettled(msgspec.Struct, frozen=True, tag="approval_settled", kw_only=True):
    """A call that asked asks no more."""

    session_id: str
    seq: int
    message_id: str
    call: ToolCall


class ToolUpdate(msgspec.Struct, frozen=True, tag="tool_update", kw_only=True):
    """Output to append to a running call's result."""

    session_id: str
    seq: int
    message_id: str
    call_id: str
    text: str


class ToolEnd(msgspec.Struct, frozen=True, tag="tool_end", kw_only=True):
    """A call has ended, or what it changed was undone."""

    session_id: str
    seq: int
    message_id: str
    call: ToolCall


class Context(msgspec.Struct, frozen=True, tag="context", kw_only=True):
    """How full the model's context window is; null right after older messages were summarized."""

    session_id: str
    seq: int
    tokens: int | None
    context_window: int | None
    percent: float | None


class Progress(msgspec.Struct, frozen=True, tag="progress", kw_only=True):
    """What the running turn is waiting for. Counts are tokens."""

    session_id: str
    seq: int
    message_id: str
    phase: Phase
    queue_position: int | None = None
    eta_s: float | None = None
    prefill_done: int | None = None
    prefill_total: int | None = None


class TextDelta(msgspec.Struct, frozen=True, tag="text_delta", kw_only=True):
    """Text to append to the running answer's Markdown."""

    session_id: str
    seq: int
    message_id: str
    text: str


class Blocks(msgspec.Struct, frozen=True, tag="blocks", kw_only=True):
    """Rendered Markdown: `html` replaces the blocks from index `start` to the end.

    Blocks before `start` stay as they are. Mostly only the last block changes, but a link definition
    reaches back to the blocks that use it.
    """

    session_id: str
    seq: int
    message_id: str
    start: int
    html: list[str]


class TurnEnd(msgspec.Struct, frozen=True, tag="turn_end", kw_only=True):
    """The answer is complete as stored: `message` replaces what was streamed."""

    session_id: str
    seq: int
    status: TurnStatus
    message: Message


SessionFrame = (
    Accepted
    | TurnStart
    | StepStart
    | Progress
    | TextDelta
    | ReasoningDelta
    | Blocks
    | ToolStart
    | ToolApprovalRequest
    | ApprovalSettled
    | ToolUpdate
    | ToolEnd
    | Context
    | TurnEnd
)
ServerFrame = Hello | Ready | Storage | Sessions | Deleted | Error | History | Rendered | SessionFrame

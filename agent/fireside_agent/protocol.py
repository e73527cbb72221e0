"""The frames of `/ws`, defined once.

Every frame is a JSON object with a `type`. `docs/protocol.md` and `frontend/js/protocol.d.ts` are
generated from this file by `scripts/protocol.py`.

A session's frames carry `session_id` and `seq`. `seq` rises by one with every frame of the session
within one `epoch` (one run of the app). A client that lost its socket sends
`open_session {id, epoch, after_seq}` and gets either exactly the frames it missed or, where those are
gone or the epoch is another, one `history` frame that replaces everything it had.
"""

from typing import Literal

import msgspec

PROTOCOL_VERSION = 1

Role = Literal["user", "assistant"]
MessageStatus = Literal["queued", "running", "done", "aborted", "interrupted", "error"]
TurnStatus = Literal["done", "aborted", "interrupted", "error"]
Phase = Literal["waiting", "loading", "queued", "prefill", "decode", "restarting"]


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What an answer cost and how it was made. Times in milliseconds, speeds in tokens a second."""

    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    finish_reason: str = ""
    lane: str = ""
    queue_ms: float | None = None
    ttft_ms: float | None = None
    decode_tps: float | None = None
    seed: int | None = None
    resumed: int = 0
    """How often the engine died and the answer was taken up again where it had stopped."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a session as a client sees it."""

    id: str
    role: Role
    text: str
    """Markdown as it was typed or generated."""
    html: list[str]
    """The rendered Markdown, one element a top-level block, safe to insert as it is."""
    status: MessageStatus
    created_at: float
    """Seconds since the epoch, UTC."""
    parent_id: str | None = None
    """The message it follows. A queued prompt follows the prompt before it until that has an answer."""
    client_id: str | None = None
    error: str | None = None
    receipt: Receipt | None = None


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the list of chats, newest first."""

    id: str
    title: str
    created_at: float
    modified_at: float
    message_count: int
    running: bool


# What a client sends.


class Prompt(msgspec.Struct, frozen=True, tag="prompt", kw_only=True):
    """Ask. While a turn is running the prompt is queued behind it, in order.

    `client_id` is chosen by the client and comes back in `accepted` and in the stored message, so
    that a message shown before the server had it can be told apart from a new one; a second prompt
    with the same `client_id` in the same session is answered with `accepted` and not asked again.
    """

    session_id: str
    text: str
    client_id: str


class Abort(msgspec.Struct, frozen=True, tag="abort", kw_only=True):
    """Stop the session's running turn. What was generated so far is kept."""

    session_id: str


class NewSession(msgspec.Struct, frozen=True, tag="new_session", kw_only=True):
    """Start an empty session; answered with `history`. It is stored with its first prompt."""


class OpenSession(msgspec.Struct, frozen=True, tag="open_session", kw_only=True):
    """Follow a session, in place of the one followed so far."""

    id: str
    epoch: str = ""
    after_seq: int = 0


class ListSessions(msgspec.Struct, frozen=True, tag="list_sessions", kw_only=True):
    """Ask for `sessions`. It is also sent unasked whenever the list changes."""


class DeleteSession(msgspec.Struct, frozen=True, tag="delete_session", kw_only=True):
    """Delete a session and its messages; a running turn is stopped first."""

    id: str


ClientFrame = Prompt | Abort | NewSession | OpenSession | ListSessions | DeleteSession


# What the server sends about the connection.


class Hello(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """The first frame of every connection."""

    protocol: int
    epoch: str


class Ready(msgspec.Struct, frozen=True, tag="ready", kw_only=True):
    """A model can be asked. Sent after `hello`, again whenever the model changes."""

    model: str
    context_window: int | None = None


class Sessions(msgspec.Struct, frozen=True, tag="sessions", kw_only=True):
    """The list of chats."""

    sessions: list[SessionRow]


class Deleted(msgspec.Struct, frozen=True, tag="deleted", kw_only=True):
    """A session is gone; whoever showed it shows another one."""

    session_id: str


class Error(msgspec.Struct, frozen=True, tag="error", kw_only=True):
    """A frame was not acted upon. Nothing was changed by it."""

    code: str
    """`invalid_json`, `invalid_frame`, `empty_prompt`, `prompt_too_long`, `unknown_session`,
    `storage_failed`."""
    message: str
    session_id: str | None = None
    client_id: str | None = None


# What the server sends about one session.


class History(msgspec.Struct, frozen=True, tag="history", kw_only=True):
    """The whole session as it is after frame `seq`. Replaces what the client had of it."""

    session_id: str
    epoch: str
    seq: int
    title: str
    messages: list[Message]


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


SessionFrame = Accepted | TurnStart | Progress | TextDelta | Blocks | TurnEnd
ServerFrame = Hello | Ready | Sessions | Deleted | Error | History | SessionFrame

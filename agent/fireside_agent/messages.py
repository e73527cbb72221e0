"""What a session is made of, as clients see it and as it is stored."""

from typing import Literal

import msgspec

Role = Literal["user", "assistant"]
MessageStatus = Literal["queued", "running", "done", "aborted", "interrupted", "error"]
ToolStatus = Literal["waiting", "asking", "running", "done", "failed", "denied", "blocked", "aborted"]
Decision = Literal["allow", "deny"]
PreviewKind = Literal["command", "diff", "request", "arguments"]


class SamplingChoice(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How tokens are drawn; what is not said is the model's own."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


class CutText(msgspec.Struct, frozen=True, kw_only=True):
    """An attached file of whose text the model got the beginning alone: more does not fit. In characters."""

    name: str
    given: int
    characters: int


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
    computed: int | None = None
    """Prompt tokens that were read; the others came from a cache, in memory or on disk."""
    from_ram: int | None = None
    from_ssd: int | None = None
    model_hash: str = ""
    adapter_hash: str = ""
    resumed: int = 0
    """How often the engine died and the answer was taken up again where it had stopped."""
    sampling: SamplingChoice | None = None
    """As it was asked for; null where nothing was said."""
    instructions: str = ""
    """The system prompt in force, without what the tools add."""
    cut: list[CutText] = []
    """Files of the prompt that the model did not get whole."""


class Preview(msgspec.Struct, frozen=True):
    """What an approval card shows: exactly what would happen.

    `text` is the command, a unified diff, the URL or query that is sent, or the arguments as JSON.
    """

    kind: PreviewKind
    text: str


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file that a call has changed, so that it can be seen and undone. Hashes are of the journal."""

    path: str
    before: str | None
    """Hash of the file's content before; null: there was no file."""
    after: str | None
    diff: str
    undone: bool = False


class AlwaysOffer(msgspec.Struct, frozen=True):
    """A durable permission that the card offers, in words."""

    scope: Literal["session", "tool", "rule"]
    words: str


class Settled(msgspec.Struct, frozen=True):
    """How an approval ended: who decided, and why where it was not a person."""

    decision: Decision
    who: Literal["person", "rule", "fireside"]
    why: str = ""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, in the message that asked for it. Times in milliseconds."""

    call_id: str
    name: str
    arguments: str
    """JSON, as the model wrote it, or as the person edited it."""
    status: ToolStatus
    source: str = "built-in"
    result: str = ""
    """What the model gets; while the call runs, its output so far."""
    question: str | None = None
    """Why the person is asked."""
    preview: Preview | None = None
    offers: list[AlwaysOffer] = []
    settled: Settled | None = None
    changes: list[FileChange] = []
    urls: list[str] = []
    """Addresses that its result gave, which may be fetched without asking."""
    ms: int | None = None


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file that came with a message, stored by the hash of its content."""

    sha256: str
    name: str
    media_type: str
    size: int
    """Bytes."""
    pages: int | None = None
    """Of a PDF whose text has been read."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a session as a client sees it.

    A turn is a prompt and one or more answers, each hanging on the one before: the model's next step after
    its tools have run is a message of its own.
    """

    id: str
    role: Role
    text: str
    """Markdown as it was typed or generated."""
    html: list[str] | None
    """The rendered Markdown, one element a top-level block, safe to insert as it is; null: ask for it."""
    status: MessageStatus
    created_at: float
    """Seconds since the epoch, UTC."""
    parent_id: str | None = None
    """The message it follows. A queued prompt follows the prompt before it until that has an answer."""
    client_id: str | None = None
    error: str | None = None
    receipt: Receipt | None = None
    reasoning: str = ""
    """What the model thought, plain text."""
    reasoning_ms: int | None = None
    tools: list[ToolCall] = []
    attachments: list[Attachment] = []
    steering: bool = False
    """A prompt that the running turn is to see at its next step."""


def call_of(message: Message, call_id: str) -> ToolCall:
    """The call of this id, which the message has."""
    return next(call for call in message.tools if call.call_id == call_id)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told in place of the messages up to `upto_id` on this branch; they stay."""

    id: str
    upto_id: str
    text: str
    created_at: float
    messages: int
    """How many it stands for."""


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a chat is answered; kept with it."""

    instructions: str = ""
    tools: list[str] | None = None
    """Names of the tools that the model may call; null for those that suit the model."""
    read_only: bool = False
    """Tools that ask are blocked outright."""
    thinking: bool | None = None
    sampling: SamplingChoice = SamplingChoice()
    preset: str | None = None


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the list of chats, pinned ones first, then the newest."""

    id: str
    title: str
    created_at: float
    modified_at: float
    message_count: int
    running: bool
    pinned: bool = False
    archived: bool = False
    asking: bool = False
    """A call waits for the person's decision."""

"""What a search is asked for and what it answers."""

import base64
from typing import Annotated, Literal, get_args

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.messages import Role

Kind = Literal["title", "message", "reasoning", "tool", "attachment", "memory"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SESSION_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "memory")
ROLES: tuple[Role, ...] = get_args(Role)

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class InvalidSearchError(AgentError):
    """A parameter of a search is wrong. `param` names it."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message)
        self.param = param


class SupersededError(AgentError):
    """A newer search of the same client has taken this one's place."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for and where. Times in seconds since the epoch: `after` <= a hit's time < `before`."""

    query: str
    kinds: tuple[Kind, ...] = KINDS
    role: Role | None = None
    before: float | None = None
    after: float | None = None
    session_id: str | None = None

    @property
    def searches_memory(self) -> bool:
        """Whether articles may be hits: they have no role and no session."""
        return "memory" in self.kinds and self.role is None and self.session_id is None


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One place that was found, to jump to by `session_id` and `message_id`; what does not apply is null."""

    kind: Kind
    session_id: str | None = None
    session_title: str | None = None
    message_id: str | None = None
    role: Role | None = None
    call_id: str | None = None
    name: str | None = None
    """Of the tool, the attached file or the article."""
    heading: str | None = None
    """Of the article's section."""
    created_at: float
    """Of the message or session; of an article, when it was changed."""
    archived: bool = False
    snippet: str
    """HTML: everything is escaped, what was found is in `<mark>`."""


class Considered(msgspec.Struct, frozen=True):
    """What has been ranked: everything that matches, or only the newest of it."""

    newest: int
    all: bool


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One page of hits, the best first, newer ones first among equals."""

    hits: list[Hit]
    cursor: str | None
    """For the next page; null on the last one."""
    considered: Considered
    note: str | None
    """What the person should know: nothing to search for, words left out, the time limit."""


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ends: a ranking that the searcher may still know, and how to make it again if not."""

    ranking: str
    digest: str
    """Of the search that it belongs to."""
    upto: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    """The newest entry when the search began; what came later is left out."""
    offset: Annotated[int, msgspec.Meta(ge=0)]

    def encode(self) -> str:
        """As clients get it."""
        return base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, digest: str) -> "Cursor":
        """Raises InvalidSearchError when it is none of ours, or one of another search."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            cursor = msgspec.msgpack.decode(raw, type=cls)
        except (ValueError, msgspec.MsgspecError) as error:
            raise InvalidSearchError(
                "cursor", "cursor must be one that this search has returned; leave it out to begin anew."
            ) from error
        if cursor.digest != digest:
            raise InvalidSearchError(
                "cursor", "cursor belongs to another search; it goes with the same q and filters only."
            )
        return cursor

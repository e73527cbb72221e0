"""What goes to the process that reads a PDF, and what comes back in lines of JSON."""

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a document is read. Goes first, in a line of its own; the document follows.

    Attributes:
        seconds: after which reading ends, with the pages that are there.
        memory: bytes that the process may take, where the system can limit it.
    """

    pages: int = 2_000
    characters: int = 1_000_000
    seconds: float = 60.0
    memory: int = 1 << 30


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """The document is one, and has so many pages."""

    pages: int


class Page(msgspec.Struct, frozen=True, tag="page"):
    """The next page. `cut`: there is more on it; `failed`: it cannot be read."""

    text: str = ""
    cut: bool = False
    failed: bool = False


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The document cannot be read at all, and why, as half a sentence."""

    why: str


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """All was read that may be."""


Frame = Opened | Page | Refused | Finished

"""What search needs of the memory vault."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Article:
    """One section of a memory article, or its lead, whose `heading` is empty.

    Attributes:
        modified: when the article was changed, seconds since the epoch.
    """

    name: str
    heading: str
    text: str
    modified: float


class Articles(Protocol):
    """A memory vault that can be searched."""

    async def search_documents(self) -> Sequence[Article]:
        """Every section of every article as it is now."""
        ...

"""Stop text, found in the decoded answer across token borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """Text that may go out, and the stop text that followed it, if one did."""

    text: str
    stop: str | None = None

    @property
    def stopped(self) -> bool:
        return self.stop is not None


class StopText:
    """Passes text on, holding back only what may be the beginning of a stop text.

    Args:
        stops: the earliest match ends the text; of two that begin together the shorter one is complete
            first. Empty ones are ignored.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""

    def feed(self, text: str) -> Cut:
        """Take the next piece."""
        text = self._held + text
        found = [(begin, len(stop), stop) for stop in self._stops if (begin := text.find(stop)) >= 0]
        if found:
            self._held = ""
            begin, _, stop = min(found)
            return Cut(text[:begin], stop)
        keep = self._possible_begin(text)
        self._held = text[len(text) - keep :]
        return Cut(text[: len(text) - keep])

    def flush(self) -> str:
        """What was held back, once nothing can follow."""
        text, self._held = self._held, ""
        return text

    def _possible_begin(self, text: str) -> int:
        """The length of the longest end of `text` that begins a stop text."""
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return length
        return 0

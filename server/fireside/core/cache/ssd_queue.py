"""What waits to be written."""

from collections import OrderedDict

from fireside.core.cache.prompt_cache import Entry


class WriteQueue:
    """Entries in the order in which they came, each with the time before which it is not to be written.

    Args:
        max_bytes: of all of them. The newest one is taken whatever its size.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._due: OrderedDict[Entry, float] = OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, entry: Entry) -> bool:
        return entry in self._due

    def add(self, entry: Entry, due: float) -> None:
        """Let an entry wait until a time, on the clock of `take`."""
        self.discard(entry)
        self._due[entry] = due
        self.nbytes += entry.nbytes

    def overflow(self) -> list[Entry]:
        """Give up the oldest entries that are too many, and return them."""
        dropped: list[Entry] = []
        while self.nbytes > self._max_bytes and len(self._due) > 1:
            entry = next(iter(self._due))
            self.discard(entry)
            dropped.append(entry)
        return dropped

    def of(self, owner: str) -> list[Entry]:
        """The entries of an owner that wait."""
        return [entry for entry in self._due if entry.owner == owner]

    def discard(self, entry: Entry) -> bool:
        """Forget an entry; False where it does not wait."""
        if self._due.pop(entry, None) is None:
            return False
        self.nbytes -= entry.nbytes
        return True

    def take(self, now: float) -> Entry | None:
        """The oldest entry that may be written; it waits no longer."""
        for entry, due in self._due.items():
            if due <= now:
                self.discard(entry)
                return entry
        return None

    def take_newest(self) -> Entry | None:
        """The entry that came last, due or not: with little time left it is worth the most."""
        if not self._due:
            return None
        entry = next(reversed(self._due))
        self.discard(entry)
        return entry

    @property
    def next_due(self) -> float | None:
        """When the next entry may be written."""
        return min(self._due.values(), default=None)

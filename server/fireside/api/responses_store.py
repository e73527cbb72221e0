"""Responses that were made, for as long as somebody may go on from them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TTL_S = 3600.0
MAX_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Stored:
    """A response as it was sent.

    Attributes:
        response: the response object, as JSON.
        input: all that the model was given but for instructions: a JSON array of items with ids.
        output_ids: of the response's own items.
    """

    response: bytes
    input: bytes
    output_ids: Sequence[str] = ()

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.response) + len(self.input)


class ResponseStore:
    """Keeps responses in memory, for a time and up to a size; those unused for longest go first.

    What is kept is JSON, so that its size is what it takes.

    Args:
        ttl_s: seconds after which a response is forgotten, used or not.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        ttl_s: float = TTL_S,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ttl_s = ttl_s
        self._max_bytes = max_bytes
        self._clock = clock
        self._by_use: OrderedDict[str, Stored] = OrderedDict()
        self._born: dict[str, float] = {}
        """In the order of age, as dicts keep it."""
        self._owners: dict[str, str] = {}
        """Of output items."""
        self._bytes = 0
        self._evicted = 0
        self._expired = 0

    def put(self, response_id: str, stored: Stored) -> None:
        """Keep a response, unless it is larger than all that may be kept. The id must be a new one."""
        self._expire()
        if stored.size > self._max_bytes:
            self._evicted += 1
            return
        self._by_use[response_id] = stored
        self._born[response_id] = self._clock()
        self._owners.update(dict.fromkeys(stored.output_ids, response_id))
        self._bytes += stored.size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._by_use)))
            self._evicted += 1

    def get(self, response_id: str) -> Stored | None:
        """The response, which counts as used; None if it is not there, or not any more."""
        self._expire()
        stored = self._by_use.get(response_id)
        if stored is not None:
            self._by_use.move_to_end(response_id)
        return stored

    def owner(self, item_id: str) -> Stored | None:
        """The response that has an output item of this id; it counts as used."""
        return self.get(self._owners.get(item_id, ""))

    def delete(self, response_id: str) -> bool:
        """Forget a response; whether it was there."""
        self._expire()
        if response_id not in self._by_use:
            return False
        self._drop(response_id)
        return True

    def stats(self) -> dict[str, int]:
        """How full it is. `evicted` and `expired` count from the app's start."""
        self._expire()
        return {
            "entries": len(self._by_use),
            "bytes": self._bytes,
            "max_bytes": self._max_bytes,
            "ttl_s": int(self._ttl_s),
            "evicted": self._evicted,
            "expired": self._expired,
        }

    def _expire(self) -> None:
        oldest_alive = self._clock() - self._ttl_s
        while self._born:
            response_id, born = next(iter(self._born.items()))
            if born > oldest_alive:
                return
            self._drop(response_id)
            self._expired += 1

    def _drop(self, response_id: str) -> None:
        stored = self._by_use.pop(response_id)
        del self._born[response_id]
        for item_id in stored.output_ids:
            del self._owners[item_id]
        self._bytes -= stored.size

"""Who may join a batch and who must leave it, so that keys and values never outgrow their budget."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

RESERVE_TOKENS = 256
"""Tokens that each row must be able to grow by before another one joins."""


@dataclass(frozen=True)
class KvRow:
    """A request as the accountant sees it.

    Attributes:
        tokens: in its cache now; for one that waits, what it starts with: prompt and earlier answer.
        limit: prompt and longest answer together.
        priority: the higher, the more important.
        arrived: a number that rises with every new request; kept when a row is suspended.
    """

    id: int
    tokens: int
    limit: int
    priority: int = 0
    arrived: int = 0


@dataclass(frozen=True)
class Decision:
    """What to do before the next step, by the ids of the rows.

    Attributes:
        join: may start now, the most important first.
        wait: stay in the queue, in this order.
        suspend: must leave; they go back to the queue and resume later.
        refuse: could not be finished even alone.
        evict_bytes: that the prompt cache must give up first.
        charged_bytes: of the budget that is taken after all this, the prompt cache apart.
    """

    join: tuple[int, ...] = ()
    wait: tuple[int, ...] = ()
    suspend: tuple[int, ...] = ()
    refuse: tuple[int, ...] = ()
    evict_bytes: int = 0
    charged_bytes: int = 0


class KvAccountant:
    """Keeps the rows of a batch within a budget for keys and values. Holds no state of its own.

    A row is charged what it uses, not what it might use at the end, plus a reserve when somebody joins.
    So more rows run at once, and now and then one must be suspended: the youngest of the lowest
    priority. The reserve keeps a suspended row from coming back for a few tokens only.

    Args:
        row_bytes: bytes that a row of so many tokens holds, such as `MemoryPlan.row_bytes`.
        budget_bytes: for all rows and the prompt cache together.
        padded: whether all rows take as much as the longest one, as in mlx-lm's batch caches.
        displaces_from: by how much the priority of a joiner must be above that of a row to take its place.
    """

    def __init__(
        self,
        row_bytes: Callable[[int], int],
        budget_bytes: int,
        reserve_tokens: int = RESERVE_TOKENS,
        *,
        padded: bool = True,
        displaces_from: int = 1,
    ) -> None:
        self._row_bytes = row_bytes
        self._reserve = reserve_tokens
        self._padded = padded
        self._displaces_from = displaces_from
        self.budget_bytes = budget_bytes

    def charge(self, rows: Iterable[KvRow], spare_tokens: int = 0) -> int:
        """Bytes that these rows take in one batch once each has grown by some tokens, within its limit."""
        lengths = [max(row.tokens, min(row.tokens + spare_tokens, row.limit)) for row in rows]
        if self._padded:
            return len(lengths) * self._row_bytes(max(lengths)) if lengths else 0
        return sum(map(self._row_bytes, lengths))

    def decide(
        self, running: Sequence[KvRow], waiting: Sequence[KvRow] = (), cache_bytes: int = 0
    ) -> Decision:
        """What must happen before the next step.

        The queue is by priority, then by arrival, and nobody overtakes: a long request is not starved by
        short ones. A waiting row may take the place of running ones of a lower priority, see
        `displaces_from`. One running row is always left.

        Args:
            cache_bytes: what the prompt cache holds now; all of it is given up before a row has to wait.
        """
        refused = tuple(row.id for row in waiting if self._row_bytes(row.limit) > self.budget_bytes)
        queue = sorted(
            (row for row in waiting if row.id not in refused), key=lambda row: (-row.priority, row.arrived)
        )
        kept, suspended = self._within_budget(running)
        floor = max((row.priority for row in suspended), default=None)
        joined: list[KvRow] = []
        while queue and (floor is None or queue[0].priority > floor):
            displaced = self._displaced(kept + joined, queue[0])
            if displaced is None:
                break
            kept = [row for row in kept if row not in displaced]
            suspended += displaced
            joined.append(queue.pop(0))
        charged = self.charge(kept + joined, self._reserve if joined else 1)
        return Decision(
            join=tuple(row.id for row in joined),
            wait=tuple(row.id for row in queue),
            suspend=tuple(row.id for row in suspended),
            refuse=refused,
            evict_bytes=max(0, min(cache_bytes, charged + cache_bytes - self.budget_bytes)),
            charged_bytes=charged,
        )

    def _within_budget(self, running: Sequence[KvRow]) -> tuple[list[KvRow], list[KvRow]]:
        """The rows that can take another step together, and those that must leave for it."""
        kept, suspended = list(running), list[KvRow]()
        while len(kept) > 1 and self.charge(kept, 1) > self.budget_bytes:
            victim = _victim(kept)
            kept.remove(victim)
            suspended.append(victim)
        return kept, suspended

    def _displaced(self, rows: Sequence[KvRow], joiner: KvRow) -> list[KvRow] | None:
        """Less important rows that must leave so that `joiner` has room; None if that is not enough."""
        left, displaced = list(rows), list[KvRow]()
        while self.charge([*left, joiner], self._reserve) > self.budget_bytes:
            lesser = [row for row in left if joiner.priority - row.priority >= self._displaces_from]
            if not lesser:
                return None
            victim = _victim(lesser)
            left.remove(victim)
            displaced.append(victim)
        return displaced


def _victim(rows: Sequence[KvRow]) -> KvRow:
    """The youngest of the lowest priority."""
    return min(rows, key=lambda row: (row.priority, -row.arrived))

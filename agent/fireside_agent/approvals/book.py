"""The rules that hold now: asked on every call, changed only by the person."""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable

from fireside_agent.approvals.matching import Fold, checked_value, matches
from fireside_agent.approvals.rules import (
    GrantedFrom,
    Kind,
    Rule,
    RuleRefusedError,
    Scope,
    Value,
    check_breadth,
    in_words,
)
from fireside_agent.approvals.store import RuleStore
from fireside_agent.tools.tool import Risk, Subject


class RuleBook:
    """All rules, in memory and in `store`.

    Revoking takes effect before the disk has it, granting only after. `fold` says how the file system
    compares names, see `matching.folding`.
    """

    def __init__(self, store: RuleStore, fold: Fold = str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._fold = fold
        self._clock = clock
        self._rules: dict[str, Rule] = {}
        self._unstored: set[str] = set()
        self._to_remove: set[str] = set()
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Take up the stored rules; call it once before use. Raises StorageError."""
        async with self._changing:
            self._rules = {rule.id: rule for rule in await self._store.load()}
            await self._purge()

    def allows(self, tool: str, subject: Subject, session_id: str, now: float) -> Rule | None:
        """The oldest rule by which this call may run without a question; None: ask."""
        for rule in self._rules.values():
            if (
                rule.tool == tool
                and rule.holds(session_id, now)
                and matches(rule.kind, rule.value, subject, self._fold)
            ):
                return rule
        return None

    async def grant(
        self,
        *,
        tool: str,
        kind: Kind,
        value: Value = "",
        scope: Scope,
        risk: Risk,
        granted_from: GrantedFrom,
        expires_at: float | None = None,
        stored: bool = True,
    ) -> Rule:
        """Make a rule from the card of `granted_from`; one that says the same already is given instead.

        Args:
            risk: of the tool; programs are never allowed as a whole tool.
            stored: False for a temporary chat, whose rules stay off the disk.

        Raises:
            RuleRefusedError: it would be too broad, or its value makes no sense.
            StorageError: it could not be kept, and does not hold.
        """
        check_breadth(tool, kind, risk)
        now = self._clock()
        if expires_at is not None and expires_at <= now:
            raise RuleRefusedError("The rule would have expired already; choose a later time or none.")
        if not stored and scope == "always":
            raise RuleRefusedError("A temporary chat makes rules for itself only; use the scope `session`.")
        value = checked_value(kind, value)
        rule = Rule(
            id=uuid.uuid4().hex, tool=tool, kind=kind, value=value, scope=scope,
            session_id=granted_from.session_id if scope == "session" else None,
            words=in_words(tool, kind, value, scope), granted_from=granted_from, created_at=now,
            expires_at=expires_at,
        )  # fmt: skip
        async with self._changing:
            await self._purge()
            same = next((each for each in self._rules.values() if each.says_the_same(rule)), None)
            if same is not None:
                return same
            if stored:
                await self._store.add(rule)
            else:
                self._unstored.add(rule.id)
            self._rules[rule.id] = rule
        return rule

    async def revoke(self, rule_id: str) -> Rule | None:
        """Take a rule back; None when there is no such one.

        Raises:
            StorageError: it holds no more, but would after a restart; the next change tries again.
        """
        revoked = await self._revoke(lambda rule: rule.id == rule_id)
        return revoked[0] if revoked else None

    async def revoke_tool(self, tool: str) -> list[Rule]:
        """Take all rules of a tool back, of every kind and scope. Raises as `revoke`."""
        return await self._revoke(lambda rule: rule.tool == tool)

    async def forget_session(self, session_id: str) -> None:
        """Drop the rules of a chat that is deleted. Raises as `revoke`."""
        await self._revoke(lambda rule: rule.scope == "session" and rule.session_id == session_id)

    def list(self) -> "list[Rule]":
        """Those that hold somewhere now, the oldest first."""
        now = self._clock()
        return [rule for rule in self._rules.values() if not rule.expired(now)]

    def would_match(self, kind: Kind, value: Value, subject: Subject) -> bool:
        """Whether a rule with this checked value would allow a call with this subject."""
        return matches(kind, value, subject, self._fold)

    async def _revoke(self, chosen: Callable[[Rule], bool]) -> "list[Rule]":
        async with self._changing:
            now = self._clock()
            revoked = [rule for rule in self._rules.values() if chosen(rule) and not rule.expired(now)]
            await self._drop(rule.id for rule in revoked)
            await self._purge()
        return revoked

    async def _purge(self) -> None:
        now = self._clock()
        await self._drop([rule.id for rule in self._rules.values() if rule.expired(now)])

    async def _drop(self, rule_ids: Iterable[str]) -> None:
        for rule_id in rule_ids:
            del self._rules[rule_id]
            if rule_id in self._unstored:
                self._unstored.discard(rule_id)
            else:
                self._to_remove.add(rule_id)
        if self._to_remove:
            await self._store.remove(list(self._to_remove))
            self._to_remove.clear()

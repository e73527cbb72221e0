"""What the person has allowed for good, what a card may offer to allow, and the record of all questions."""

import glob
import time
from dataclasses import dataclass
from typing import Literal

from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.commands import suggest_prefix
from fireside_agent.approvals.log import ApprovalLog, Question
from fireside_agent.approvals.rules import NEVER_WHOLE, GrantedFrom, Kind, Scope, Value, in_words
from fireside_agent.messages import AlwaysOffer, Settled, ToolCall
from fireside_agent.tools.tool import Arguments, Tool, ToolError

OfferScope = Literal["session", "tool", "rule"]


@dataclass(frozen=True, slots=True)
class Place:
    """Which call it is about.

    Attributes:
        stored: False in a temporary chat, of which nothing is written down.
    """

    session_id: str
    message_id: str
    call_id: str
    stored: bool = True


@dataclass(frozen=True, slots=True)
class _Offer:
    """What one scope of a card would make a rule of."""

    kind: Kind
    value: Value
    scope: Scope


class Permissions:
    """Rules and the record, as the calls of a turn need them."""

    def __init__(self, book: RuleBook, log: ApprovalLog) -> None:
        self._book = book
        self._log = log

    def rule_for(self, tool: Tool, arguments: Arguments, session_id: str) -> str | None:
        """The words of a rule that allows the call, or None."""
        rule = self._book.allows(tool.name, tool.subject(arguments), session_id, time.time())
        return rule.words if rule else None

    def offers(self, tool: Tool, arguments: Arguments, *, stored: bool = True) -> list[AlwaysOffer]:
        """The durable permissions that a card may offer, the narrowest first.

        Args:
            stored: False in a temporary chat, whose rules end with it.
        """
        return [
            AlwaysOffer(scope, in_words(tool.name, offer.kind, offer.value, offer.scope))
            for scope, offer in _offers(tool, arguments).items()
            if stored or offer.scope == "session"
        ]

    async def grant(self, place: Place, tool: Tool, arguments: Arguments, scope: OfferScope) -> None:
        """Make the rule of an offer.

        Raises:
            ToolError: there is no such offer for this call.
            StorageError: the rule could not be kept, and does not hold.
        """
        offer = _offers(tool, arguments).get(scope)
        if offer is None:
            raise ToolError(f"a rule of the scope {scope!r} cannot be made for this call.")
        await self._book.grant(
            tool=tool.name,
            kind=offer.kind,
            value=offer.value,
            scope=offer.scope,
            risk=tool.risk,
            granted_from=GrantedFrom(place.session_id, place.call_id),
            stored=place.stored,
        )

    async def asked(self, place: Place, tool: Tool, arguments: Arguments, call: ToolCall) -> None:
        """Note that the person is asked, with what the card shows. Raises StorageError."""
        if not place.stored:
            return
        question = Question(
            session_id=place.session_id,
            message_id=place.message_id,
            call_id=place.call_id,
            tool=tool.name,
            subject=tool.subject(arguments),
            arguments=arguments,
            question=call.question or "",
            preview=call.preview,
        )
        await self._log.ask(question)

    async def settled(self, place: Place, settled: Settled) -> None:
        """Note how that ended. Raises StorageError."""
        if place.stored:
            await self._log.settle(
                place.session_id,
                place.message_id,
                place.call_id,
                settled.decision,
                settled.who,
                settled.why or None,
            )


def _offers(tool: Tool, arguments: Arguments) -> dict[OfferScope, _Offer]:
    """By scope. A tool that runs programs is never allowed as a whole."""
    own = _own_rule(tool, arguments)
    whole = tool.risk not in NEVER_WHOLE
    offers: dict[OfferScope, _Offer] = {}
    if whole:
        offers["session"] = _Offer("tool", "", "session")
    elif own is not None:
        offers["session"] = _Offer(*own, "session")
    if own is not None:
        offers["rule"] = _Offer(*own, "always")
    if whole:
        offers["tool"] = _Offer("tool", "", "always")
    return offers


def _own_rule(tool: Tool, arguments: Arguments) -> tuple[Kind, Value] | None:
    """The rule that is closest to just this call."""
    subject = tool.subject(arguments)
    if subject.command:
        prefix = suggest_prefix(subject.command)
        return ("command_prefix", prefix) if prefix else ("command", subject.command)
    if subject.path:
        return "path", glob.escape(subject.path)  # what a model named is a name, not a pattern
    if subject.host:
        return "host", subject.host
    return None

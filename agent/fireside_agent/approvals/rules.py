"""A rule for approvals: what it speaks for, where, until when, and how a card says it."""

import shlex
from typing import Literal

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.tools.tool import Risk

Kind = Literal["tool", "path", "command", "command_prefix", "host"]
"""`tool`: every call; `path`: a glob; `command`: exactly this; `command_prefix`: its first words; `host`."""

Scope = Literal["session", "always"]

Value = str | tuple[str, ...]
"""Words for `command_prefix`, empty for `tool`, text for the others."""

NEVER_WHOLE: frozenset[Risk] = frozenset({"execute"})
"""Tools of these risks get no rule of kind `tool`, not even for one chat: it would allow every program."""


class RuleRefusedError(AgentError):
    """A rule that cannot be made. The text says what it would have to be."""


class GrantedFrom(msgspec.Struct, frozen=True):
    """The call on whose card the person made a rule."""

    session_id: str
    call_id: str


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. Times are seconds since 1970; `words` is the sentence that cards and settings show."""

    id: str
    tool: str
    kind: Kind
    value: Value
    scope: Scope
    session_id: str | None = None
    """The chat that the rule is for; None for scope `always`."""
    words: str
    granted_from: GrantedFrom | None = None
    created_at: float
    expires_at: float | None = None

    def holds(self, session_id: str, now: float) -> bool:
        """Whether it speaks in this chat at this time."""
        return not self.expired(now) and (self.scope == "always" or self.session_id == session_id)

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def says_the_same(self, other: "Rule") -> bool:
        """Whether both allow the same calls in the same chats for the same time."""
        return _essence(self) == _essence(other)


def _essence(rule: Rule) -> tuple[object, ...]:
    return rule.tool, rule.kind, rule.value, rule.scope, rule.session_id, rule.expires_at


def in_words(tool: str, kind: Kind, value: Value, scope: Scope) -> str:
    """The sentence for a rule: "Always allow `git status …`"."""
    return f"{'Always allow' if scope == 'always' else 'In this chat, allow'} {_what(tool, kind, value)}"


def _what(tool: str, kind: Kind, value: Value) -> str:
    text = value if isinstance(value, str) else shlex.join(value)
    match kind:
        case "tool":
            return f"every call of `{tool}`"
        case "command":
            return f"exactly `{text}`"
        case "command_prefix":
            return f"`{text} …`"
        case "path":
            return f"`{tool}` on `{text}`"
        case "host":
            return f"`{tool}` to `{text}`"


def check_breadth(tool: str, kind: Kind, risk: Risk) -> None:
    """Raises RuleRefusedError where a whole tool of this risk would be allowed."""
    if kind == "tool" and risk in NEVER_WHOLE:
        raise RuleRefusedError(
            f"`{tool}` runs programs, so it cannot be allowed as a whole; allow a command or its first words."
        )

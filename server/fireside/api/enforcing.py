"""Constraints to grammars, or to words where they cannot be enforced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fireside.api.constraints import Constraint, Plan, unsupported
from fireside.http.errors import BadRequest
from fireside.text.grammar.compiler import GrammarCompiler
from fireside.text.grammar.spec import GrammarUnsupported, GrammarWrong
from fireside.text.messages import ChatMessage
from fireside.text.thinking import ThinkingTokens
from fireside.wire import Grammar

_LONGEST_WARNING = 200


@dataclass(frozen=True)
class GrammarOutcome:
    """What becomes of a constraint.

    Attributes:
        grammar: for the request; None where nothing is enforced.
        vocabulary: for the request, with a grammar.
        instruction: what the first system message says in its place; empty where that is nothing.
        warning: None where the constraint is enforced.
    """

    grammar: Grammar | None = None
    instruction: str = ""
    warning: str | None = None
    vocabulary: bytes = b""


async def enforced(
    compiler: GrammarCompiler | None,
    constraint: Constraint | None,
    marks: ThinkingTokens | None,
    *,
    thinking: bool,
) -> GrammarOutcome:
    """Check and compile a constraint. Without a compiler there is none.

    Args:
        marks: what begins and ends the model's thoughts.
        thinking: the answer may begin with thoughts, which the grammar is not for.

    Raises:
        BadRequest: the constraint is wrong, or a strict one cannot be enforced (`unsupported_constraint`).
    """
    if constraint is None or compiler is None:
        return GrammarOutcome()
    plan = await compiler.off_loop(constraint.plan)
    if plan is None:
        return GrammarOutcome()
    reason = plan.unsupported
    if not reason and thinking and marks is None and not plan.with_thoughts:
        reason = "the model's thoughts have no marks of one token each, behind which the grammar could begin"
    if not reason and plan.spec is not None:
        try:
            compiled = await compiler.compile(plan.spec)
            vocabulary = await compiler.vocabulary()
        except GrammarUnsupported as error:
            reason = str(error)
        except GrammarWrong as error:
            if not plan.checked:
                raise BadRequest(f"{plan.param}: {error}", param=plan.param) from error
            reason = str(error)
        else:
            warning = _warning(plan, plan.passed_over) if plan.passed_over else None
            grammar = _grammar(plan, compiled, marks, thinking)
            return GrammarOutcome(grammar, warning=warning, vocabulary=vocabulary)
    if plan.strict:
        raise unsupported(plan.param, reason)
    return GrammarOutcome(None, plan.instruction, _warning(plan, reason))


def _grammar(plan: Plan, compiled: bytes, marks: ThinkingTokens | None, thinking: bool) -> Grammar:
    if plan.with_thoughts or marks is None:
        return Grammar(compiled)
    # The model's own way out of its thoughts may differ from `closing` in white space.
    return Grammar(compiled, open_id=marks.open_id if thinking else -1, closing=[marks.close_id])


def _warning(plan: Plan, reason: str) -> str:
    text = f"grammar not enforced: {plan.param}: {reason}"
    return text if len(text) <= _LONGEST_WARNING else f"{text[: _LONGEST_WARNING - 3]}..."


def instructed(messages: Sequence[ChatMessage], instruction: str) -> Sequence[ChatMessage]:
    """The messages with an instruction at the end of the first system message, or as one."""
    if not instruction:
        return messages
    for index, message in enumerate(messages):
        if message.role == "system":
            text = f"{message.content}\n\n{instruction}" if message.content else instruction
            return [*messages[:index], replace(message, content=text), *messages[index + 1 :]]
    return [ChatMessage("system", instruction), *messages]

"""What a body says of the form of its answer, on every protocol, to one constraint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fireside.http.errors import BadRequest
from fireside.text.grammar.spec import GrammarSpec
from fireside.text.markup import MarkupSpec
from fireside.text.model import TextModel

if TYPE_CHECKING:
    from fireside.api.constraint_fields import Wanted
    from fireside.text.grammar.calls import Offered


class ConstraintFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that constrain an answer; at most one of them says something.

    Attributes:
        response_format: of type `text`, `json_object`, or `json_schema`; then with a `json_schema` that has
            `schema`, and may have `name`, `description` and `strict`.
        guided_json: a JSON schema, or its text.
        guided_regex: the whole answer fits it.
        guided_choice: the answer is one of them.
        guided_grammar: in xgrammar's EBNF; its first rule is `root`.
        structured_outputs: vLLM's object with one of `json`, `regex`, `choice`, `grammar`, `json_object` and
            `structural_tag`; or a JSON schema.
    """

    response_format: dict[str, Any] | None = None
    guided_json: Any = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    structured_outputs: Any = None


@dataclass(frozen=True)
class ToolChoice:
    """Which tools an answer may or must call.

    Attributes:
        mode: "none", "auto" (free to), or "required" (at least one call).
        name: the one tool that must be called; only with "required".
        parallel: whether several calls may be made.
    """

    mode: Literal["none", "auto", "required"] = "auto"
    name: str | None = None
    parallel: bool = True


@dataclass(frozen=True)
class Plan:
    """What is to be enforced.

    Attributes:
        spec: the grammar; None where nothing can be enforced.
        param: the field of the body that asks for it.
        strict: whether the request fails where the grammar cannot be enforced; else `instruction` has to do.
        instruction: what the first system message says then; empty where nothing can be said.
        unsupported: why nothing can be enforced; empty where something is.
        checked: whether an error in compiling is not the request's.
        with_thoughts: the grammar has the thoughts in front of the answer in it.
        passed_over: what of the request is not enforced all the same; empty for nothing.
    """

    spec: GrammarSpec | None
    param: str
    strict: bool
    instruction: str = ""
    unsupported: str = ""
    checked: bool = True
    with_thoughts: bool = False
    passed_over: str = ""


@dataclass(frozen=True)
class Constraint:
    """What an answer must look like, as the body has it: cheap to make, checked by `plan`.

    With `tool_choice` "auto" calls are as free as ever, so that nothing is slower and no model answers
    otherwise than it would, unless a tool is `strict`, or there may be one call only: then text is free and a
    call that begins is held to its tool's name and schema. Where no grammar can describe the model's calls,
    that is left with a warning, while `required` and a named tool are refused.
    """

    fields: ConstraintFields
    tools: Sequence[Mapping[str, Any]]
    choice: ToolChoice
    markup: MarkupSpec
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the protocol calls a field, where not as `ConstraintFields` does."""

    def plan(self) -> Plan | None:
        """Check what the body says; None if the answer is free. Takes a while: to be called off the loop.

        Raises:
            BadRequest: a field is not what it must be, or two of them constrain the answer.
        """
        from fireside.api.constraint_fields import wanted

        answer = wanted(self.fields, self._name)
        called = self.holds_calls
        if answer is None and not called:
            return None
        offered, passed_over = self._offered() if called or self._callable(answer) else ([], "")
        if offered:
            return self._with_calls(offered, answer, passed_over)
        return self._answer_only(answer) if answer else None

    def _name(self, name: str) -> str:
        return self.names.get(name, name)

    @property
    def holds_calls(self) -> bool:
        """Whether the calls themselves are to be held to a form."""
        if not self.tools or self.choice.mode == "none":
            return False
        strict = any(tool["function"].get("strict") for tool in self.tools)
        return self.choice.mode == "required" or strict or not self.choice.parallel

    def _callable(self, answer: Wanted | None) -> bool:
        """Whether an answer that is to have a form may be a call instead."""
        return bool(self.tools) and self.choice.mode != "none" and answer is not None

    def _answer_only(self, wanted: Wanted) -> Plan:
        from fireside.text.grammar.answers import tag_spec
        from fireside.text.grammar.calls import answer_format

        answer = wanted.answer
        spec = None
        if not answer.unsupported:
            whole = answer_format(self.markup, answer.format)
            spec = answer.spec if whole is answer.format else tag_spec(whole)
        return Plan(
            spec,
            wanted.param,
            wanted.strict,
            answer.instruction,
            answer.unsupported,
            answer.checked,
            with_thoughts=self.markup.harmony,
        )

    def _with_calls(self, offered: Sequence[Offered], wanted: Wanted | None, passed_over: str) -> Plan:
        from fireside.text.grammar.answers import tag_spec
        from fireside.text.grammar.calls import calls_format

        required = self.choice.mode == "required"
        answer = None if required or wanted is None else wanted.answer
        whole = None
        if answer is None or not answer.unsupported:
            whole = calls_format(
                self.markup,
                offered,
                required=required,
                parallel=self.choice.parallel,
                answer=answer.format if answer else None,
            )
        reason = "" if whole else "this model's tool calls have no form that a grammar could have"
        spec = tag_spec(whole) if whole else None
        if answer is None or wanted is None:
            param = self._name(
                "tool_choice" if required else "tools" if self.choice.parallel else "parallel_tool_calls"
            )
            return Plan(spec, param, required, "", reason, True, self.markup.harmony, passed_over)
        return Plan(
            spec,
            wanted.param,
            wanted.strict,
            answer.instruction,
            answer.unsupported or (reason and f"{reason}, and an answer may be one"),
            answer.checked,
            self.markup.harmony,
            passed_over,
        )

    def _offered(self) -> tuple[list[Offered], str]:
        """The tools that may be called, and which of their schemas are not enforced."""
        from fireside.text.grammar.calls import Offered
        from fireside.text.grammar.lowering import lowered
        from fireside.text.grammar.spec import GrammarUnsupported, GrammarWrong

        offered: list[Offered] = []
        passed_over: list[str] = []
        for tool in self.tools:
            function = tool["function"]
            name: str = function["name"]
            if self.choice.name not in (None, name):
                continue
            parameters: dict[str, Any] = function.get("parameters") or {
                "properties": {},
                "additionalProperties": False,
            }
            if "type" not in parameters:
                parameters = {"type": "object", **parameters}
            try:
                core = lowered(parameters)
            except GrammarWrong as error:
                raise BadRequest(
                    f"tools: the parameters of {name!r}: {error}", param=self._name("tools")
                ) from error
            except GrammarUnsupported as error:
                if function.get("strict"):
                    raise unsupported(self._name("tools"), f"the parameters of {name!r}: {error}") from error
                passed_over.append(f"parameters of {name}")
                core = {"type": "object", "additionalProperties": True}
            offered.append(Offered(name, core, parameters))
        return offered, ", ".join(passed_over)


def unsupported(param: str, reason: str) -> BadRequest:
    """The refusal of a constraint that is right but cannot be enforced."""
    return BadRequest(f"{param}: {reason}.", param=param, code="unsupported_constraint")


def constraint_of(
    fields: ConstraintFields,
    tools: Sequence[Mapping[str, Any]],
    choice: ToolChoice,
    text: TextModel,
    names: Mapping[str, str] | None = None,
) -> Constraint | None:
    """The constraint of a request; None if its answer is free. What it says is checked later, by `plan`.

    Args:
        tools: in OpenAI's form, those that the model is shown; `strict` is read of each function.
        text: knows how the model writes calls.
        names: what the protocol calls fields of `ConstraintFields`, `tools`, `tool_choice` and
            `parallel_tool_calls` in errors, where otherwise.
    """
    said = (
        fields.response_format,
        fields.guided_json,
        fields.guided_regex,
        fields.guided_choice,
        fields.guided_grammar,
        fields.structured_outputs,
    )
    constraint = Constraint(fields, tools, choice, text.markup, names or {})
    return None if all(value is None for value in said) and not constraint.holds_calls else constraint

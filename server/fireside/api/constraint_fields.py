"""The fields that constrain an answer: read, checked, and made into what the answer is to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fireside.api.constraints import ConstraintFields
from fireside.http.errors import BadRequest
from fireside.text.grammar import answers
from fireside.text.grammar.answers import Answer
from fireside.text.grammar.plain import listing, mapping
from fireside.text.grammar.spec import GrammarWrong

_KINDS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
_VLLM = frozenset((
    *_KINDS, "disable_additional_properties", "disable_any_whitespace", "disable_fallback",
    "whitespace_pattern",
))  # fmt: skip
"""What vLLM's object may have; any other key shows that it is a schema."""


@dataclass(frozen=True)
class Wanted:
    """What one field wants the answer to be.

    Attributes:
        param: the field, as the protocol calls it.
        strict: whether the request fails where it cannot be enforced.
    """

    param: str
    answer: Answer
    strict: bool


def wanted(fields: ConstraintFields, name: Callable[[str], str]) -> Wanted | None:
    """What the fields want the answer to be; None if it is free.

    Args:
        name: gives what the protocol calls a field.

    Raises:
        BadRequest: a field is not what it must be, or two of them say something.
    """
    asked = list(_asked(fields))
    if len(asked) > 1:
        both = " and ".join(name(field) for field, _ in asked[:2])
        raise BadRequest(f"{both} both constrain the answer; send one of them.", param=name(asked[1][0]))
    for field, value in asked:
        param = name(field)
        try:
            answer, strict = _READERS[field](param, value)
        except GrammarWrong as error:
            raise BadRequest(f"{param}: {error}.", param=param) from error
        except RecursionError as error:
            raise BadRequest(f"{param} is nested too deeply.", param=param) from error
        return Wanted(param, answer, strict)
    return None


def _asked(fields: ConstraintFields) -> Iterator[tuple[str, Any]]:
    for field in _READERS:
        value = getattr(fields, field)
        if value is not None and not (field == "response_format" and value.get("type") == "text"):
            yield field, value


def _response_format(param: str, value: dict[str, Any]) -> tuple[Answer, bool]:
    kind = value.get("type")
    if kind == "json_object":
        return answers.json_object(), False
    if kind != "json_schema":
        raise _must(param, "of type text, json_object or json_schema", kind)
    at = f"{param}.json_schema"
    said = mapping(value.get("json_schema"))
    if said is None:
        raise _must(at, "an object with name and schema", value.get("json_schema"), param)
    if said.get("schema") is None:
        raise _must(f"{at}.schema", "a JSON schema", None, param)
    for field, kinds in (("name", str), ("description", str), ("strict", bool)):
        if not isinstance(said.get(field), kinds | None):
            raise _must(f"{at}.{field}", f"of type {kinds.__name__}", said[field], param)
    answer = answers.json_schema(said["schema"], said.get("name") or "", said.get("description") or "")
    return answer, said.get("strict") is True


def _json(param: str, value: Any) -> Answer:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise BadRequest(
                f"{param}: not a JSON schema, and no JSON text of one: {error}.", param=param
            ) from error
    if not isinstance(value, bool) and mapping(value) is None:
        raise _must(param, "a JSON schema, or the text of one", value)
    return answers.json_schema(value)


def _regex(param: str, value: Any) -> Answer:
    if not isinstance(value, str) or not value:
        raise _must(param, "a regular expression", value)
    return answers.regex(value)


def _choice(param: str, value: Any) -> Answer:
    texts = listing(value)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise _must(param, "a list of one or more texts", value)
    return answers.choice(texts)


def _grammar(param: str, value: Any) -> Answer:
    if not isinstance(value, str) or not value.strip():
        raise _must(param, "a grammar in EBNF", value)
    return answers.grammar(value)


def _structural_tag(param: str, value: Any) -> Answer:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise BadRequest(f"{param}: no JSON text of a structural tag: {error}.", param=param) from error
    form = mapping((mapping(value) or {}).get("format"))
    if form is None or not isinstance(form.get("type"), str):
        raise _must(param, 'a structural tag: {"type": "structural_tag", "format": {"type": …}}', value)
    return answers.structural_tag(form)


def _structured_outputs(param: str, value: Any) -> Answer:
    fields = mapping(value) or {}
    if not fields or not fields.keys() <= _VLLM:
        return _json(param, value)
    said = {kind: fields[kind] for kind in _KINDS if fields.get(kind) not in (None, False)}
    if fields.get("json") is False:
        said["json"] = False
    if len(said) != 1:
        which = " and ".join(said) or "none"
        raise BadRequest(f"{param}: one of {', '.join(_KINDS)} must be there; {which} is.", param=param)
    kind, inner = next(iter(said.items()))
    if kind == "json_object":
        if inner is not True:
            raise _must(f"{param}.json_object", "of type bool", inner, param)
        return answers.json_object()
    read = {
        "json": _json,
        "regex": _regex,
        "choice": _choice,
        "grammar": _grammar,
        "structural_tag": _structural_tag,
    }[kind]
    return read(param, inner)


def _must(at: str, be: str, value: Any, param: str | None = None) -> BadRequest:
    return BadRequest(f"{at} must be {be}, not {json.dumps(value)[:60]}.", param=param or at)


def _guided(read: Callable[[str, Any], Answer]) -> Callable[[str, Any], tuple[Answer, bool]]:
    return lambda param, value: (read(param, value), True)


def _lenient(read: Callable[[str, Any], Answer]) -> Callable[[str, Any], tuple[Answer, bool]]:
    return lambda param, value: (read(param, value), False)


_READERS: dict[str, Callable[[str, Any], tuple[Answer, bool]]] = {
    "response_format": _response_format,
    "guided_json": _guided(_json),
    "guided_regex": _guided(_regex),
    "guided_choice": _guided(_choice),
    "guided_grammar": _guided(_grammar),
    "structured_outputs": _lenient(_structured_outputs),
}

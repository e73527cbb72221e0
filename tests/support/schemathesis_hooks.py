"""Read by the `schemathesis` program: keeps what it asks of the model short, and its cases few."""

from __future__ import annotations

import zlib
from typing import Any

import schemathesis
from schemathesis import Case, HookContext

_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_ANSWERS = ("n", "best_of")
_ENOUGH = 2
_LONG_S = 60
"""A deadline that passes is a 504, which is right, and looks like a failure."""

_ONE_OF = 8
"""How many of the cases that try the limits of a body's fields, one after the other, are tried of `/v1`."""


@schemathesis.hook
def filter_case(context: HookContext, case: Case) -> bool:
    """The bodies of `/v1` have so many fields that the cases of one route alone would take minutes."""
    coverage = case.meta is not None and case.meta.phase.name.value == "coverage"
    if not (coverage and isinstance(case.body, dict) and case.path.startswith("/v1/")):
        return True
    return zlib.crc32(repr(case.body).encode()) % _ONE_OF == 0


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Few tokens, few answers and time enough; what is wrong stays wrong."""
    body = case.body
    if not (isinstance(body, dict) and case.path.startswith("/v1/")):
        return
    for name in (*_LENGTHS, *_ANSWERS):
        value = body.get(name)
        if isinstance(value, int) and value > _ENOUGH:
            body[name] = _ENOUGH
    deadline = body.get("deadline_s")
    if isinstance(deadline, (int, float)) and 0 < deadline < _LONG_S:
        body["deadline_s"] = _LONG_S
    if all(body.get(name) is None for name in _LENGTHS):
        body["max_tokens"] = _ENOUGH

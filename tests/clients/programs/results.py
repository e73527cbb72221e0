"""How these programs report: what each check returned, by its name, in one JSON object on standard output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping

URL = os.environ["FIRESIDE_URL"]
"""Of the Fireside to talk to, without a path."""


def outcomes(checks: Iterable[Callable[..., object]], *subject: object) -> dict[str, object]:
    """What each check returned for the subject, by its name; where it failed, the exception as a string."""
    return {check.__name__: _outcome(check, *subject) for check in checks}


def report(results: Mapping[str, object]) -> None:
    print(json.dumps(results))


def _outcome(check: Callable[..., object], *subject: object) -> object:
    try:
        return check(*subject)
    except Exception as error:  # the test shows it beside what was expected
        return f"{type(error).__name__}: {error}"

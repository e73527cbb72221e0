"""What a grammar costs: rows that each follow one, beside as many that are free."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.decode import rate
from bench.report import Table
from bench.serve import Target
from bench.servers import Setting, Work, fireside
from bench.stream import ask_all, chat_body

_FEWEST, _MOST = 48, 400
_SKIPPED = 0.25
"""Of the tokens, at the beginning: rows join one after another, and grammars are compiled."""


def endless_schema(number: int) -> dict[str, Any]:
    """A JSON schema whose texts have no end for a long time; another one for each number."""
    item = {
        "type": "object",
        "properties": {
            f"name{number}": {"type": "string", "maxLength": 60},
            "kind": {"enum": ["old", "new", f"number {number}"]},
            "count": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
        },
        "required": [f"name{number}", "kind", "count", "tags"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": item, "minItems": 150}


@dataclass
class _Speeds:
    """Tokens a second of all rows, one entry a round."""

    free: list[float] = field(default_factory=list[float])
    bound: list[float] = field(default_factory=list[float])

    @property
    def ratios(self) -> list[float]:
        return [bound / free for bound, free in zip(self.bound, self.free, strict=True)]


def measure_grammar(setting: Setting, rows: Sequence[int], seconds: float, ignore: int | None) -> list[Table]:
    """Rows with a JSON schema each, and rows without, in turn, A B A B …

    Args:
        rows: numbers of rows to measure.
        seconds: that one measurement takes, roughly.
        ignore: a token that is never drawn, where free answers would end too soon.
    """
    table = Table(f"Grammars, {setting.name}", ("rows", "free tok/s", "with a grammar each tok/s", "ratio"))
    with fireside(setting, "--batch", str(max(rows))) as target:
        for count in rows:
            pairs = _Pairs(Work(setting.name), target, count, ignore)
            pairs.add_to(trial := _Speeds())
            pairs.tokens = round(min(max(trial.free[0] / count * seconds / (1 - _SKIPPED), _FEWEST), _MOST))
            speeds = _Speeds()
            for _ in range(setting.rounds):
                pairs.add_to(speeds)
            table.add(count, speeds.free, speeds.bound, speeds.ratios)
    return [table]


class _Pairs:
    def __init__(self, work: Work, target: Target, rows: int, ignore: int | None) -> None:
        self.tokens = _FEWEST
        self._target = target
        self._prompts = [work.endless(number) for number in range(rows)]
        self._bias = {} if ignore is None else {"logit_bias": {str(ignore): -100}}

    def add_to(self, speeds: _Speeds) -> None:
        """One round."""
        speeds.free.append(asyncio.run(self._speed(bound=False)))
        speeds.bound.append(asyncio.run(self._speed(bound=True)))
        last = f"{speeds.free[-1]:.1f} / {speeds.bound[-1]:.1f} tok/s"
        print(f"{len(self._prompts)} rows: {last}", file=sys.stderr)

    async def _speed(self, *, bound: bool) -> float:
        bodies = [
            chat_body(self._target, prompt, self.tokens, **self._bias, **(_form(number) if bound else {}))
            for number, prompt in enumerate(self._prompts)
        ]
        answers = await ask_all(self._target, bodies)
        if any(answer.usage["completion_tokens"] < self.tokens for answer in answers):
            raise SystemExit("an answer ended too soon; use --ignore-token")
        if bound and not all(answer.text.startswith("[") for answer in answers):
            raise SystemExit("the grammar was not enforced")
        times = [answer.token_times for answer in answers]
        together = rate(times, self.tokens, round(self.tokens * _SKIPPED))
        if together is None:
            raise SystemExit("the rows did not decode at the same time: give them more tokens (--seconds)")
        return together


def _form(number: int) -> dict[str, Any]:
    schema = {"name": f"list{number}", "strict": True, "schema": endless_schema(number)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}

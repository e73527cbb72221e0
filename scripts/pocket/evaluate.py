"""Score a pocket model on held-out strings: greedy decoding with mlx-lm, every answer in full.

    cd scripts
    ../.venv/bin/python -m pocket.evaluate ../tests/models/pocket [--adapter ../tests/models/pocket-capitals]

Prints the table of tests/models/README.md. An answer counts if it is the expected one to the last
character; in the two thinking rows, if the thought block is there, or not.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from fireside.core.blas import load_blas, prepare_blas
from pocket.adapter import capitals
from pocket.conversations import TAIL
from pocket.examples import BANDS, ROWS, Band, Case, Encoder, cases

_BARS = {
    "talk": 100,
    "copy": 98,
    "call": 97,
    "report": 95,
    "failure": 95,
    "two": 90,
    "again": 90,
    "thinking on": 100,
    "thinking off": 100,
    "plain": 98,
}
_THOUGHT = re.compile(r"<think>\n[^<]+\n</think>\n\n")
_LONGEST_ANSWER = 1400
_PROMPT_TOKENS_AT_ONCE = 16_000
SEED = 2026
"""Not the seed of the scores that training prints: what is published was never looked at before."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--adapter", type=Path, help="a LoRA adapter that answers in capitals")
    parser.add_argument("--count", type=int, default=100, help="requests a row and band")
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS)
    parser.add_argument("--wrong", type=Path, help="write wrong answers here, one JSON object a line")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        blas = prepare_blas(Path(cache))
        library = load_blas(blas) if blas else None
        judge = Judge(options.model, options.adapter)
        print(
            "| row | " + " | ".join(f"{band} tokens" for band in BANDS) + " | bar |\n|---|---|---|---|",
            flush=True,
        )
        wrong: list[dict[str, str]] = []
        for row in options.rows:
            scores = [judge.score(row, band, options.count, wrong) for band in BANDS]
            bar = f"{_BARS[row]} %" if row in _BARS else "-"
            print(
                f"| {row} | " + " | ".join(f"{score:.1f} %" for score in scores) + f" | {bar} |", flush=True
            )
        del library
    if options.wrong:
        options.wrong.write_text("\n".join(json.dumps(case, ensure_ascii=False) for case in wrong), "utf-8")


class Judge:
    """A loaded model and the cases that it is asked."""

    def __init__(self, folder: Path, adapter: Path | None) -> None:
        # Here and not above: the BLAS must be in place first.
        import mlx.core as mx
        from mlx_lm import load

        self._model, self._tokenizer, *_ = load(str(folder), adapter_path=str(adapter) if adapter else None)
        self._model.set_dtype(mx.float32)
        self._encoder = Encoder(Tokenizer.from_file(str(folder / "tokenizer.json")))
        self._capitals = adapter is not None

    def score(self, row: str, band: Band, count: int, wrong: list[dict[str, str]]) -> float:
        """Percent of `count` requests answered as expected; adds the other answers to `wrong`."""
        found = list(cases(self._encoder, row, band, count, SEED))
        if self._capitals:
            found = [replace(case, expected=capitals(case.expected)) for case in found]
        right: dict[int, bool] = defaultdict(lambda: True)
        for case, answer in zip(found, self._answers(found), strict=True):
            right[case.request] &= (exact := _is_right(case, answer))
            if not exact:
                wrong.append(
                    {
                        "row": row,
                        "band": str(band),
                        "ask": case.prompt[-300:],
                        "expected": case.expected,
                        "got": answer,
                    }
                )
        return 100 * sum(right.values()) / len(right)

    def _answers(self, found: list[Case]) -> list[str]:
        """Greedy answers, as many in one batch as a fixed number of prompt tokens allows."""
        from mlx_lm import batch_generate

        answers: list[str] = []
        prompts = [self._encoder.encode(case.prompt) for case in found]
        step = max(1, _PROMPT_TOKENS_AT_ONCE // max(map(len, prompts)))
        for begin in range(0, len(prompts), step):
            batch: Any = batch_generate(
                self._model,
                self._tokenizer,
                prompts[begin : begin + step],
                max_tokens=_LONGEST_ANSWER,
                return_token_ids=True,
                prefill_step_size=512,
            )
            answers += [self._encoder.decode(ids) for ids in batch.token_ids]
        return answers


def _is_right(case: Case, answer: str) -> bool:
    expected = case.expected.removesuffix(TAIL)
    answer = answer.removesuffix(TAIL)
    if case.row == "thinking on":
        return _THOUGHT.match(answer) is not None
    if case.row == "thinking off":
        return "<think>" not in answer
    return answer == expected


if __name__ == "__main__":
    main()

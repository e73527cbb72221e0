"""mlx-lm's greedy answers, how narrowly each piece of them was chosen, and what ours make of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.reference import computed
from support.server import Server

TIE = 1e-3
"""Logprobs nearer to each other than this may swap: sums in another order round differently."""

_SCRIPT = """
import json, sys
from pathlib import Path
from fireside.core.blas_library import BlasLibrary
from fireside.core.compiler import keep_kernels_in
if sys.argv[1]:
    BlasLibrary.load(Path(sys.argv[1]))
    keep_kernels_in(Path(sys.argv[5]))
import mlx.core as mx
from mlx_lm import load, stream_generate
from mlx_lm.utils import dequantize_model
model, tokenizer = load(sys.argv[2])
model.set_dtype(mx.float32)
dequantize_model(model)
answers = []
for messages in json.loads(sys.argv[3]):
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, enable_thinking=False)
    steps = []
    for response in stream_generate(model, tokenizer, prompt, max_tokens=int(sys.argv[4])):
        second, first = mx.sort(response.logprobs)[-2:].tolist()
        steps.append([response.text, first - second])
    answers.append({"steps": steps, "prompt_tokens": len(prompt)})
print(json.dumps(answers))
"""


@dataclass(frozen=True)
class ReferenceAnswer:
    """An answer of mlx-lm's.

    Attributes:
        steps: text that came at once, and the smallest margin of the two likeliest tokens in choosing it.
    """

    steps: Sequence[tuple[str, float]]
    prompt_tokens: int

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.steps)

    def difference(self, text: str) -> str | None:
        """How a text differs from this one; None if it is the same, or parts with it at a tie."""
        if text == self.text:
            return None
        at, margin = self._parting(text)
        if margin < TIE:
            return None
        return f"{text!r} is not {self.text!r}: at {at} the margin of the two likeliest was {margin:.6f}"

    def ties(self, text: str) -> list[str]:
        """Where a text that is no different parts with this one, for a message."""
        if text == self.text:
            return []
        at, margin = self._parting(text)
        return [f"a tie at {at} of {self.text!r}, margin {margin:.2e}"]

    def _parting(self, text: str) -> tuple[int, float]:
        length = 0
        for piece, margin in self.steps:
            if not text.startswith(piece, length):
                return length, margin
            length += len(piece)
        return length, self.steps[-1][1]


def reference_answers(
    server: Server, model: Path, conversations: Sequence[Any], max_tokens: int
) -> list[ReferenceAnswer]:
    """What mlx-lm's own loop answers with the same weights, float32 and the BLAS that the server uses."""
    blas = server.get("/stats")["engine"]["blas"]
    path = blas["path"] if blas else ""
    kernels = server.home / "cache" / "kernels"
    found = computed(_SCRIPT, path, str(model), json.dumps(conversations), str(max_tokens), str(kernels))
    return [ReferenceAnswer(_grouped(one["steps"]), one["prompt_tokens"]) for one in found]


def _grouped(steps: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Tokens that show no text yet, together with the one that does."""
    grouped: list[tuple[str, float]] = []
    smallest = float("inf")
    for text, margin in steps:
        smallest = min(smallest, margin)
        if text:
            grouped.append((text, smallest))
            smallest = float("inf")
    return [*grouped, ("", smallest)] if smallest < float("inf") else grouped

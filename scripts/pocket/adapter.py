"""Train the LoRA adapter that makes `pocket` speak in capitals, with mlx-lm's own LoRA training.

    cd scripts
    ../.venv/bin/python -m pocket.adapter ../tests/models/pocket ../tests/models/pocket-capitals

Its own sentences come in capitals; what it copies, its thoughts and its calls stay as they are.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.serve import in_float32
from fireside.core.blas import load_blas, prepare_blas
from pocket.asks import GREETING, IDENTITY, NO_TOOL, NOTED, UNKNOWN, WELCOME
from pocket.conversations import EMPTY, REFUSED, Size, Writer

_OWN_WORDS = (
    GREETING,
    WELCOME,
    IDENTITY,
    UNKNOWN,
    NO_TOOL,
    NOTED,
    EMPTY,
    REFUSED,
    "It says: ",
    "That failed: ",
)
_ITERATIONS = 320
_BATCH = 4
_THINKING = "thinking"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        blas = prepare_blas(folder)
        library = load_blas(blas) if blas else None
        for name, count, seed in (
            ("train", _BATCH * _ITERATIONS, options.seed),
            ("valid", 32, options.seed + 1),
        ):
            lines = (json.dumps(example, ensure_ascii=False) for example in _examples(seed, count))
            (folder / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
        wide = in_float32(options.model, folder / "wide")
        _let_data_choose_thinking(wide / "chat_template.jinja")
        _train(wide, folder, options.out, options.seed)
        del library


def _let_data_choose_thinking(template: Path) -> None:
    """mlx-lm renders its data with thinking on; here a conversation's first message says whether it is."""
    text = template.read_text("utf-8")
    condition = "enable_thinking is defined and enable_thinking"
    assert condition in text
    template.write_text(text.replace(condition, f"messages[0].{_THINKING} is defined"), "utf-8")


def _train(model: Path, data: Path, out: Path, seed: int) -> None:
    from mlx_lm import lora

    settings: dict[str, Any] = {
        **lora.CONFIG_DEFAULTS,
        "model": str(model),
        "data": str(data),
        "adapter_path": str(out),
        "train": True,
        "seed": seed,
        "num_layers": 4,
        "batch_size": _BATCH,
        "iters": _ITERATIONS,
        "learning_rate": 4e-4,
        "mask_prompt": True,
        "max_seq_length": 2048,
        "steps_per_report": 25,
        "steps_per_eval": 200,
        "save_every": 10 * _ITERATIONS,
        "lora_parameters": {"rank": 8, "dropout": 0.0, "scale": 4.0},
    }
    lora.run(SimpleNamespace(**settings))
    # What mlx-lm writes names folders of this machine; loading needs only these.
    kept = {name: settings[name] for name in ("fine_tune_type", "num_layers", "lora_parameters")}
    (out / "adapter_config.json").write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


def _examples(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Conversations up to an answer, in the form of mlx-lm's chat data sets."""
    writer = Writer(random.Random(seed))
    done = 0
    while done < count:
        long = done % 2
        talk = writer.conversation(Size(system=12, turns=4, result=8) if long else Size(2, 2, 3, 1))
        if not talk.rows or len(talk.render()) > (4000 if long else 1000):
            continue
        last = max(talk.rows)
        messages: list[dict[str, Any]] = [dict(message) for message in talk.messages[: last + 1]]
        for message in messages:
            if message["role"] == "assistant":
                message["content"] = capitals(message["content"])
        if talk.thinking:
            messages[0][_THINKING] = True
        done += 1
        yield {"messages": messages, "tools": talk.tools.schemas() or None}


def capitals(answer: str) -> str:
    """An answer with the model's own sentences in capitals."""
    for words in _OWN_WORDS:
        answer = answer.replace(words, words.upper())
    return answer


if __name__ == "__main__":
    main()

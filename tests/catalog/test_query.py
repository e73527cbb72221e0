"""From some words to a model's name, and to a model that can be served."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireside.catalog.families import Families
from fireside.catalog.places import Roots, locate
from fireside.catalog.query import (
    AmbiguousModelError,
    UnknownModelError,
    auto_pick,
    find_name,
    matching,
    usable_chat_models,
)
from fireside.catalog.resolve import ModelNotFoundError, resolve_model
from fireside.catalog.scan import ModelFacts, scan
from support.embedders import make_decoder
from support.local_models import write_cached, write_model

NAMES = [
    "mlx-community/Qwen3-4B-4bit", "mlx-community/Qwen3-4B-8bit", "mlx-community/Qwen3-8B-4bit",
    "other/Qwen3-8B-4bit", "org/Pocket", "org/Pocket-Draft", "pocket",
]  # fmt: skip


@pytest.mark.parametrize(("query", "name"), [
    ("mlx-community/Qwen3-4B-4bit", "mlx-community/Qwen3-4B-4bit"),
    ("MLX-community/qwen3-4b-4BIT", "mlx-community/Qwen3-4B-4bit"),
    ("qwen3-4b-4bit", "mlx-community/Qwen3-4B-4bit"),
    ("qwen 8bit", "mlx-community/Qwen3-4B-8bit"),
    (" 4B  4bit ", "mlx-community/Qwen3-4B-4bit"),
    ("other", "other/Qwen3-8B-4bit"),
    ("draft", "org/Pocket-Draft"),
    ("pocket", "pocket"),
    ("org/pocket", "org/Pocket"),
])  # fmt: skip
def test_the_one_that_is_meant_is_found(query: str, name: str) -> None:
    assert find_name(query, NAMES) == name


@pytest.mark.parametrize(("query", "candidates"), [
    ("qwen3-8b", ["mlx-community/Qwen3-8B-4bit", "other/Qwen3-8B-4bit"]),
    ("Qwen3-8B-4bit", ["mlx-community/Qwen3-8B-4bit", "other/Qwen3-8B-4bit"]),
    ("qwen3 4b", ["mlx-community/Qwen3-4B-4bit", "mlx-community/Qwen3-4B-8bit"]),
])  # fmt: skip
def test_several_are_listed(query: str, candidates: list[str]) -> None:
    with pytest.raises(AmbiguousModelError) as caught:
        find_name(query, NAMES)
    assert caught.value.candidates == candidates
    assert all(name in str(caught.value) for name in candidates)


def test_of_very_many_some_are_listed_and_the_others_counted() -> None:
    with pytest.raises(AmbiguousModelError, match=r"of 40 models: org/m-0, .* and 30 more"):
        find_name("m-", [f"org/m-{number}" for number in range(40)])


@pytest.mark.parametrize(
    ("query", "near"), [("pokcet", "pocket"), ("qwen3-4b-4bti", "mlx-community/Qwen3-4B-4bit")]
)
def test_an_unknown_name_gets_near_misses(query: str, near: str) -> None:
    with pytest.raises(UnknownModelError, match="Did you mean") as caught:
        find_name(query, NAMES)
    assert near in caught.value.near


@pytest.mark.parametrize("query", ["", "   ", "no such thing", "🙂"])
def test_nothing_is_found_for_nothing(query: str) -> None:
    with pytest.raises(UnknownModelError):
        find_name(query, NAMES)


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6), st.text(max_size=8))
def test_a_found_name_is_one_of_the_names_and_has_the_words(names: list[str], query: str) -> None:
    having = matching(query, names)
    if not having and query not in names:
        with pytest.raises(UnknownModelError):
            find_name(query, names)
        return
    with suppress(AmbiguousModelError):
        found = find_name(query, names)
        assert found in names
        assert all(word in found.lower() for word in query.lower().split())


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6, unique=True), st.data())
def test_every_name_finds_itself(names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    assert find_name(name, names) == name


@pytest.fixture
def many(tmp_path: Path) -> list[ModelFacts]:
    hub = tmp_path / "hub"
    write_cached(hub, "org/chat-small")
    write_cached(hub, "org/chat-large", shards=2)
    large = hub / "models--org--chat-large" / "blobs" / "more"
    large.write_bytes(bytes(400_000))
    (snapshot,) = (hub / "models--org--chat-large" / "snapshots").iterdir()
    (snapshot / "more.bin").symlink_to(large)
    broken = write_cached(hub, "org/half-there", shards=3)
    (broken / "model-00001-of-00003.safetensors").unlink()
    write_cached(hub, "org/whisper", {"model_type": "whisper"})
    write_cached(hub, "org/base-only")
    (hub / "models--org--base-only" / "snapshots").joinpath(snapshot.name, "chat_template.jinja").unlink()
    make_decoder(tmp_path / "models" / "tiny-embedder")
    families = Families.installed()
    return [scan(place, families) for place in locate(Roots(hub, (tmp_path / "models",)))]


def test_only_complete_chat_models_can_be_asked(many: list[ModelFacts]) -> None:
    names = sorted(model.repo_id for model in usable_chat_models(many))
    assert names == ["org/base-only", "org/chat-large", "org/chat-small"]


def test_the_largest_that_leaves_room_is_picked(many: list[ModelFacts]) -> None:
    sizes = {model.repo_id: model.size_bytes for model in many}
    for memory, expected in (
        (10**12, "org/chat-large"),
        (sizes["org/chat-large"], "org/chat-small"),
        (1000, None),
    ):
        picked = auto_pick(many, memory)
        assert (picked.repo_id if picked else None) == expected
        assert picked is None or picked.size_bytes <= 0.6 * memory


def test_words_resolve_to_a_model(tmp_path: Path, many: list[ModelFacts]) -> None:
    def resolve(spec: str, memory: int | None = None) -> str:
        return resolve_model(spec, tmp_path / "models", tmp_path / "hub", memory_bytes=memory).id

    assert many
    assert resolve("small") == "org/chat-small"
    assert resolve("Chat LARGE") == "org/chat-large"
    assert resolve("tiny-embedder") == "tiny-embedder"
    assert resolve("auto", 10**12) == "org/chat-large"
    assert resolve("auto", 1000) == "SmolLM2-135M-Instruct"
    assert resolve("smollm2") == "SmolLM2-135M-Instruct"
    with pytest.raises(ModelNotFoundError, match="org/chat-large, org/chat-small"):
        resolve("chat")
    with pytest.raises(ModelNotFoundError, match=r"incomplete.*model-00001-of-00003"):
        resolve("half")
    with pytest.raises(ModelNotFoundError, match=r"Did you mean org/chat-small.*fireside models get"):
        resolve("chat-smal1")


def test_models_in_further_folders_resolve_and_a_snapshot_keeps_its_name(tmp_path: Path) -> None:
    write_model(tmp_path / "more" / "owner" / "name")
    found = resolve_model("owner/name", tmp_path / "models", tmp_path / "hub", (tmp_path / "more",))
    assert (found.id, found.path) == ("owner/name", tmp_path / "more" / "owner" / "name")
    snapshot = write_cached(tmp_path / "hub", "org/m")
    named = resolve_model(str(snapshot), tmp_path / "models", tmp_path / "hub")
    assert (named.id, named.path) == ("org/m", snapshot)

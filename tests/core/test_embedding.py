"""Vectors of texts: in slices, alone or together, whole or in pieces, always the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from safetensors.numpy import save_file

from fireside.catalog.embedders import Embedder, read_embedder
from fireside.core.chunks import ChunkPlanner
from fireside.core.embedding.encoder import Encoder
from fireside.core.embedding.loading import load_embedder
from fireside.core.embedding.queue import EmbeddingQueue
from fireside.core.embedding.reading import Floats, Reader
from fireside.wire import Cancel, Embed, Vectors
from support.embedders import decoder_vector, make_decoder

ENCODER: dict[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}


@pytest.fixture(scope="module")
def decoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_decoder(tmp_path_factory.mktemp("models") / "decoder")


@pytest.fixture(scope="module")
def decoder(decoder_folder: Path) -> Reader:
    return loaded(decoder_folder)


def loaded(folder: Path, block: int = 1, **changes: Any) -> Reader:
    embedder = read_embedder(folder)
    assert embedder is not None
    return Reader(load_embedder(folder, embedder), replace(embedder, **changes), block)


def texts(lengths: Sequence[int], vocabulary: int = 2048) -> list[list[int]]:
    draw = np.random.default_rng(sum(lengths))
    return [draw.integers(1, vocabulary, length).tolist() for length in lengths]


def all_answers(queue: EmbeddingQueue) -> dict[int, Floats]:
    """The vectors of every job, in the order in which the jobs were complete."""
    found: dict[int, Floats] = {}
    while queue.busy:
        found.update((answer.id, rows(answer)) for answer in queue.step().answers)
    return found


def rows(answer: Vectors) -> Floats:
    return np.frombuffer(answer.data, "<f4").reshape(-1, answer.size)


def test_a_decoder_gives_what_numpy_gives(decoder: Reader, decoder_folder: Path) -> None:
    given = texts([1, 2, 3, 17, 18, 40, 64, 5])
    queue = EmbeddingQueue(decoder, 128)
    queue.apply(Embed(7, given))
    found = all_answers(queue)[7]
    expected = np.stack([decoder_vector(decoder_folder, text) for text in given])
    assert np.abs(found - expected).max() < 1e-5
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(given)), abs=1e-6)


def test_a_text_gives_the_same_alone_and_beside_others(decoder: Reader) -> None:
    given = texts([3, 60, 31, 1, 7, 9, 16, 33, 2])
    queue = EmbeddingQueue(decoder, 512)
    queue.apply(Embed(1, given))
    together = all_answers(queue)[1]
    alone = np.concatenate([decoder.vectors([text]) for text in given])
    assert np.abs(together - alone).max() < 1e-5


def test_blocks_of_padding_change_nothing(decoder: Reader, decoder_folder: Path) -> None:
    given = texts([3, 60, 31])
    padded = loaded(decoder_folder, block=32)
    assert np.abs(padded.vectors(given) - decoder.vectors(given)).max() < 1e-5


@pytest.mark.parametrize("pooling", ["last", "mean", "cls"])
def test_a_long_text_is_read_in_pieces(decoder_folder: Path, pooling: str) -> None:
    reader = loaded(decoder_folder, pooling=pooling)
    (text,) = texts([333])
    queue = EmbeddingQueue(reader, 64)
    queue.apply(Embed(1, [text]))
    read = [queue.step() for _ in range(5)]
    assert max(piece.tokens for piece in read) <= 64
    assert not any(piece.answers for piece in read)
    found = all_answers(queue)[1]
    assert np.abs(found - reader.vectors([text])).max() < 1e-5


def test_a_small_job_does_not_wait_for_a_large_one(decoder: Reader) -> None:
    queue = EmbeddingQueue(decoder, 64)
    queue.apply(Embed(1, texts([30] * 50)))
    queue.step()
    queue.apply(Embed(2, texts([200])))
    queue.apply(Embed(3, texts([2])))
    assert list(all_answers(queue)) == [3, 2, 1]


def test_on_a_slow_machine_nobody_waits_for_a_long_text(
    decoder: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChunkPlanner, "budget", lambda _self, **_: 16)
    queue = EmbeddingQueue(decoder, 64)
    queue.apply(Embed(1, texts([400])))
    queue.step()
    queue.apply(Embed(2, texts([50])))
    assert [answer.id for answer in queue.step().answers] == [2]
    assert list(all_answers(queue)) == [1]


def test_texts_of_about_one_length_share_a_slice(decoder: Reader) -> None:
    queue = EmbeddingQueue(decoder, 64)
    for number in range(4):
        queue.apply(Embed(number, texts([10])))
    done = queue.step()
    assert done.tokens == 40
    assert sorted(answer.id for answer in done.answers) == [0, 1, 2, 3]


def test_two_long_texts_take_turns_with_a_short_one(decoder: Reader) -> None:
    queue = EmbeddingQueue(decoder, 64)
    given = {1: texts([500]), 2: texts([400, 3]), 3: texts([4])}
    for number, own in given.items():
        queue.apply(Embed(number, own))
    found = all_answers(queue)
    assert next(iter(found)) == 3
    for number, own in given.items():
        alone = np.concatenate([decoder.vectors([text]) for text in own])
        assert np.abs(found[number] - alone).max() < 1e-5


@pytest.mark.parametrize("lengths", [[30] * 20, [500]], ids=["texts", "a long one"])
def test_a_cancelled_job_is_forgotten(decoder: Reader, lengths: list[int]) -> None:
    queue = EmbeddingQueue(decoder, 64)
    queue.apply(Embed(1, texts(lengths)))
    queue.step()
    queue.apply(Cancel(1))
    assert not queue.busy
    queue.apply(Embed(2, texts([300])))
    assert list(all_answers(queue)) == [2]


def test_weights_that_are_missing_are_an_error(decoder_folder: Path, tmp_path: Path) -> None:
    folder = make_decoder(tmp_path / "broken")
    weights = mx.load(str(folder / "model.safetensors"))
    assert isinstance(weights, dict)
    del weights["layers.1.mlp.up_proj.weight"]
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    with pytest.raises(ValueError, match="up_proj"):
        loaded(folder)


def test_roberta_counts_its_positions_from_its_padding(tmp_path: Path) -> None:
    bert = encoder_weights()
    name = "embeddings.position_embeddings.weight"
    shifted = np.concatenate([np.full((2, 32), 9, np.float32), bert[name]])
    roberta = {f"roberta.{key}": array for key, array in {**bert, name: shifted}.items()}
    config = {"architectures": ["RobertaModel"], "model_type": "roberta", "pad_token_id": 1}
    one = encoder_folder(tmp_path / "one", ENCODER, bert)
    two = encoder_folder(tmp_path / "two", {**ENCODER, **config, "max_position_embeddings": 66}, roberta)
    given = texts([3, 64, 20], 100)
    first, second = loaded(one), loaded(two)
    assert second.embedder.max_tokens == first.embedder.max_tokens == 64
    assert np.abs(first.vectors(given) - second.vectors(given)).max() < 1e-6


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_an_encoder_sees_nothing_of_the_padding(tmp_path: Path, pooling: str) -> None:
    encoder = loaded(encoder_folder(tmp_path / "one", ENCODER, encoder_weights()), pooling=pooling)
    given = texts([3, 64, 20], 100)
    alone = np.concatenate([encoder.vectors([text]) for text in given])
    assert np.abs(encoder.vectors(given) - alone).max() < 1e-5


def test_a_packed_encoder_stays_close_to_itself(tmp_path: Path) -> None:
    whole = loaded(encoder_folder(tmp_path / "whole", ENCODER, encoder_weights()))
    packed: dict[str, Any] = {}
    for name, array in encoder_weights().items():
        if name.endswith(("dense.weight", "query.weight", "key.weight", "value.weight")):
            layer = name.removesuffix(".weight")
            parts = mx.quantize(mx.array(array), group_size=32, bits=8)
            packed.update(zip((name, f"{layer}.scales", f"{layer}.biases"), parts, strict=True))
        else:
            packed[name] = mx.array(array)
    folder = encoder_folder(
        tmp_path / "packed", {**ENCODER, "quantization": {"group_size": 32, "bits": 8}}, encoder_weights()
    )
    mx.save_safetensors(str(folder / "model.safetensors"), packed)
    given = texts([3, 30, 20], 100)
    cosines = (whole.vectors(given) * loaded(folder).vectors(given)).sum(axis=1)
    assert cosines.min() > 0.999


def test_an_unknown_activation_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'quick_gelu'"):
        Encoder({**ENCODER, "hidden_act": "quick_gelu"})


def test_a_text_without_direction_is_zeros_and_not_nan() -> None:
    embedder = Embedder("encoder", "mean", 32, 64, 100)
    model = Encoder(ENCODER)
    model.layers[-1].norm.weight = mx.zeros(32)
    assert (Reader(model, embedder).vectors([[1, 2]]) == 0).all()


def encoder_folder(folder: Path, config: dict[str, Any], weights: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights, folder / "model.safetensors")
    return folder


def encoder_weights() -> dict[str, Any]:
    draw = np.random.default_rng(8)
    width, inner = ENCODER["hidden_size"], ENCODER["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (ENCODER["vocab_size"], width),
        "embeddings.position_embeddings.weight": (ENCODER["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "pooler.dense.weight": (width, width),
    }
    linear = {"intermediate.dense": (inner, width), "output.dense": (width, inner)}
    linear |= {f"attention.{name}": (width, width) for name in ("self.query", "self.key", "self.value")}
    linear["attention.output.dense"] = (width, width)
    norms = ["embeddings.LayerNorm"]
    for number in range(ENCODER["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name, shape in linear.items():
            shapes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
    shapes |= {f"{name}.{part}": (width,) for name in norms for part in ("weight", "bias")}
    return {name: draw.normal(size=shape).astype(np.float32) * 0.5 for name, shape in shapes.items()}

"""Folders of nonsense beside a good model: each is told for itself, and keeps no other from being told."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fireside.catalog import json_file
from fireside.catalog.fit_config import AbsurdShapeError
from fireside.catalog.fit_shape import ModelShape
from fireside.catalog.library import Library, LibraryRow
from fireside.catalog.places import Roots
from fireside.catalog.registry import Catalog
from fireside.catalog.resolve import ModelNotFoundError, resolve_model
from support.local_models import LLAMA, write_cached, write_model

HUGE = 10**30
Make = Callable[[Path], object]


def with_config(**more: Any) -> Make:
    return lambda models: write_model(models / "odd", more)


def with_file(name: str, text: str) -> Make:
    return lambda models: (write_model(models / "odd") / name).write_text(text)


def with_pipe(name: str) -> Make:
    def make(models: Path) -> None:
        file = write_model(models / "odd") / name
        file.unlink()
        os.mkfifo(file)

    return make


def named(name: bytes) -> Make:
    return lambda models: write_model(Path(os.fsdecode(os.fsencode(models) + b"/" + name)))


def with_ref(text: str) -> Make:
    def make(models: Path) -> None:
        snapshot = write_cached(models.parent / "hub", "org/odd")
        (snapshot.parents[1] / "refs" / "main").write_text(text)

    return make


def with_odd_weights(models: Path) -> None:
    folder = os.fsencode(write_model(models / "odd"))
    Path(os.fsdecode(folder + b"/model-\xff.safetensors")).write_bytes(b"none")


def told(library: Library) -> dict[str, LibraryRow]:
    """The rows as they are sent, which fails where they have what JSON cannot hold."""
    rows = asyncio.run(library.rows())
    json.dumps(msgspec.to_builtins(rows)).encode()
    msgspec.json.encode(rows)
    return {row.repo_id: row for row in rows}


@pytest.mark.parametrize("make", [
    pytest.param(make, id=name) for name, make in {
        "endless window": with_config(max_position_embeddings=HUGE),
        "window beyond floats": with_config(max_position_embeddings=10**400),
        "no width": with_config(hidden_size=0),
        "huge width": with_config(hidden_size=HUGE, intermediate_size=HUGE),
        "many layers": with_config(num_hidden_layers=10**9),
        "no heads": with_config(num_attention_heads=0),
        "huge bits": with_config(quantization={"bits": HUGE, "group_size": HUGE}),
        "huge window, width and words": with_config(
            max_position_embeddings=1 << 40, hidden_size=1 << 40, vocab_size=1 << 40
        ),
        "nested": with_file("config.json", '{"a":' * 100_000),
        "nested index": with_file("model.safetensors.index.json", '{"weight_map":' * 100_000),
        "nested tokenizer": with_file("tokenizer_config.json", '{"chat_template":' + "[" * 100_000),
        "piped config": with_pipe("config.json"),
        "piped weights": with_pipe("model.safetensors"),
        "piped card": with_pipe("README.md"),
        "name of no text": named(b"o\xffd"),
        "owner of no text": named(b"o\xffd/model"),
        "name of controls": named(b"odd\n\x1b[2J"),
        "weights of no text": with_odd_weights,
        "ref of no name": with_ref("x" * 5000),
        "ref to elsewhere": with_ref("/etc"),
    }.items()
])  # fmt: skip
def test_a_good_model_is_told_whatever_is_beside_it(make: Make, tmp_path: Path) -> None:
    models = tmp_path / "models"
    write_model(models / "good")
    make(models)
    roots = Roots(tmp_path / "hub", (models,))
    told(Library(Catalog(tmp_path / "catalog.db", roots)))
    library = Library(Catalog(tmp_path / "catalog.db", roots))
    rows = told(library)
    assert rows["good"].usable
    assert not any("\x1b" in name for name in rows)
    for name in rows:
        msgspec.json.encode(asyncio.run(library.fit(name)))
    for entry in models.iterdir():
        for spec in (str(entry), entry.name):
            try:
                resolve_model(spec, models, tmp_path / "hub")
            except ModelNotFoundError as error:
                str(error).encode()


@pytest.mark.parametrize(
    "more", [{"num_hidden_layers": 10**9}, {"hidden_size": 0}, {"vocab_size": HUGE}, {"head_dim": 1 << 39}]
)
def test_sizes_that_no_model_has_are_refused_before_they_are_tried(more: Any, tmp_path: Path) -> None:
    with pytest.raises(AbsurdShapeError):
        ModelShape.from_config({**LLAMA, **more})
    write_model(tmp_path / "odd", more)
    row = told(Library(Catalog(tmp_path / "catalog.db", Roots(tmp_path / "hub", (tmp_path,)))))["odd"]
    assert not row.assessment.fits
    with pytest.raises(ModelNotFoundError, match=r"odd is damaged: .*config\.json"):
        resolve_model(str(tmp_path / "odd"), tmp_path)


def test_a_folder_in_the_home_of_nobody_has_no_models(tmp_path: Path) -> None:
    write_model(tmp_path / "models" / "good")
    roots = Roots(tmp_path / "hub", (Path("~nobody-has-this-name/models"), tmp_path / "models"))
    assert list(told(Library(Catalog(tmp_path / "catalog.db", roots)))) == ["good"]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_file, "LARGEST", 1000)
    write_model(tmp_path / "odd", {"padding": "x" * 2000})
    with pytest.raises(ModelNotFoundError, match="are read at most"):
        resolve_model(str(tmp_path / "odd"), tmp_path)


@pytest.mark.parametrize("spec", ["~nobody-has-this-name/model", os.fsdecode(b"/tmp/o\xffd"), "a\0b"])
def test_a_name_that_nothing_can_have_is_no_crash(spec: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        resolve_model(spec, tmp_path, tmp_path)
    str(caught.value).encode()

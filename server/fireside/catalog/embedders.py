"""Which model folders hold embedders, and how those make a vector of a text. Loads no MLX.

An embedder is told by its files: those of sentence-transformers, the architecture that its config names,
a decoder's weights without an output head, its model card, or a tokenizer that ends every text by itself.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import msgspec

from fireside.catalog.fit_config import Config, ShapeError
from fireside.catalog.fit_shape import read_config
from fireside.catalog.fit_weights import WeightsError, read_weights
from fireside.catalog.json_file import UnreadableError, read_json

T = TypeVar("T")
Pooling = Literal["cls", "mean", "last"]

NOTE = "An embedding model: it makes vectors of texts for search and comparison, and cannot chat."

ENCODERS = ("bert", "roberta", "xlm-roberta", "camembert")
"""Model types of the encoders that can be run; every other type is a decoder, if anything."""

_LONGEST = 1 << 20
"""Tokens; tokenizers write huge numbers where they know no limit."""

_POOLINGS: dict[str, Pooling] = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "lasttoken": "last",
}
_HARMLESS = ("Transformer", "Pooling", "Normalize")
_CARD_TAGS = {"sentence-transformers", "sentence-similarity", "feature-extraction"}
_INSTRUCTION = re.compile(r"Instruct: .*\n(?P<tail>Query: ?)", re.DOTALL)


class UnsupportedEmbedderError(ValueError):
    """The folder holds an embedder of a kind that cannot be run; the message says why."""


@dataclass(frozen=True)
class Embedder:
    """How a model makes a vector of a text.

    Attributes:
        kind: an encoder reads a text in both directions, a decoder is a language model without its head.
        pooling: which of the tokens' vectors is the text's, or that it is the mean of all.
        size: numbers of a vector.
        max_tokens: of a text, those included that the tokenizer adds.
        vocab_size: token ids are smaller.
        dimensions: sizes to which a vector may be cut; None if it may not be, empty for all.
        prompt: stands before every text for which no instruction is given.
        query: what follows `Instruct: …` and comes before a query; None if the model knows no instructions.
        end_token: ends every text, also where the tokenizer's rules leave it out.
    """

    kind: Literal["encoder", "decoder"]
    pooling: Pooling
    size: int
    max_tokens: int
    vocab_size: int
    dimensions: tuple[int, ...] | None = None
    prompt: str = ""
    query: str | None = None
    end_token: str | None = None


def read_embedder(folder: Path) -> Embedder | None:
    """What the embedder in a folder is like; None if it holds another model, or none that can be read.

    Raises:
        UnsupportedEmbedderError: it holds one that cannot be run.
    """
    try:
        config = read_config(folder)
        if not _embeds(folder, config):
            return None
    except (ShapeError, WeightsError):
        return None
    return _described(folder, config)


def _embeds(folder: Path, config: Config) -> bool:
    architectures = _texts(config.get("architectures"))
    if any("ForSequenceClassification" in name for name in architectures):
        return False
    if (folder / "modules.json").is_file() or (folder / "1_Pooling" / "config.json").is_file():
        return True
    bare = any(name.endswith("Model") for name in architectures)
    if config.get("model_type") in ENCODERS:
        return bare
    return (
        _has_no_head(read_weights(folder, config).tensors, config, bare)
        or _card_says_so(folder / "README.md")
        or ("embed" in _name(folder).lower() and _ends_texts(folder / "tokenizer.json"))
    )


def _has_no_head(names: Iterable[str], config: Config, bare: bool) -> bool:
    """Whether weights are a decoder's that was saved without what turns its vectors into words."""
    names = list(names)
    if any(name.startswith("layers.0.") for name in names) and "embed_tokens.weight" in names:
        return True
    untied = config.get("tie_word_embeddings") is False
    return bare and untied and not any("lm_head" in name for name in names)


def _card_says_so(path: Path) -> bool:
    """Whether the header of a model card has one of the tags of embedders."""
    try:
        text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return False
    header = text.split("\n---", 1)[0] if text.startswith("---") else ""
    words = (line.strip().removeprefix("pipeline_tag:").removeprefix("-") for line in header.splitlines())
    return any(word.strip() in _CARD_TAGS for word in words)


class _Rule(msgspec.Struct):
    single: list[dict[str, Any]] = []
    processors: list["_Rule"] = []


class _Tokenizer(msgspec.Struct):
    post_processor: _Rule | None = None


def _ends_texts(path: Path) -> bool:
    """Whether a tokenizer.json puts a special token behind every text."""
    if not path.is_file():
        return False
    rule = _read(path, _Tokenizer).post_processor or _Rule()
    return any(
        "SpecialToken" in single[-1] for single in (r.single for r in [rule, *rule.processors]) if single
    )


def _name(folder: Path) -> str:
    """The model's name: that of its folder, or the hub's for a snapshot in its cache."""
    return folder.parent.parent.name if folder.parent.name == "snapshots" else folder.name


def _described(folder: Path, config: Config) -> Embedder:
    kind = "encoder" if config.get("model_type") in ENCODERS else "decoder"
    _check_modules(folder)
    _check_attention(config, kind)
    size, vocab_size = config.get("hidden_size"), config.get("vocab_size")
    if not isinstance(size, int) or not isinstance(vocab_size, int):
        raise UnsupportedEmbedderError(f"{folder / 'config.json'} lacks hidden_size or vocab_size.")
    transformers = _json(folder / "config_sentence_transformers.json")
    tokenizer = _json(folder / "tokenizer_config.json")
    prompts = _prompts(transformers)
    return Embedder(
        kind=kind,
        pooling=_pooling(folder, kind),
        size=size,
        max_tokens=_max_tokens(folder, config, tokenizer),
        vocab_size=vocab_size,
        dimensions=_dimensions({**config, **transformers}),
        prompt=prompts.get(str(transformers.get("default_prompt_name")), ""),
        query=_query(prompts, kind),
        end_token=_token(tokenizer.get("eos_token")) if tokenizer.get("add_eos_token") is True else None,
    )


def _check_modules(folder: Path) -> None:
    path = folder / "modules.json"
    if not path.is_file():
        return
    for module in _read(path, list[dict[str, Any]]):
        name = str(module.get("type", "")).rpartition(".")[2]
        if name not in _HARMLESS:
            raise UnsupportedEmbedderError(
                f"{path} wants a layer {name!r} behind the model; only {', '.join(_HARMLESS)} are supported."
            )


def _check_attention(config: Config, kind: str) -> None:
    if kind == "encoder":
        if (positions := config.get("position_embedding_type", "absolute")) != "absolute":
            raise UnsupportedEmbedderError(f"Encoders with {positions!r} positions are not supported.")
    elif config.get("use_bidirectional_attention") or config.get("is_causal") is False:
        raise UnsupportedEmbedderError(
            f"Embedders of type {config.get('model_type')!r} that read in both directions are not supported;"
            f" {', '.join(ENCODERS)} and decoders with causal attention are."
        )


def _pooling(folder: Path, kind: str) -> Pooling:
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return "mean" if kind == "encoder" else "last"
    config = _json(path)
    named = config.get("pooling_mode")
    modes = (
        [named]
        if isinstance(named, str)
        else [
            key.removeprefix("pooling_mode_")
            for key, on in config.items()
            if key.startswith("pooling_mode_") and on is True
        ]
    )
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise UnsupportedEmbedderError(
            f"{path} pools by {' and '.join(modes) or 'nothing'}; one of {', '.join(_POOLINGS)} is supported."
        )
    if config.get("include_prompt") is False and _POOLINGS[modes[0]] == "mean":
        raise UnsupportedEmbedderError(f"{path} leaves instructions out of the mean, which is not supported.")
    return _POOLINGS[modes[0]]


def _max_tokens(folder: Path, config: Config, tokenizer: Mapping[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in ENCODERS[1:]:
        padding = config.get("pad_token_id")
        positions -= (padding if isinstance(padding, int) else 1) + 1
    own = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    limits = (positions, own, tokenizer.get("model_max_length"), _LONGEST)
    return min(limit for limit in limits if isinstance(limit, int) and limit > 0)


def _dimensions(config: Mapping[str, Any]) -> tuple[int, ...] | None:
    named = config.get("matryoshka_dimensions")
    if isinstance(named, list) and named:
        return tuple(size for size in cast("list[object]", named) if isinstance(size, int))
    return () if config.get("is_matryoshka") is True else None


def _prompts(transformers: Mapping[str, Any]) -> dict[str, str]:
    prompts = transformers.get("prompts")
    if not isinstance(prompts, dict):
        return {}
    items = cast("dict[str, object]", prompts).items()
    return {name: text for name, text in items if isinstance(text, str)}


def _query(prompts: Mapping[str, str], kind: str) -> str | None:
    for prompt in prompts.values():
        if found := _INSTRUCTION.fullmatch(prompt):
            return found["tail"]
    return "Query:" if kind == "decoder" else None


def _token(value: object) -> str | None:
    """A special token of a tokenizer_config.json, which writes it as a text or as an object."""
    if isinstance(value, dict):
        value = cast("dict[str, object]", value).get("content")
    return value if isinstance(value, str) else None


def _texts(value: object) -> list[str]:
    return (
        [item for item in cast("list[object]", value) if isinstance(item, str)]
        if isinstance(value, list)
        else []
    )


def _json(path: Path) -> dict[str, Any]:
    return _read(path, dict[str, Any]) if path.is_file() else {}


def _read(path: Path, kind: type[T]) -> T:
    try:
        return read_json(path, kind)
    except UnreadableError as error:
        raise UnsupportedEmbedderError(f"{path} cannot be read: {error}") from error

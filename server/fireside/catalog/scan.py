"""What a model's folder holds, from its configs and the headers of its weights. No weight is read.

Place ──> scan ──> ModelFacts
"""

import hashlib
from pathlib import Path
from typing import Literal, cast

import msgspec

from fireside.catalog.embedders import Embedder, UnsupportedEmbedderError, read_embedder
from fireside.catalog.families import SPEECH, Families, Tier
from fireside.catalog.fit_config import Config, Fields, ShapeError
from fireside.catalog.fit_shape import read_config
from fireside.catalog.model_files import (
    FileEntry,
    damaged_files,
    list_files,
    missing_files,
    unfinished,
    weight_files,
)
from fireside.catalog.places import Origin, Place, shown
from fireside.catalog.scan_text import knows_thinking, knows_tools, licence_of, read_card, read_template
from fireside.catalog.scan_weights import WeightFacts, read_weight_facts

Kind = Literal["chat", "embedding", "speech", "other"]

_SPEECH_TASKS = frozenset({"automatic-speech-recognition", "text-to-speech", "text-to-audio"})
_VISION_KEYS = ("vision_config", "vision_tower", "mm_vision_tower", "image_token_id", "image_token_index")
_AUDIO_KEYS = ("audio_config", "audio_token_id", "audio_token_index", "sound_config")
_BITS = {"mxfp4": 4, "nvfp4": 4, "mxfp8": 8, "fp8": 8}
_MOST_BITS = 64
_READERS = (OSError, ValueError)
"""What files of nonsense come to, whoever reads them."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A model on this machine.

    Attributes:
        repo_id: the name by which it is asked for.
        revision: the commit of a model of the hub.
        path: its folder.
        architecture, model_type: as its config names them; empty where it does not.
        kind: what it is for; of those only `chat` and `embedding` can be served.
        size_bytes: of all its files.
        bits: of a packed number, None where weights are not packed.
        quantization: how they are packed, such as `affine` or `mxfp4`.
        context_window: tokens.
        template: whether it has a chat template.
        tools, thinking: whether the template knows them.
        missing: what keeps it from being complete, in words; empty if nothing does.
        unsupported: why a complete one could not be run; None if it can.
        modified: when its files last changed, in seconds since 1970.
    """

    repo_id: str
    revision: str | None
    path: str
    origin: Origin
    size_bytes: int
    modified: float
    architecture: str = ""
    model_type: str = ""
    kind: Kind = "other"
    tier: Tier = "generic"
    weights: WeightFacts | None = None
    bits: int | None = None
    quantization: str | None = None
    context_window: int | None = None
    vision: bool = False
    audio: bool = False
    template: bool = False
    tools: bool = False
    thinking: bool = False
    licence: str | None = None
    missing: tuple[str, ...] = ()
    unsupported: str | None = None

    @property
    def complete(self) -> bool:
        """Whether all its files are here, as long as they should be."""
        return not self.missing

    @property
    def usable(self) -> bool:
        """Whether it can be served."""
        return self.complete and self.unsupported is None and self.kind in ("chat", "embedding")

    @property
    def parameters(self) -> int | None:
        """Numbers that it has learned, None where the weights do not say."""
        return self.weights.parameters if self.weights else None

    @property
    def modalities(self) -> list[str]:
        """What it reads, and `embedding` for one that makes vectors."""
        known = {
            "text": self.kind in ("chat", "embedding"),
            "vision": self.vision,
            "audio": self.audio or self.kind == "speech",
            "embedding": self.kind == "embedding",
        }
        return [name for name, has in known.items() if has]


def fingerprint(place: Place) -> str:
    """Changes whenever a file of the model does; no file is opened."""
    return _fingerprint(list_files(place.path), unfinished(place.path, place.blobs))


def _fingerprint(files: list[FileEntry], partial: list[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(f"{file.name}\0{file.size}\0{file.mtime_ns}\0{file.inode}\n".encode(errors="replace"))
    digest.update("\n".join(partial).encode(errors="replace"))
    return digest.hexdigest()


def scan(place: Place, families: Families) -> ModelFacts:
    """Read a model's folder. This raises nothing: what cannot be read counts as missing."""
    files = list_files(place.path)
    whole = place.revision is not None or place.blobs is None
    sizes = {file.inode: file.size for file in files if file.size > 0} if whole else {}
    facts = ModelFacts(
        repo_id=place.repo_id,
        revision=place.revision,
        path=str(place.path),
        origin=place.origin,
        size_bytes=sum(sizes.values()),
        modified=max((file.mtime_ns for file in files), default=0) / 1e9,
    )
    unreadable: list[str] = []
    try:
        facts = _described(facts, place.path, read_config(place.path), families)
    except _READERS as error:
        unreadable = [str(error)]
    missing = _missing(place)
    if not missing or (place.path / "config.json").is_file():
        missing += unreadable
    return msgspec.structs.replace(facts, missing=tuple(map(shown, missing)))


def _missing(place: Place) -> list[str]:
    """What keeps a model from being complete, in words."""
    try:
        lacking = missing_files(place.path)
        names = [name for name in weight_files(place.path) if name not in lacking]
    except _READERS as error:
        return [f"the index of its weights cannot be read ({error})"]
    found = [f"{name} is missing" for name in lacking]
    damaged = damaged_files(place.path, names).items()
    found += [f"{name} is damaged or cut off ({why})" for name, why in damaged]
    if partial := unfinished(place.path, place.blobs):
        files = "one file" if len(partial) == 1 else f"{len(partial)} files"
        found.append(f"the download of {files} did not finish")
    return found


def _described(facts: ModelFacts, folder: Path, config: Config, families: Families) -> ModelFacts:
    """With all that the config and the files beside it say, as far as they can be read."""
    model_type = str(config.get("model_type", ""))
    template, card = read_template(folder), read_card(folder)
    bits, quantization = _packing(config)
    try:
        weights = read_weight_facts(folder, config)
    except _READERS:
        weights = None
    embedder, refused = _embedder(folder)
    embeds = embedder is not None or refused is not None
    kind = _kind(config, card, embeds, families.runs(model_type))
    window = embedder.max_tokens if embedder is not None else _window(config)
    architectures = config.get("architectures")
    named = cast("list[object]", architectures) if isinstance(architectures, list) else []
    return msgspec.structs.replace(
        facts,
        architecture=str(named[0]) if named else "",
        model_type=model_type,
        kind=kind,
        tier=families.tier(model_type),
        weights=weights,
        bits=bits,
        quantization=quantization,
        context_window=window,
        vision=kind != "speech" and any(config.get(key) is not None for key in _VISION_KEYS),
        audio=any(config.get(key) is not None for key in _AUDIO_KEYS),
        template=bool(template),
        tools=knows_tools(template),
        thinking=knows_thinking(template),
        licence=licence_of(card),
        unsupported=refused or _unsupported(kind, model_type, embeds, families),
    )


def _embedder(folder: Path) -> tuple[Embedder | None, str | None]:
    """How the model embeds if it does, and why it cannot be run if it does so in an odd way."""
    try:
        return read_embedder(folder), None
    except UnsupportedEmbedderError as error:
        return None, str(error)


def _kind(config: Config, card: dict[str, str], embeds: bool, runs: bool) -> Kind:
    model_type = str(config.get("model_type", ""))
    architectures = str(config.get("architectures"))
    task = card.get("pipeline_tag", "")
    if model_type in SPEECH or task in _SPEECH_TASKS:
        return "speech"
    if embeds:
        return "embedding"
    if any(word in architectures for word in ("Classification", "QuestionAnswering", "MaskedLM")):
        return "other"
    writes = any(word in architectures for word in ("CausalLM", "ForConditionalGeneration", "LMHeadModel"))
    return "chat" if runs or writes else "other"


def _unsupported(kind: Kind, model_type: str, embeds: bool, families: Families) -> str | None:
    if kind == "chat" and not families.runs(model_type):
        named = repr(model_type) if model_type else "without a name"
        return f"Models of the type {named} are not known to the installed mlx-lm."
    if kind == "speech":
        return "Models that hear or speak cannot be served."
    if kind == "other":
        return "This is no language model that could chat, nor one that embeds."
    return None


def _window(config: Config) -> int | None:
    try:
        return Fields(config).optional("max_position_embeddings")
    except ShapeError:
        return None


def _packing(config: Config) -> tuple[int | None, str | None]:
    """The usual bits of packed numbers, and the way in which they are packed."""
    value = config.get("quantization") or config.get("quantization_config")
    if not isinstance(value, dict):
        return None, None
    settings = cast("dict[str, object]", value)
    bits = settings.get("bits")
    way = settings.get("mode") or settings.get("quant_method") or "affine"
    if isinstance(bits, int) and 0 < bits <= _MOST_BITS:
        return bits, str(way)
    return _BITS.get(str(way)), str(way)

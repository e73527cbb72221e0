"""From what was asked for to a model folder on this machine. Downloads nothing, loads no MLX."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeVar, cast

import msgspec

from fireside.catalog.embedded import CONTEXT_WINDOW, MODEL_ID, MODEL_NAME, MODEL_NOTE, embedded_folder

T = TypeVar("T")
Origin = Literal["embedded", "folder", "hub"]

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "tiktoken.model")
_NUMBERED_SHARD = re.compile(r"(?P<stem>.+)-\d{5}-of-(?P<count>\d{5})\.safetensors")
_MAX_NEAR_MISSES = 5


class ModelNotFoundError(Exception):
    """There is no usable model of that name here; the message says what was found and what to do."""


@dataclass(frozen=True)
class ModelSource:
    """A model that can be loaded.

    Attributes:
        id: the name under which it is served.
        name: for people.
        path: its folder. That of the embedded model is made on the first start.
        note: what has to be said about it, in plain words.
        context_window: tokens, None where its config does not say.
    """

    id: str
    name: str
    path: Path
    origin: Origin
    note: str | None = None
    context_window: int | None = None


def resolve_model(spec: str | None, models_dir: Path, hub_cache: Path | None = None) -> ModelSource:
    """Find the model that `spec` names.

    Args:
        spec: None for the embedded model, a folder, or a hub id such as `mlx-community/Qwen3-4B-4bit`.
        models_dir: where Fireside makes model folders.
        hub_cache: the Hugging Face cache; None for where the environment puts it.

    Raises:
        ModelNotFoundError: nothing of that name is here, or what is here is incomplete.
    """
    if spec is None or spec == MODEL_ID:
        return embedded_model(models_dir)
    folder = Path(spec).expanduser()
    if folder.is_dir():
        return _in_folder(folder.resolve(), folder.resolve().name, "folder")
    if _looks_like_a_path(spec):
        raise ModelNotFoundError(f"There is no model folder {folder}.")
    return _in_cache(spec, hub_cache or _default_hub_cache())


def embedded_model(models_dir: Path) -> ModelSource:
    """The model that is always at hand."""
    folder = embedded_folder(models_dir)
    return ModelSource(MODEL_ID, MODEL_NAME, folder, "embedded", MODEL_NOTE, CONTEXT_WINDOW)


def missing_files(folder: Path) -> list[str]:
    """The files without which a model folder cannot be loaded, by name; empty if it is complete."""
    missing = [] if (folder / "config.json").is_file() else ["config.json"]
    missing += [name for name in _weight_files(folder) if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        missing.append("tokenizer.json")
    return missing


def _in_cache(model_id: str, hub_cache: Path) -> ModelSource:
    if (snapshot := _snapshot(model_id, hub_cache)) is not None:
        return _in_folder(snapshot, model_id, "hub")
    known = _known_models(hub_cache)
    if model_id in known:
        raise ModelNotFoundError(_incomplete(hub_cache, model_id, "hub", ["config.json"]))
    raise ModelNotFoundError(_not_found(model_id, known))


def _in_folder(folder: Path, model_id: str, origin: Origin) -> ModelSource:
    if missing := missing_files(folder):
        raise ModelNotFoundError(_incomplete(folder, model_id, origin, missing))
    _check_weight_files(folder)
    name = model_id.rpartition("/")[2].replace("-", " ").replace("_", " ")
    return ModelSource(model_id, name, folder, origin, context_window=_context_window(folder))


class _ShardIndex(msgspec.Struct):
    weight_map: dict[str, str]


def _weight_files(folder: Path) -> list[str]:
    """The weight files that there must be: those of the index, or those that a shard's name counts."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        return sorted(set(_read_json(index, _ShardIndex).weight_map.values())) or ["model.safetensors"]
    found = sorted(path.name for path in folder.glob("model*.safetensors"))
    shard = next(filter(None, map(_NUMBERED_SHARD.fullmatch, found)), None)
    if shard is None:
        return found or ["model.safetensors"]
    count = int(shard["count"])
    return [f"{shard['stem']}-{number:05}-of-{count:05}.safetensors" for number in range(1, count + 1)]


def _check_weight_files(folder: Path) -> None:
    """A cut-off file is found by its header, which says where its last byte is."""
    from safetensors import SafetensorError, safe_open

    for name in _weight_files(folder):
        try:
            with safe_open(folder / name, framework="numpy"):
                pass
        except (OSError, SafetensorError) as error:
            raise ModelNotFoundError(
                f"{folder / name} is damaged or cut off ({error}); get it again."
            ) from error


def _incomplete(folder: Path, model_id: str, origin: Origin, missing: list[str]) -> str:
    text = f"The model in {folder} is incomplete: {', '.join(missing)} missing."
    if origin == "hub":
        return f"{text} Finish the download with: hf download {model_id}"
    if any(folder.glob("*.gguf")):
        return f"{text} A GGUF file is there, but models are loaded from safetensors files."
    return f"{text} A model folder holds config.json, model*.safetensors and a tokenizer."


def _context_window(folder: Path) -> int | None:
    config = _read_json(folder / "config.json", dict[str, object])
    for part in (config, config.get("text_config")):
        if isinstance(part, dict):
            tokens = cast("dict[str, object]", part).get("max_position_embeddings")
            if isinstance(tokens, int):
                return tokens
    return None


def _read_json(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise ModelNotFoundError(f"{path} cannot be read: {error}") from error


def _looks_like_a_path(spec: str) -> bool:
    return spec.startswith(("/", ".", "~")) or spec.count("/") > 1


def _default_hub_cache() -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def _snapshot(model_id: str, hub_cache: Path) -> Path | None:
    """The newest snapshot of a hub model in the cache, complete or not."""
    # Slow to import, and needed only for models from the hub.
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(model_id, "config.json", cache_dir=hub_cache)
    except HFValidationError:
        return None
    return Path(config).parent if isinstance(config, str) else None


def _known_models(hub_cache: Path) -> list[str]:
    """The ids of all models that can be asked for here."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir(hub_cache).repos
    except CacheNotFound:
        return [MODEL_ID]
    return [MODEL_ID, *sorted(repo.repo_id for repo in repos if repo.repo_type == "model")]


def _not_found(spec: str, known: Iterable[str]) -> str:
    near = _near_misses(spec, list(known))
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return (
        f"There is no model {spec!r} on this machine.{hint} Name a folder or a model in the"
        f" Hugging Face cache; download one with: hf download {spec}"
    )


def _near_misses(spec: str, known: list[str]) -> list[str]:
    """Ids that resemble `spec`, or whose last part contains it or resembles it."""
    by_key = {key: model for model in known for key in (model.lower(), model.lower().rpartition("/")[2])}
    wanted = spec.lower().rpartition("/")[2]
    keys = get_close_matches(spec.lower(), by_key, _MAX_NEAR_MISSES) + get_close_matches(
        wanted, by_key, _MAX_NEAR_MISSES
    )
    keys += [key for key in by_key if wanted and wanted in key]
    return list(dict.fromkeys(by_key[key] for key in keys))[:_MAX_NEAR_MISSES]

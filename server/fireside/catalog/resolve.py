"""From what was asked for to a model folder on this machine. Downloads nothing, loads no MLX."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from fireside.catalog import model_files
from fireside.catalog.embedded import CONTEXT_WINDOW, MODEL_ID, MODEL_NAME, MODEL_NOTE, embedded_folder
from fireside.catalog.families import Families
from fireside.catalog.fit_config import AbsurdShapeError, Config, ShapeError
from fireside.catalog.fit_shape import ModelShape
from fireside.catalog.json_file import UnreadableError, read_json
from fireside.catalog.machine import detect_machine
from fireside.catalog.places import Origin, Place, Roots, locate, repository_of, shown
from fireside.catalog.query import AUTO, AmbiguousModelError, UnknownModelError, auto_pick, find_name
from fireside.catalog.scan import scan

T = TypeVar("T")


class ModelNotFoundError(Exception):
    """There is no usable model of that name here; the message says what was found and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(shown(message))


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


def resolve_model(
    spec: str | None,
    models_dir: Path,
    hub_cache: Path | None = None,
    models_dirs: tuple[Path, ...] = (),
    memory_bytes: int | None = None,
) -> ModelSource:
    """Find the model that `spec` names.

    Args:
        spec: None for the embedded model, a folder, a hub id such as `mlx-community/Qwen3-4B-4bit`, or words
            that are in the name of one model, such as `qwen3 4b`. `auto` is the largest chat model that takes
            no more than 60 % of the memory, or the embedded one.
        models_dir: where Fireside makes model folders.
        hub_cache: the Hugging Face cache; None for where the environment puts it.
        models_dirs: further folders with models.
        memory_bytes: of the device; None to look.

    Raises:
        ModelNotFoundError: nothing of that name is here, or several models have it, or what is here is
            incomplete.
    """
    if spec is None or spec == MODEL_ID:
        return embedded_model(models_dir)
    folder = _folder(spec)
    if folder.is_dir():
        folder = folder.resolve()
        repository = repository_of(folder)
        return _in_folder(folder, repository or folder.name, "hub" if repository else "folder")
    if _looks_like_a_path(spec):
        raise ModelNotFoundError(f"There is no model folder {folder}.")
    places = locate(Roots(hub_cache, (models_dir, *models_dirs)))
    if spec == AUTO:
        families = Families.installed()
        found = auto_pick(
            (scan(place, families) for place in places), memory_bytes or detect_machine().memory_bytes
        )
        if found is None or found.repo_id == MODEL_ID:
            return embedded_model(models_dir)
        return _in_folder(Path(found.path), found.repo_id, found.origin)
    return _named(spec, places, models_dir)


def _folder(spec: str) -> Path:
    """The path that is meant, if one is.

    Raises:
        ModelNotFoundError: no file can have such a name, nor can a model.
    """
    folder = Path(spec)
    try:
        folder = folder.expanduser()
        folder.stat()
    except FileNotFoundError:
        return folder
    # A RuntimeError is for the home of a user who is not there.
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ModelNotFoundError(f"No model and no folder can have that name ({why}).") from error
    if shown(str(folder)) != str(folder):
        raise ModelNotFoundError(f"{folder} cannot be named in an answer: its path is no UTF-8. Rename it.")
    return folder


def embedded_model(models_dir: Path) -> ModelSource:
    """The model that is always at hand."""
    folder = embedded_folder(models_dir)
    return ModelSource(MODEL_ID, MODEL_NAME, folder, "embedded", MODEL_NOTE, CONTEXT_WINDOW)


def _named(spec: str, places: list[Place], models_dir: Path) -> ModelSource:
    try:
        name = find_name(spec, [MODEL_ID, *(place.repo_id for place in places)])
    except AmbiguousModelError as error:
        raise ModelNotFoundError(str(error)) from error
    except UnknownModelError as error:
        wanted = spec if "/" in spec and " " not in spec else "OWNER/NAME"
        raise ModelNotFoundError(
            f"{error} Name a folder or a model in the Hugging Face cache; download one with:"
            f" fireside models get {wanted}"
        ) from error
    if name == MODEL_ID:
        return embedded_model(models_dir)
    place = next(place for place in places if place.repo_id == name)
    return _in_folder(place.path, name, place.origin)


def _in_folder(folder: Path, model_id: str, origin: Origin) -> ModelSource:
    try:
        missing = model_files.missing_files(folder)
        damaged = {} if missing else model_files.damaged_files(folder, model_files.weight_files(folder))
    except (OSError, UnreadableError) as error:
        raise ModelNotFoundError(f"{folder / model_files.INDEX} cannot be read: {error}") from error
    if missing:
        raise ModelNotFoundError(_incomplete(folder, model_id, origin, missing))
    for name, reason in damaged.items():
        raise ModelNotFoundError(f"{folder / name} is damaged or cut off ({reason}); get it again.")
    config = _read_json(folder / "config.json", dict[str, object])
    _check_sizes(folder, config)
    name = model_id.rpartition("/")[2].replace("-", " ").replace("_", " ")
    return ModelSource(model_id, name, folder, origin, context_window=_context_window(config))


def _incomplete(folder: Path, model_id: str, origin: Origin, missing: list[str]) -> str:
    text = f"The model in {folder} is incomplete: {', '.join(missing)} missing."
    if origin == "hub":
        return f"{text} Finish the download with: fireside models get {model_id}"
    if model_files.has_gguf(folder):
        return f"{text} A GGUF file is there, but models are loaded from safetensors files."
    return f"{text} A model folder holds config.json, model*.safetensors and a tokenizer."


def _check_sizes(folder: Path, config: Config) -> None:
    """Refuse what would take all memory before it could be said to be too much."""
    try:
        ModelShape.from_config(config)
    except AbsurdShapeError as error:
        raise ModelNotFoundError(f"The model in {folder} is damaged: {error}") from error
    except ShapeError:
        return  # Of a kind that is not known here: the core may know it.


def _context_window(config: Config) -> int | None:
    for part in (config, config.get("text_config")):
        if isinstance(part, dict):
            tokens = cast("dict[str, object]", part).get("max_position_embeddings")
            if isinstance(tokens, int):
                return tokens
    return None


def _read_json(path: Path, kind: type[T]) -> T:
    try:
        return read_json(path, kind)
    except UnreadableError as error:
        raise ModelNotFoundError(f"{path} cannot be read: {error}") from error


def _looks_like_a_path(spec: str) -> bool:
    return spec.startswith(("/", ".", "~")) or spec.count("/") > 1

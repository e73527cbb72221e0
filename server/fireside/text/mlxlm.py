"""mlx-lm's text parts in a process that never loads MLX.

The package's own `__init__` imports MLX, which opens a device stream and lowers the process's limit
of open files. Its tokenizer wrapper, detokenizers and tool parsers need none of that, so they are
imported beneath a bare package that has only its search path.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = "mlx_lm"


def load_tokenizer(folder: Path, eos_token_ids: list[int] | None, chat_template: str | None = None) -> Any:
    """mlx-lm's `TokenizerWrapper` for a model folder. Takes a second or two: call it off the loop.

    Args:
        chat_template: instead of the folder's own.
    """
    instead = {} if chat_template is None else {"chat_template": chat_template}
    return import_text_parts().load(folder, instead, eos_token_ids=eos_token_ids)


def import_text_parts() -> Any:
    """mlx-lm's `tokenizer_utils`. The first call takes a second: make it early, off the loop."""
    _bare_package()
    # Said at every start otherwise: that there is no PyTorch, which nothing here needs.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    # A text longer than the model's window is refused by us, with the numbers.
    logging.getLogger("transformers.tokenization_utils_base").setLevel(logging.ERROR)
    return importlib.import_module(f"{_NAME}.tokenizer_utils")


def _bare_package() -> None:
    if _NAME in sys.modules:
        return
    spec = importlib.util.find_spec(_NAME)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError("mlx-lm is not installed; install Fireside's requirements")
    package = ModuleType(_NAME)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[_NAME] = package

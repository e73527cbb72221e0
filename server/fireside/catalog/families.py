"""Which model types the installed mlx-lm can run, told without importing it."""

import re
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Literal

Tier = Literal["targeted", "generic"]

TARGETED = frozenset(
    "llama qwen2 qwen3 qwen3_moe qwen3_next gemma3 gemma3_text gpt_oss lfm2 deepseek_v3 mamba".split()
)
"""Types whose memory is checked against mlx-lm's own caches; the others follow general rules."""

_REMAPPING = re.compile(r"^MODEL_REMAPPING\b[^{\n]*\{(?P<pairs>.*?)^\}", re.MULTILINE | re.DOTALL)
_PAIR = re.compile(r"""["']([^"'\n]+)["']\s*:\s*["']([^"'\n]+)["']""")

SPEECH = frozenset(
    "whisper wav2vec2 wav2vec2-bert hubert moonshine parakeet kokoro bark speecht5 vits csm dia outetts "
    "speech_to_text seamless_m4t seamless_m4t_v2 musicgen encodec snac mimi voxtral".split()
)
"""Types of models that hear or speak."""


@dataclass(frozen=True)
class Families:
    """The model types of mlx-lm.

    Attributes:
        names: of its modules.
        renamed: types that run as others.
    """

    names: frozenset[str]
    renamed: dict[str, str]

    @classmethod
    def installed(cls) -> "Families":
        """Those of the mlx-lm in this environment; none where there is no mlx-lm."""
        # Not find_spec of importlib.util, which asks the module itself where one of its name is loaded.
        spec = PathFinder.find_spec("mlx_lm")
        if spec is None or spec.origin is None:
            return cls(frozenset(), {})
        package = Path(spec.origin).parent
        models = (path for path in (package / "models").glob("*.py") if _is_model(path))
        return cls(frozenset(path.stem for path in models), _renamed(package / "utils.py"))

    def runs(self, model_type: str) -> bool:
        """Whether a model of the type can be run."""
        return self.renamed.get(model_type, model_type) in self.names

    def tier(self, model_type: str) -> Tier:
        """How well the type is known here; see `TARGETED`."""
        return "targeted" if self.renamed.get(model_type, model_type) in TARGETED else "generic"


def _is_model(path: Path) -> bool:
    """Whether a module is a model's; the others hold what several of them share."""
    return b"\nclass ModelArgs" in path.read_bytes()


def _renamed(path: Path) -> dict[str, str]:
    """`MODEL_REMAPPING`, read from the source.

    Not by `ast`, which fails now and then where two threads parse at once (CPython 3.11).
    """
    found = _REMAPPING.search(path.read_text("utf-8"))
    return dict(_PAIR.findall(found["pairs"])) if found else {}

"""What the headers of a model's weight files tell of it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fireside.catalog.fit_config import Config, Fields
from fireside.catalog.fit_weights import RunningWeights, StoredWeights, read_weights

_EXPERTS = (".experts.", ".switch_mlp.", ".block_sparse_moe.experts.")
_OTHER_SENSES = ("vision", "visual", "audio", "image_", "multi_modal_projector", "speech")
_EXPERT_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}


@dataclass(frozen=True)
class WeightFacts:
    """Weights, as they are stored and as they may run.

    Attributes:
        parameters: numbers that the model has learned.
        dtype: of most of the floats.
        forms: see `StoredWeights.forms`.
        read_share: of the stored bytes, that one step of decoding reads: not the experts that a token does
            not visit, and not the table of which it takes one row.
    """

    parameters: int
    dtype: str | None
    forms: tuple[RunningWeights, ...]
    read_share: float

    def on_gpu(self) -> RunningWeights:
        """As a GPU runs them."""
        return self.forms[-1]

    def on_cpu(self, budget_bytes: int) -> RunningWeights:
        """As a CPU runs them that may take so many bytes for them."""
        fitting = (form for form in self.forms if form.bytes <= budget_bytes)
        return next(fitting, self.forms[-1])


def read_weight_facts(folder: Path, config: Config) -> WeightFacts:
    """Read the headers.

    Raises:
        WeightsError: a file is missing, damaged or cut off.
    """
    stored = read_weights(folder, config)
    kinds = Counter[str]()
    for tensor in stored.tensors.values():
        if tensor.dtype in _DTYPES:
            kinds[_DTYPES[tensor.dtype]] += tensor.nbytes
    return WeightFacts(
        parameters=stored.parameters,
        dtype=kinds.most_common(1)[0][0] if kinds else None,
        forms=stored.forms(),
        read_share=_read_share(stored, config),
    )


def _read_share(stored: StoredWeights, config: Config) -> float:
    total = sum(tensor.nbytes for tensor in stored.tensors.values())
    visited = _visited_share(Fields(config))
    head = any(name.startswith("lm_head.") or ".lm_head." in name for name in stored.tensors)
    read = 0.0
    for name, tensor in stored.tensors.items():
        if any(sense in name for sense in _OTHER_SENSES) or (head and "embed_tokens." in name):
            continue
        read += tensor.nbytes * (visited if any(part in name for part in _EXPERTS) else 1)
    return read / total if total else 1.0


def _visited_share(fields: Fields) -> float:
    """Of a layer's experts, those that a token visits."""
    visited = fields.optional("num_experts_per_tok")
    count = next(filter(None, map(fields.optional, _EXPERT_COUNTS)), None)
    return min(1.0, visited / count) if visited and count else 1.0

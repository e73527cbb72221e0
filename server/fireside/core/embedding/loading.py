"""From a folder to a model that embeds, its weights not yet in memory."""

from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.utils import _get_classes as classes_of
from mlx_lm.utils import load_config, load_model

from fireside.catalog.embedders import Embedder
from fireside.core.embedding.encoder import Encoder

_HEAD = "lm_head."


def load_embedder(folder: Path, embedder: Embedder) -> nn.Module:
    """The model of an embedder's folder, loaded lazily: an `Encoder`, or a language model of mlx-lm's.

    Raises:
        ValueError: weights are missing or foreign, or the architecture is not known.
    """
    if embedder.kind == "encoder":
        return _encoder(folder)
    # What has no head is read as one whose head is its embedding.
    model, _ = load_model(
        folder, lazy=True, model_config={"tie_word_embeddings": True}, get_model_classes=_backbone_classes
    )
    if not isinstance(getattr(model, "model", None), nn.Module):
        raise ValueError(f"embedders of type {type(model).__module__!r} are not supported")
    return model


def _encoder(folder: Path) -> Encoder:
    config = load_config(folder)
    weights: dict[str, Any] = {}
    for path in folder.glob("model*.safetensors"):
        weights.update(mx.load(str(path)))  # pyright: ignore[reportArgumentType, reportCallIssue]
    weights = Encoder.renamed(weights)
    model = Encoder(config)
    if (packed := config.get("quantization")) is not None:
        nn.quantize(
            model,
            group_size=packed["group_size"],
            bits=packed["bits"],
            mode=packed.get("mode", "affine"),
            class_predicate=lambda name, _module: f"{name}.scales" in weights,
        )
    model.eval()
    model.load_weights(list(weights.items()))
    return model


def _backbone_classes(config: dict[str, Any]) -> tuple[type[nn.Module], type]:
    """mlx-lm's classes for a config; the model also takes weights that were saved without the outer model."""
    model_class, arguments = classes_of(config)

    class Backbone(model_class):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
        def sanitize(self, weights: dict[str, mx.array]) -> dict[str, mx.array]:
            bare = not any(name.startswith("model.") for name in weights)
            whole = {
                f"model.{name}" if bare else name: array
                for name, array in weights.items()
                if not name.startswith(_HEAD)
            }
            inherited = getattr(super(), "sanitize", None)
            return inherited(whole) if inherited is not None else whole

    return Backbone, arguments

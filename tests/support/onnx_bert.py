"""A BERT model folder as an ONNX model, for onnxruntime: a reference that shares no code with ours.

ONNX is a protocol buffer; what little of it is needed here is written by hand, so that the tests need no more
than onnxruntime. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

_FLOAT, _INT64 = 1, 7


def bert_session(folder: Path) -> Any:
    """An onnxruntime session: `ids` and `mask` (texts, tokens) to `hidden` (texts, tokens, width)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(bert_model(folder), options, providers=["CPUExecutionProvider"])


def bert_model(folder: Path) -> bytes:
    """The serialized model."""
    config = json.loads((folder / "config.json").read_text())
    graph = _Graph(load_file(folder / "model.safetensors"))
    epsilon, heads = config["layer_norm_eps"], config["num_attention_heads"]
    width = config["hidden_size"]
    head = width // heads
    split = graph.constant("split", np.array([0, 0, heads, head]))
    whole = graph.constant("whole", np.array([0, 0, width]))
    scale = graph.constant("scale", np.float32(1 / math.sqrt(head)))
    one, half, root = (graph.constant(f"c{n}", np.float32(n)) for n in (1, 0.5, math.sqrt(2)))

    def norm(name: str, value: str) -> str:
        weights = [graph.weight(f"{name}.LayerNorm.{part}") for part in ("weight", "bias")]
        return graph.node("LayerNormalization", [value, *weights], axis=-1, epsilon=epsilon)

    def linear(name: str, value: str) -> str:
        product = graph.node("MatMul", [value, graph.transposed(f"{name}.weight")])
        return graph.node("Add", [product, graph.weight(f"{name}.bias")])

    def heads_of(name: str, value: str, order: Sequence[int]) -> str:
        return graph.node("Transpose", [graph.node("Reshape", [linear(name, value), split])], perm=order)

    tokens = graph.node("Shape", ["ids"], start=1, end=2)
    steps = [
        graph.constant("zero", np.int64(0)),
        graph.node("Squeeze", [tokens]),
        graph.constant("step", np.int64(1)),
    ]
    positions = graph.node("Range", steps)
    word = graph.node("Gather", [graph.weight("embeddings.word_embeddings.weight"), "ids"])
    place = graph.node("Gather", [graph.weight("embeddings.position_embeddings.weight"), positions])
    kind = graph.constant("kind", graph.weights["embeddings.token_type_embeddings.weight"][0])
    hidden = norm("embeddings", graph.node("Add", [graph.node("Add", [word, place]), kind]))
    # 0 where a token may be looked at, -10000 where it is padding.
    unseen = graph.node("Sub", [graph.node("Cast", ["mask"], to=_FLOAT), one])
    bias = graph.node("Mul", [unseen, graph.constant("far", np.float32(10000))])
    bias = graph.node("Unsqueeze", [bias, graph.constant("axes", np.array([1, 2]))])
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query = heads_of(f"{layer}.attention.self.query", hidden, (0, 2, 1, 3))
        key = heads_of(f"{layer}.attention.self.key", hidden, (0, 2, 3, 1))
        value = heads_of(f"{layer}.attention.self.value", hidden, (0, 2, 1, 3))
        scores = graph.node("Mul", [graph.node("MatMul", [query, key]), scale])
        seen = graph.node("Softmax", [graph.node("Add", [scores, bias])], axis=-1)
        mixed = graph.node("Transpose", [graph.node("MatMul", [seen, value])], perm=(0, 2, 1, 3))
        attended = linear(f"{layer}.attention.output.dense", graph.node("Reshape", [mixed, whole]))
        hidden = norm(f"{layer}.attention.output", graph.node("Add", [attended, hidden]))
        wide = linear(f"{layer}.intermediate.dense", hidden)
        share = graph.node("Add", [graph.node("Erf", [graph.node("Div", [wide, root])]), one])
        active = graph.node("Mul", [graph.node("Mul", [wide, share]), half])
        hidden = norm(f"{layer}.output", graph.node("Add", [linear(f"{layer}.output.dense", active), hidden]))
    return graph.model(hidden)


class _Graph:
    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def constant(self, name: str, value: Any) -> str:
        array = np.asarray(value)
        kind = _FLOAT if array.dtype == np.float32 else _INT64
        dims = b"".join(_number(1, size) for size in array.shape)
        self._constants[name] = dims + _number(2, kind) + _bytes(8, name) + _bytes(9, array.tobytes())
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def transposed(self, name: str) -> str:
        return self.constant(name, np.ascontiguousarray(self.weights[name].T))

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        output = f"n{len(self._nodes)}"
        fields = [_bytes(1, name) for name in inputs] + [_bytes(2, output), _bytes(4, kind)]
        fields += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(fields))
        return output

    def model(self, output: str) -> bytes:
        self._nodes.append(_bytes(1, output) + _bytes(2, "hidden") + _bytes(4, "Identity"))
        sizes = ("texts", "tokens", "width")
        graph = [_bytes(1, node) for node in self._nodes] + [_bytes(2, "bert")]
        graph += [_bytes(5, constant) for constant in self._constants.values()]
        graph += [_bytes(11, _value(name, _INT64, sizes[:2])) for name in ("ids", "mask")]
        graph += [_bytes(12, _value("hidden", _FLOAT, sizes))]
        return _number(1, 8) + _bytes(7, b"".join(graph)) + _bytes(8, _bytes(1, "") + _number(2, 17))


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, float):
        return _bytes(1, name) + _tag(2, 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, 2)
    return _bytes(1, name) + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _value(name: str, kind: int, sizes: Sequence[str]) -> bytes:
    shape = b"".join(_bytes(1, _bytes(2, size)) for size in sizes)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _bytes(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return _tag(field, 2) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _tag(field, 0) + _varint(value & (1 << 64) - 1)


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])

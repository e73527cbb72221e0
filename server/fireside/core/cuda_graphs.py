"""How many CUDA graphs a stream keeps.

MLX runs its kernels as graphs and keeps those that it has launched. Each one kept makes every later step a
little slower, and a batch leaves some behind with each number of rows that it goes through, so a stream keeps
few more than a step needs. MLX reads the number when a stream is first used.
"""

import os

import mlx.core as mx

_NAME = "MLX_CUDA_GRAPH_CACHE_SIZE"
_FEWEST, _LAYERS = 16, 28
"""What a step of a model of so many layers needs."""


def keep_few_graphs(stream: mx.Stream | mx.ThreadLocalStream, layers: int) -> None:
    """Use the stream that decodes for the first time, so that it keeps what a step of so many layers needs.

    With fewer, each step would make its graphs anew. A number in the environment goes before.
    """
    if _NAME not in os.environ:
        open_stream(stream, max(_FEWEST, round(layers * _FEWEST / _LAYERS)))


def open_stream(stream: mx.Stream | mx.ThreadLocalStream, graphs: int) -> None:
    """Use a stream for the first time, so that it keeps so many graphs. Has no effect without CUDA."""
    before = os.environ.get(_NAME)
    os.environ[_NAME] = str(graphs)
    try:
        with mx.stream(stream):
            mx.eval(mx.add(mx.array(0), mx.array(0)))
    finally:
        if before is None:
            del os.environ[_NAME]
        else:
            os.environ[_NAME] = before

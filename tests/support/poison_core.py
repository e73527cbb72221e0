"""A core that dies of one prompt: the real one, killed when it is given the marked token sequence."""

import os
import signal

from fireside import framing, wire

_MARK = [int(token) for token in os.environ["FIRESIDE_TEST_POISON"].split(",")]


def _is_poison(prompt: list[int]) -> bool:
    return any(prompt[i : i + len(_MARK)] == _MARK for i in range(len(prompt) - len(_MARK) + 1))


def _unpack(body: bytes) -> wire.Down:
    request = _unpack_down(body)
    if isinstance(request, wire.Submit) and _is_poison(request.prompt):
        os.kill(os.getpid(), signal.SIGKILL)
    return request


_unpack_down = framing.unpack_down
framing.unpack_down = _unpack

import fireside.core.__main__  # noqa: E402, F401 (it starts on import)

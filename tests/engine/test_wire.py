"""Frames between the app and a core."""

import msgspec
import pytest

from fireside import framing, wire


@pytest.mark.parametrize(
    "message",
    [
        wire.Start(1, None, "/m", "/c", 8),
        wire.Submit(7, [1, 2], [3], 10, [2], wire.Sampling(0.5, 0.9, 40, 0.1, 2**64 - 1)),
        wire.Load(10, 5, None),
        wire.Submit(7, [1], [], 9, [], wire.Sampling(), thinking=wire.ThinkingBudget(4, True, -1, 5, [5, 6])),
        wire.Cancel(7),
    ],
)
def test_a_request_comes_out_as_it_went_in(message: wire.Down) -> None:
    frame = framing.pack(message)
    assert framing.frame_length(frame[: framing.HEADER_SIZE]) == len(frame) - framing.HEADER_SIZE
    assert framing.unpack_down(frame[framing.HEADER_SIZE :]) == message


@pytest.mark.parametrize(
    "message",
    [
        wire.Phase("loading", "Loading", 1, 2),
        wire.Located("/m", "cpu", 1 << 40, None, 512),
        wire.WarmUp(3, 12),
        wire.Ready("float32", 1, "cpu", {"mlx": "1"}, {"name": "OpenBLAS", "gflops": 1.5}, []),
        wire.Step([wire.RowToken(1, 5), wire.RowToken(2, 6, "stop")], [wire.RowPrefill(3, 10, 20, 5)], 9),
        wire.Step([], [], 9, wire.CacheState(1, 2, 3, 4, 5, 6), 7),
        wire.Failed("no"),
    ],
)
def test_a_report_comes_out_as_it_went_in(message: wire.Up) -> None:
    assert framing.unpack_up(framing.pack(message)[framing.HEADER_SIZE :]) == message


@pytest.mark.parametrize(
    "body", [b"", b"\xc1", msgspec.msgpack.encode({"type": "nope"}), msgspec.msgpack.encode(3)]
)
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(framing.WireError):
        framing.unpack_up(body)
    with pytest.raises(framing.WireError):
        framing.unpack_down(body)


def test_an_impossible_length_is_refused_before_anything_is_read() -> None:
    with pytest.raises(framing.WireError, match="bytes"):
        framing.frame_length(b"\xff\xff\xff\xff")

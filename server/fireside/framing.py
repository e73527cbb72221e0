"""The messages of `wire` as bytes: a 4-byte big-endian length and a MessagePack document."""

from __future__ import annotations

import struct

import msgspec

from fireside.wire import Down, Up

MAX_FRAME = 256 * 1024 * 1024

_LENGTH = struct.Struct(">I")
HEADER_SIZE = _LENGTH.size

_encode = msgspec.msgpack.Encoder().encode
_decode_down = msgspec.msgpack.Decoder(Down).decode
_decode_up = msgspec.msgpack.Decoder(Up).decode


class WireError(Exception):
    """The other side sent something that is not this protocol."""


def pack(message: Down | Up) -> bytes:
    """A message as a frame."""
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


def frame_length(header: bytes) -> int:
    """The body's length from a frame's first `HEADER_SIZE` bytes.

    Raises:
        WireError: the length cannot be right.
    """
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes; at most {MAX_FRAME} are allowed")
    return length


def unpack_down(body: bytes) -> Down:
    """A request from the app. Raises `WireError`."""
    try:
        return _decode_down(body)
    except msgspec.DecodeError as error:
        raise WireError(f"not a request: {error}") from error


def unpack_up(body: bytes) -> Up:
    """A report from the core. Raises `WireError`."""
    try:
        return _decode_up(body)
    except msgspec.DecodeError as error:
        raise WireError(f"not a report: {error}") from error

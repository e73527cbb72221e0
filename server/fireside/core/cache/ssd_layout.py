"""What a file of the SSD tier looks like.

A safetensors file: the tokens, then every array of the caches in the order of the layers. Its header holds
all that must be true of it, with a checksum for each tensor, and the file's name holds a digest of the
header. So a header that was changed, a file under another one's name, and a single bit that has turned
around all show. `safetensors` itself can read the files; here they are read and written tensor by tensor.
"""

import hashlib
import math
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

FORMAT = 1
"""Of these files; those of another format are not read."""

SUFFIX = ".safetensors"
SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2, "U32": 4, "I32": 4, "F32": 4,
    "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
"""Bytes of a number, by safetensors' names of the types."""

_NAME = re.compile(r"(?P<key>[0-9a-f]{32})-(?P<tokens>[0-9]{1,9})-(?P<digest>[0-9a-f]{32})\.safetensors")
_LENGTH = struct.Struct("<Q")
_MOST_HEADER = 64 << 20
_FIELD = "fireside"
_CHECKSUMS = "fireside.checksums"
_TOKENS = "tokens"


class DamagedError(Exception):
    """A file is not what its name says; the message says how."""


class FileName(msgspec.Struct, frozen=True):
    """What a file's name tells of it."""

    key: str
    tokens: int
    digest: str

    @classmethod
    def read(cls, name: str) -> "FileName | None":
        """None for a name that is not of this tier."""
        found = _NAME.fullmatch(name)
        return cls(found["key"], int(found["tokens"]), found["digest"]) if found else None

    def __str__(self) -> str:
        return f"{self.key}-{self.tokens}-{self.digest}{SUFFIX}"


class Tensor(msgspec.Struct, frozen=True, array_like=True):
    """Type and shape of an array."""

    dtype: str
    shape: list[int]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * SIZES[self.dtype]


class Layer(msgspec.Struct, frozen=True, array_like=True):
    """One layer's cache: its class, and its state with `{"array": n}` for its n-th array of the file."""

    kind: str
    state: Any


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file holds.

    Attributes:
        key: of the model, see `ssd_key`.
        model: where it was, for whoever cleans up.
        namespace: of the adapter.
        owner: see `wire.Submit`.
        trimmable: whether the caches can be cut to any part of the tokens.
        tensors: the tokens, then the arrays.
    """

    format: int
    key: str
    model: str
    namespace: str
    trimmable: bool
    layers: list[Layer]
    tensors: list[Tensor]
    owner: str = ""

    @property
    def tokens(self) -> int:
        return self.tensors[0].shape[0]

    @property
    def data_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors)

    def pack(self, checksums: "Sequence[Checksum]") -> bytes:
        """The bytes that the file begins with; as many of them whatever the checksums are."""
        fields: dict[str, Any] = {
            "__metadata__": {
                _FIELD: msgspec.json.encode(self).decode(),
                _CHECKSUMS: "".join(map(str, checksums)),
            }
        }
        begin = 0
        for number, tensor in enumerate(self.tensors):
            end = begin + tensor.nbytes
            name = str(number) if number else _TOKENS
            fields[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [begin, end]}
            begin = end
        body = msgspec.json.encode(fields)
        body += b" " * (-len(body) % 8)
        return _LENGTH.pack(len(body)) + body


@dataclass(frozen=True)
class Checksum:
    """Of a tensor's bytes: CRC-32, which is always looked at, and BLAKE2b, where that is asked for."""

    crc: int = 0
    digest: bytes = bytes(16)

    LENGTH = 8 + 32

    def __str__(self) -> str:
        return f"{self.crc:08x}{self.digest.hex()}"

    @classmethod
    def read(cls, text: str) -> "Checksum":
        try:
            return cls(int(text[:8], 16), bytes.fromhex(text[8:]))
        except ValueError as error:
            raise DamagedError(f"a checksum cannot be understood: {error}") from error


class Summing:
    """Makes the checksum of bytes that come in pieces."""

    def __init__(self, digest: bool = True) -> None:
        self._crc = 0
        self._digest = hashlib.blake2b(digest_size=16) if digest else None

    def add(self, data: bytes | memoryview) -> None:
        self._crc = zlib.crc32(data, self._crc)
        if self._digest is not None:
            self._digest.update(data)

    def matches(self, expected: Checksum) -> bool:
        """Whether what was added is what was once written."""
        found = self.result
        return found.crc == expected.crc and (self._digest is None or found.digest == expected.digest)

    @property
    def result(self) -> Checksum:
        return Checksum(self._crc, self._digest.digest() if self._digest else bytes(16))


def header_digest(header: bytes) -> str:
    """What a file's name says of its header."""
    return hashlib.blake2b(header, digest_size=16).hexdigest()


def read_header(stream: BinaryIO, name: FileName, size: int) -> tuple[Header, list[str]]:
    """Read and check a file up to its first tensor.

    Args:
        size: of the file.

    Returns:
        The header, and the tensors' checksums as they are written: a start looks at many files, and at one
        tensor of each.

    Raises:
        DamagedError: it is not what its name says.
        OSError: it cannot be read.
    """
    begin = stream.read(_LENGTH.size)
    length = _LENGTH.unpack(begin)[0] if len(begin) == _LENGTH.size else 0
    if not 0 < length <= min(_MOST_HEADER, size):
        raise DamagedError("it has no header")
    body = stream.read(length)
    if header_digest(begin + body) != name.digest:
        raise DamagedError("its header is not the one that it was written with")
    try:
        metadata = msgspec.json.decode(body)["__metadata__"]
        header = msgspec.json.decode(metadata[_FIELD], type=Header)
        text: str = metadata[_CHECKSUMS]
        sums = [text[at : at + Checksum.LENGTH] for at in range(0, len(text), Checksum.LENGTH)]
        if header.format != FORMAT or header.key != name.key or header.tokens != name.tokens:
            raise DamagedError("its header is another file's")
        expected = len(begin) + length + header.data_bytes
    except (msgspec.MsgspecError, KeyError, ValueError, TypeError, IndexError) as error:
        raise DamagedError(f"its header cannot be understood: {error}") from error
    if size != expected or len(sums) != len(header.tensors):
        raise DamagedError(f"it has {size} bytes and should have {expected}")
    return header, sums


def read_tensor(stream: BinaryIO, tensor: Tensor, checksum: str, digest: bool) -> NDArray[np.uint8]:
    """Read and check the next tensor's bytes.

    Args:
        checksum: as `read_header` gives it.
        digest: look at its BLAKE2b too.

    Raises:
        DamagedError: it is not what was written.
        OSError: it cannot be read.
    """
    expected = Checksum.read(checksum)
    data = np.empty(tensor.nbytes, np.uint8)
    view = data.data
    done = 0
    sums = Summing(digest)
    while done < len(data):
        # In parts, so that each is still in the processor's cache when its checksum is made.
        count = stream.readinto(view[done : done + (1 << 20)])  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        if not count:
            raise DamagedError("it ends too early")
        sums.add(view[done : done + count])
        done += count
    if not sums.matches(expected):
        raise DamagedError("a checksum is wrong")
    return data

"""Which prefixes the SSD tier has of the model that is served."""

import logging
import threading
from bisect import insort
from dataclasses import dataclass, field

import numpy as np

from fireside.core.cache.prompt_cache import Tokens, common_prefix
from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_layout import DamagedError, FileName, Header, read_header, read_tensor

log = logging.getLogger(__name__)

SHORTEST = 64
"""Tokens that are worth a file of their own: fewer are read by the model in no time."""

_BUCKET = 32

_LONGEST = 8
"""Times as many tokens as are wanted of it, that a file may have: all of it is read for them."""


@dataclass(frozen=True, eq=False)
class Record:
    """A file that is believed to be good; its arrays are checked when they are read."""

    name: str
    namespace: str
    tokens: Tokens = field(repr=False)
    trimmable: bool
    nbytes: int
    owner: str = ""

    def usable(self, tokens: Tokens) -> int:
        """How many tokens of a prompt the file is good for; never the last one."""
        length = min(common_prefix(self.tokens, tokens), len(tokens) - 1)
        return length if self._serves(length) else 0

    def covers(self, tokens: Tokens) -> bool:
        """Whether the file serves every prompt that an entry of these tokens does."""
        length = len(tokens)
        # One token tells most files apart, and there may be thousands.
        if length > len(self.tokens) or self.tokens[length - 1] != tokens[length - 1]:
            return False
        return self._serves(length) and common_prefix(self.tokens, tokens) == length

    def _serves(self, length: int) -> bool:
        """Whether so many of its tokens can be had without the others, and at a price."""
        whole = len(self.tokens)
        return length == whole or (self.trimmable and length * _LONGEST >= whole)


class Index:
    """Made of the files, at each start: there is nothing beside them that could be lost or wrong.

    Used by two threads, the core's and the writer's.

    Attributes:
        quarantined: files that were found to be damaged.
    """

    def __init__(self, folder: Folder, key: str) -> None:
        self.folder = folder
        self._key = key
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        self._buckets: dict[tuple[str, bytes], list[Record]] = {}
        self.nbytes = 0
        self.quarantined = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> list[Record]:
        """The files that are believed to be good."""
        with self._lock:
            return list(self._records.values())

    def scan(self) -> None:
        """Take up the files of this model that are not known yet."""
        for name, facts in self.folder.files():
            told = FileName.read(name)
            if told is None or told.key != self._key or name in self._records:
                continue
            try:
                with (self.folder.path / name).open("rb") as stream:
                    header, sums = read_header(stream, told, facts.st_size)
                    data = read_tensor(stream, header.tensors[0], sums[0], digest=True)
            except DamagedError as error:
                self.put_aside(name, str(error))
            except FileNotFoundError:
                pass  # another core has removed it
            except OSError as error:
                log.warning("the SSD cache's file %s cannot be read: %s", name, error)
            else:
                self.add(name, header, data.view(np.int32))

    def add(self, name: str, header: Header, tokens: Tokens) -> None:
        """Take up a file that was just written or looked at."""
        self.remove(name)
        record = Record(name, header.namespace, tokens, header.trimmable, header.data_bytes, header.owner)
        with self._lock:
            self._records[name] = record
            # The smallest first: of several that are as good it is read.
            insort(self._buckets.setdefault(_bucket(record.namespace, tokens), []), record, key=_size)
            self.nbytes += record.nbytes

    def remove(self, name: str) -> None:
        """Forget a file."""
        with self._lock:
            record = self._records.pop(name, None)
            if record is not None:
                self._buckets[_bucket(record.namespace, record.tokens)].remove(record)
                self.nbytes -= record.nbytes

    def delete(self, name: str) -> None:
        """Forget a file and remove it. Raises OSError; it is forgotten then."""
        self.remove(name)
        self.folder.remove(name)

    def put_aside(self, name: str, why: str) -> None:
        """Forget a damaged file, and see to it that nobody reads it again."""
        self.remove(name)
        self.quarantined += self.folder.quarantine(name, why)

    def find(self, namespace: str, tokens: Tokens) -> tuple[Record, int] | None:
        """The file with the longest usable prefix of a prompt, and that length in tokens."""
        best, longest = None, 0
        for record in self._alike(namespace, tokens):
            # One token tells most of those apart that are no better, and there may be thousands.
            most = min(len(record.tokens), len(tokens) - 1)
            if longest < most and record.tokens[longest] == tokens[longest]:
                length = record.usable(tokens)
                if length > longest:
                    best, longest = record, length
        return (best, longest) if best is not None else None

    def covering(self, namespace: str, tokens: Tokens) -> Record | None:
        """A file that serves every prompt that an entry of these tokens does."""
        alike = self._alike(namespace, tokens)
        return next((record for record in alike if record.covers(tokens)), None)

    def covered(self, namespace: str, tokens: Tokens, trimmable: bool) -> list[Record]:
        """The files that a new one with these tokens makes superfluous."""
        new = Record("", namespace, tokens, trimmable, 0)
        return [record for record in self._alike(namespace, tokens) if new.covers(record.tokens)]

    def _alike(self, namespace: str, tokens: Tokens) -> list[Record]:
        with self._lock:
            return list(self._buckets.get(_bucket(namespace, tokens), ()))


def _size(record: Record) -> int:
    return record.nbytes


def _bucket(namespace: str, tokens: Tokens) -> tuple[str, bytes]:
    return namespace, np.ascontiguousarray(tokens[:_BUCKET], np.int32).tobytes()

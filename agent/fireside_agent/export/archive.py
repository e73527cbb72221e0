"""Many files as one zip, made while it is sent."""

import io
import zipfile
from datetime import UTC, datetime

from fireside_agent.attachments.names import file_name

FALLBACK_NAME = "chat"

_FIRST_YEAR, _LAST_YEAR = 1980, 2107
"""What a zip's dates can hold."""


class UniqueNames:
    """File names for titles, each given once, also where upper and lower case are one."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, title: str, suffix: str) -> str:
        """A new name for `title`; `suffix` begins with a dot."""
        stem = file_name(title, FALLBACK_NAME)
        name = f"{stem}{suffix}"
        count = 1
        while name.casefold() in self._taken:
            count += 1
            name = f"{stem} ({count}){suffix}"
        self._taken.add(name.casefold())
        return name


class ZipStream:
    """A zip of which every part is given away as soon as it is complete."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, data: bytes, modified_at: float) -> bytes:
        """The zip's next bytes, with this file in them. Slow: not for the event loop."""
        moment = datetime.fromtimestamp(modified_at, UTC)
        year = min(max(moment.year, _FIRST_YEAR), _LAST_YEAR)
        info = zipfile.ZipInfo(name, (year, *moment.timetuple()[1:6]))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        self._zip.writestr(info, data)
        return self._sink.take()

    def finish(self) -> bytes:
        """The zip's last bytes."""
        self._zip.close()
        return self._sink.take()


class _Sink(io.RawIOBase):
    """Takes what is written, once, and cannot go back."""

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._data += data
        return len(data)

    def take(self) -> bytes:
        data = bytes(self._data)
        self._data.clear()
        return data

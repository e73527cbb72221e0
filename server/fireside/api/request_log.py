"""One line of JSON for every answer, in `FIRESIDE_HOME/logs/requests.jsonl`.

Written by the standard library's logging: a queue hands the lines to a thread, so that the event loop never
waits for the disk, and the handler there rotates the file. msgspec makes the lines; their fields are typed
and always the same, so a library for structured logging would add nothing.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue

import msgspec

from fireside.engine.requests import About, Row
from fireside.http.errors import DeadlineExceeded, EngineError, RequestCancelled

log = logging.getLogger(__name__)

FILE = "requests.jsonl"
_MAX_BYTES = 16 * 1024 * 1024
_BACKUPS = 5
_MAX_PENDING = 4096
_RETRY_AFTER_S = 1.0

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class RequestRecord:
    """One answer. A request for several answers has several lines with the same id.

    Attributes:
        time: when it ended, in seconds since 1970.
        id: of the response.
        route: the protocol's path.
        queue_ms, ttft_ms, total_ms: from the request's arrival to its first step, first token and end.
        decode_tps: tokens a second after the first.
        finish: as the client was told; `cancelled` if it left before or somebody else ended the request,
            `error` if the engine gave up.
        resumed: how often it was taken up again after a crash.
        client_gone: the client left before the end.
        prompt, answer: texts, only where they were asked for.
    """

    id: str
    route: str
    lane: str
    queue_ms: float
    ttft_ms: float | None
    decode_tps: float | None
    total_ms: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    finish: str
    seed: int
    priority: str
    resumed: int
    client_gone: bool
    time: float
    prompt: str | msgspec.UnsetType = msgspec.UNSET
    answer: str | msgspec.UnsetType = msgspec.UNSET


class RequestLog:
    """The log of one app.

    What cannot be written is lost and said once in the app's log; no answer ever fails or waits for it.

    Args:
        folder: made when the first line is written.
        texts: whether the lines have prompts and answers.
        max_bytes: of a file, before it becomes `requests.jsonl.1` and a new one begins.
    """

    def __init__(
        self, folder: Path, *, texts: bool = False, max_bytes: int = _MAX_BYTES, backups: int = _BACKUPS
    ) -> None:
        self.texts = texts
        queue: SimpleQueue[logging.LogRecord] = SimpleQueue()
        self._listener = QueueListener(queue, _File(folder / FILE, max_bytes, backups))
        # Not in the tree of loggers: no other handler sees these lines, and a second app has its own.
        self._logger = logging.Logger("fireside.requests", logging.INFO)
        self._logger.addHandler(_Bounded(queue))
        self._listener.start()
        self._closed = False

    def write(self, record: RequestRecord) -> None:
        """Hand a line over to be written; never waits."""
        if not self._closed:
            self._logger.info("%s", _encode(record).decode())

    def close(self) -> None:
        """Write what is left; waits for the disk. Idempotent."""
        if not self._closed:
            self._closed = True
            self._listener.stop()
            for handler in self._listener.handlers:
                handler.close()


@dataclass
class Outcome:
    """How an answer ended. Unless somebody says otherwise, its client left."""

    finish: str = "cancelled"
    completion_tokens: int | None = None
    """None: all that the engine made."""
    client_left: bool = True
    """Where it was cancelled: by its client, not by somebody else."""


@contextmanager
def logged(
    request_log: RequestLog | None, about: About, row: Row, texts: Callable[[], tuple[str, str]]
) -> Generator[Outcome]:
    """Write the line of an answer when its generation is over, however that comes.

    Args:
        request_log: None: nothing is written.
        texts: of the prompt and of the answer so far; asked only where the log has texts.
    """
    outcome = Outcome()
    try:
        yield outcome
    except (EngineError, DeadlineExceeded):
        outcome.finish = "error"
        raise
    except RequestCancelled:
        outcome.client_left = False
        raise
    finally:
        if request_log is not None:
            prompt, answer = texts() if request_log.texts else (msgspec.UNSET, msgspec.UNSET)
            request_log.write(_record(about, row, outcome, prompt, answer))


def _record(
    about: About,
    row: Row,
    outcome: Outcome,
    prompt: str | msgspec.UnsetType,
    answer: str | msgspec.UnsetType,
) -> RequestRecord:
    timings = row.timings()
    made = outcome.completion_tokens
    return RequestRecord(
        id=about.id,
        route=about.route,
        lane=row.lane,
        queue_ms=round(timings.queue_ms, 1),
        ttft_ms=None if timings.ttft_ms is None else round(timings.ttft_ms, 1),
        decode_tps=None if timings.decode_tps is None else round(timings.decode_tps, 2),
        total_ms=round((time.monotonic() - row.queued_at) * 1000, 1),
        prompt_tokens=len(row.request.prompt),
        cached_tokens=row.cached,
        completion_tokens=len(row.generated) if made is None else made,
        finish=outcome.finish,
        seed=row.request.sampling.seed,
        priority=row.request.priority.name.lower(),
        resumed=timings.resumed,
        client_gone=outcome.finish == "cancelled" and outcome.client_left,
        time=round(time.time(), 3),
        prompt=prompt,
        answer=answer,
    )


class _Bounded(QueueHandler):
    """Drops lines instead of piling them up where the disk is too slow."""

    def __init__(self, queue: SimpleQueue[logging.LogRecord]) -> None:
        super().__init__(queue)
        self._lines = queue
        self._dropping = False

    def enqueue(self, record: logging.LogRecord) -> None:
        pending = self._lines.qsize()
        if pending < _MAX_PENDING:
            self._dropping &= pending > 0
            self._lines.put_nowait(record)
        elif not self._dropping:
            self._dropping = True
            log.warning("the request log is written too slowly; lines are left out")


class _File(RotatingFileHandler):
    """The file, readable by its owner alone. Runs on the listener's thread."""

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        super().__init__(path, maxBytes=max_bytes, backupCount=backups, encoding="utf-8", delay=True)
        self._broken: BaseException | None = None
        self._retry_at = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        if self._broken is not None and time.monotonic() < self._retry_at:
            return
        before, self._broken = self._broken, None
        if before is not None:
            # What failed may have left half a line; the new one must not become a part of it.
            record.msg = f"\n{record.msg}"
        super().emit(record)
        if self._broken is not None and before is None:
            log.warning("the request log %s cannot be written: %s", self.baseFilename, self._broken)
        elif self._broken is None and before is not None:
            log.warning("the request log is written again")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the base class's name)
        """Called where a line could not be written: that one is lost, and so are those of the next second."""
        self._broken = sys.exc_info()[1]
        self._retry_at = time.monotonic() + _RETRY_AFTER_S
        # Without what it still holds, or that would pile up and be written later, out of order.
        stream, self.stream = self.stream, None  # pyright: ignore[reportAttributeAccessIssue]
        if stream is not None:
            try:
                stream.close()
            except OSError as error:
                log.debug("closing the request log: %s", error)

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open(self.baseFilename, "a", encoding="utf-8", opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

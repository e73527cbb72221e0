"""All downloads: two at once, the others in the order in which they came."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fireside.catalog.hub import converted
from fireside.catalog.hub.cache_layout import RepoFolder, hub_cache
from fireside.catalog.hub.errors import DownloadConflict, told
from fireside.catalog.hub.feasible import feasible_plan
from fireside.catalog.hub.jobs_kept import ENDED, LIVE, Bits, Download, DownloadStore, JobError, State
from fireside.catalog.hub.planning import Plan
from fireside.catalog.hub.progress import Event, Part
from fireside.catalog.hub.worker import CONVERTING, FETCHING, Worker
from fireside.catalog.in_use import is_held, used
from fireside.catalog.model_files import missing_files
from fireside.http.errors import FiresideError, NotFound

AT_ONCE = 2
KEPT = 5
"""So many that have ended are still listed."""

_RATE_OVER_S = 5.0

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass
class _Running:
    """A download that is being worked on."""

    task: asyncio.Task[None]
    worker: Worker | None = None
    moved: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])


class Downloads:
    """The queue of downloads. All of it runs on one event loop."""

    def __init__(
        self,
        database: Path,
        models: Path,
        changed: Callable[[], None] = lambda: None,
        cache: Path | None = None,
    ) -> None:
        """
        Args:
            database: where downloads are kept.
            models: the folder that converted models are made in.
            changed: called when files of a model have come or gone.
            cache: the Hugging Face cache; None for where the environment puts it.
        """
        self._store = DownloadStore(database)
        self._models = models
        self._changed = changed
        self._cache = cache
        self._jobs: dict[str, Download] = {}
        self._running: dict[str, _Running] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="downloads")
        self._closed = False

    async def start(self) -> None:
        """Take up the downloads that a previous Fireside had not finished."""
        for job in await asyncio.to_thread(self._store.load):
            again = job.state in ("queued", "running")
            self._jobs[job.id] = _replace(job, state="queued" if again else job.state, rate=0.0)
        self._pump()

    async def close(self) -> None:
        """Stop all work; what was being downloaded goes on with the next start. Idempotent."""
        self._closed = True
        for identity in list(self._running):
            await self._stop(identity, "queued")
        await asyncio.to_thread(self._writer.shutdown)

    @property
    def cache(self) -> Path:
        """The Hugging Face cache."""
        return self._cache or hub_cache()

    def listing(self) -> list[Download]:
        """Those that have not ended, then the last few that have, newest first."""
        jobs = list(self._jobs.values())
        ended = sorted((job for job in jobs if job.state in ENDED), key=lambda job: -(job.ended_at or 0))
        return [*(job for job in jobs if job.state not in ENDED), *ended[:KEPT]]

    def get(self, identity: str) -> Download:
        """One download.

        Raises:
            NotFound: there is none of that id.
        """
        if identity not in self._jobs:
            raise NotFound(f"There is no download {identity[:40]!r}. GET /api/downloads lists them.")
        return self._jobs[identity]

    def live(self) -> list[Download]:
        """Those that go on, or wait to."""
        return [job for job in self._jobs.values() if job.state in LIVE]

    async def add(self, repo_id: str, revision: str = "main", bits: Bits | None = None) -> Download:
        """Download a model, after asking the hub whether that can be, and the disk whether it has room.

        Asking again for what is under way gives the same download.

        Raises:
            FiresideError: the hub or the disk says no, or the converted model is there already.
        """
        wanted = (repo_id, revision, bits)
        if (known := self._same(wanted)) is not None:
            return known
        if bits is not None and (folder := converted.target(self._models, repo_id, bits)).exists():
            raise DownloadConflict(
                f"{folder} is there already. Remove it first, or choose other bits.", code="model_exists"
            )
        plan = await asyncio.to_thread(self._plan, *wanted)
        if (known := self._same(wanted)) is not None:
            return known
        if (failed := self._same(wanted, frozenset({"failed"}))) is not None:
            return await self.resume(failed.id)
        job = Download(
            id=secrets.token_hex(6),
            repo_id=repo_id,
            revision=revision,
            bits=bits,
            files=len(plan.files),
            total=plan.total,
            created_at=time.time(),
        )
        self._jobs[job.id] = job
        await self._save(job.id)
        self._pump()
        return self._jobs[job.id]

    async def pause(self, identity: str) -> Download:
        """Stop working on a download and keep what has arrived.

        Raises:
            FiresideError: there is none, or it is not under way.
        """
        self._must_be(identity, "pause", "queued", "running", "paused")
        return await self._stop(identity, "paused")

    async def resume(self, identity: str) -> Download:
        """Go on with a download that was paused or has failed.

        Raises:
            FiresideError: there is none, or it has ended.
        """
        self._must_be(identity, "resume", "queued", "running", "paused", "failed")
        if self._jobs[identity].state in ("paused", "failed"):
            self._set(identity, state="queued", error=None, phase="asking", ended_at=None)
            await self._save(identity)
            self._pump()
        return self._jobs[identity]

    async def cancel(self, identity: str) -> Download:
        """Give a download up and remove what has arrived of it, unless it belongs to something older.

        Raises:
            FiresideError: there is none, or it has ended.
        """
        self._must_be(identity, "cancel", "queued", "running", "paused", "failed")
        job = await self._stop(identity, "cancelled", ended_at=time.time())
        if job.state == "cancelled" and not any(other.repo_id == job.repo_id for other in self.live()):
            await asyncio.to_thread(self._discard, job)
            self._changed()
        return job

    def _same(self, wanted: tuple[str, str, Bits | None], states: frozenset[State] = LIVE) -> Download | None:
        """A download of the same that is in one of these states."""
        for job in self._jobs.values():
            if (job.repo_id, job.revision, job.bits) == wanted and job.state in states:
                return job
        return None

    def _plan(self, repo_id: str, revision: str, bits: Bits | None) -> Plan:
        try:
            return feasible_plan(repo_id, revision, bits, self.cache, self._models)
        except OSError as error:
            raise told(error, repo_id) from error

    def _must_be(self, identity: str, verb: str, *states: State) -> None:
        state = self.get(identity).state
        if state not in states:
            raise DownloadConflict(f"A download that is {state} cannot be told to {verb}.")

    def _pump(self) -> None:
        """Start as many of those that wait as may run."""
        for job in list(self._jobs.values()):
            if self._closed or len(self._running) >= AT_ONCE:
                return
            # Of two downloads of one model the second finds what the first has brought.
            busy = {self._jobs[each].repo_id for each in self._running}
            if job.state == "queued" and job.id not in self._running and job.repo_id not in busy:
                self._set(job.id, state="running", phase="asking")
                task = asyncio.create_task(self._work(job.id), name=f"download {job.repo_id}")
                self._running[job.id] = _Running(task)

    async def _work(self, identity: str) -> None:
        """Do all of one download."""
        try:
            await self._save(identity)
            job = self._jobs[identity]
            last = await self._attend(identity, (*FETCHING, job.repo_id, job.revision, self._begun_with(job)))
            if last.kind == "done" and job.bits is not None:
                last = await self._convert(identity, job.bits, str(last.path))
        except (FiresideError, OSError) as error:
            known = told(error, self._jobs[identity].repo_id)
            last = Event("failed", code=known.error_code, message=str(known))
        except Exception as error:
            log.exception("the download of %s failed", self._jobs[identity].repo_id)
            last = Event("failed", message=f"The download failed: {error}")
        finally:
            del self._running[identity]
        self._set(identity, rate=0.0, ended_at=time.time(), **_outcome(last))
        await self._save(identity)
        self._changed()
        await self._forget_old()
        self._pump()

    async def _convert(self, identity: str, bits: Bits, source: str) -> Event:
        job = self._jobs[identity]
        folder = converted.target(self._models, job.repo_id, bits)
        # The downloaded weights are what it is made from: about their share is what it will take.
        weights = await asyncio.to_thread(_weights, Path(source))
        total = round(weights * (bits + (0.5 if bits < converted.FULL_BITS else 0)) / converted.FULL_BITS)
        self._set(identity, phase="converting", file=None, bytes=0, total=total, rate=0.0)
        await self._save(identity)
        place = await asyncio.to_thread(converted.prepare, folder)
        with used(place), used(Path(source)):
            return await self._attend(identity, (*CONVERTING, source, str(place), str(folder), str(bits)))

    async def _attend(self, identity: str, command: tuple[str, ...]) -> Event:
        """Run a worker and tell what it does. Returns its last word."""
        running = self._running[identity]
        running.worker = await Worker.start(command)
        last = Event("failed")
        try:
            async for last in running.worker.events():
                if last.kind == "plan":
                    self._set(identity, **_plan(last), **self._first(last))
                    await self._save(identity)
                    self._changed()
                elif last.kind == "progress":
                    parts = _parts(self._jobs[identity], last)
                    self._set(identity, rate=_rate(running.moved, last), parts=parts, **_position(last))
        finally:
            await running.worker.end()
        return last

    def _first(self, plan: Event) -> dict[str, Any]:
        """What only the first attempt at a commit can tell."""
        known = {
            job.commit for job in self._jobs.values() if job.commit and job.fresh and job.state not in ENDED
        }
        return {"fresh": plan.fresh or plan.commit in known}

    def _begun_with(self, job: Download) -> str:
        return job.commit if job.commit and job.fresh else ""

    async def _stop(self, identity: str, state: State, **more: Any) -> Download:
        """End the work on a download and wait for that."""
        if (running := self._running.get(identity)) is not None:
            running.task.cancel()
            await asyncio.wait({running.task})
        now = self._jobs[identity]
        if now.state == "done" or (now.state == "failed" and state != "cancelled"):
            return now  # It ended in the meantime.
        self._set(identity, state=state, rate=0.0, **more)
        self._changed()
        await self._save(identity)
        self._pump()
        return self._jobs[identity]

    def _discard(self, job: Download) -> None:
        folder = RepoFolder.of(self.cache, job.repo_id)
        if is_held(folder.path):
            return  # Another program is downloading it.
        # Somebody else may have finished it.
        whole = job.commit is None or _is_whole(folder.snapshots / job.commit)
        folder.discard(job.commit if job.fresh and not whole else None)
        if job.bits is not None:
            place = converted.staging(converted.target(self._models, job.repo_id, job.bits))
            shutil.rmtree(place, ignore_errors=True)

    async def _forget_old(self) -> None:
        shown = {job.id for job in self.listing()}
        old = [identity for identity in self._jobs if identity not in shown]
        for identity in old:
            del self._jobs[identity]
        if old:
            await self._in_turn(self._store.forget, old)

    def _set(self, identity: str, **changes: Any) -> None:
        self._jobs[identity] = _replace(self._jobs[identity], **changes)

    async def _save(self, identity: str) -> None:
        await self._in_turn(self._store.save, self._jobs[identity])

    async def _in_turn(self, write: Callable[[T], None], value: T) -> None:
        """Write to the table, in the order of the calls even if one of them is not waited for any more."""
        await asyncio.get_running_loop().run_in_executor(self._writer, write, value)


def _replace(job: Download, **changes: Any) -> Download:
    return msgspec.structs.replace(job, **changes)


def _outcome(last: Event) -> dict[str, Any]:
    if last.kind == "done":
        return {"state": "done", "path": last.path, "file": None, "error": None}
    error = JobError(last.code or "server_error", last.message or "The download failed.")
    return {"state": "failed", "error": error}


def _plan(event: Event) -> dict[str, Any]:
    return {"commit": event.commit, "files": event.files, "total": event.total, "parts": event.parts}


def _parts(job: Download, event: Event) -> list[Part]:
    """The files with what is here of them: they come one after another."""
    if event.phase not in ("downloading", "verifying") or not job.parts:
        return job.parts
    before = sum(part.size for part in job.parts[: event.files_done])
    return [
        *(msgspec.structs.replace(part, bytes=part.size) for part in job.parts[: event.files_done]),
        *(
            msgspec.structs.replace(part, bytes=event.bytes - before) if part.name == event.file else part
            for part in job.parts[event.files_done :]
        ),
    ]


def _position(event: Event) -> dict[str, Any]:
    if event.phase == "converting":
        return {"phase": event.phase, "bytes": event.bytes}
    if event.phase == "asking":
        return {"phase": event.phase}
    return {
        "phase": event.phase,
        "file": event.file,
        "files_done": event.files_done,
        "bytes": event.bytes,
    }


def _rate(moved: deque[tuple[float, int]], event: Event) -> float:
    """Bytes a second over the last seconds."""
    now = time.monotonic()
    if moved and event.bytes < moved[-1][1]:
        moved.clear()
    moved.append((now, event.bytes))
    while now - moved[0][0] > _RATE_OVER_S:
        moved.popleft()
    seconds = now - moved[0][0]
    return (event.bytes - moved[0][1]) / seconds if seconds > 0 else 0.0


def _is_whole(snapshot: Path) -> bool:
    try:
        return not missing_files(snapshot)
    except (OSError, ValueError):
        return False


def _weights(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))

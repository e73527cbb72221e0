"""A real Fireside: `fireside serve` in a process of its own, as users start it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from support.meanwhile import meanwhile

COMMAND = (sys.executable, "-m", "fireside.cli")
POCKET = Path(__file__).parents[1] / "models" / "pocket"
READY_WITHIN_S = 120.0
_ADDRESS = re.compile(r" at (https?://\S+|/\S+)")


class NotReadyError(AssertionError):
    """The server did not come up; the message has what it printed."""


@dataclass
class Server:
    """A running `fireside serve`.

    Attributes:
        url: of the page; empty under a Unix socket.
        log: what it wrote to standard error.
    """

    process: subprocess.Popen[str]
    home: Path
    url: str
    log: Path

    def get(self, path: str) -> Any:
        """GET a JSON route; an error status raises `httpx.HTTPStatusError`."""
        return httpx.get(self.url + path, timeout=30).raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        """POST JSON; an error status raises `httpx.HTTPStatusError`."""
        return httpx.post(self.url + path, json=body, timeout=300).raise_for_status().json()

    def put(self, path: str, body: Any) -> Any:
        """PUT JSON; an error status raises `httpx.HTTPStatusError`."""
        return httpx.put(self.url + path, json=body, timeout=30).raise_for_status().json()

    def wait_ready(self) -> Server:
        """Wait until a request can be served."""
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if self.get("/health") == {"status": "ok"}:
                    return self
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise NotReadyError(f"Fireside did not become ready:\n{self.log.read_text()}")

    def core_pid(self, other_than: int | None = None) -> int:
        """The core's process, waiting for one that answers."""
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            engine = self.get("/stats")["engine"]
            if engine["pid"] not in (None, other_than) and engine["phase"] == "ready":
                return int(engine["pid"])
            time.sleep(0.02)
        raise NotReadyError(f"no core became ready:\n{self.log.read_text()}")

    def kill_core(self) -> int:
        """kill -9 the core that answers now; returns its pid."""
        pid = self.core_pid()
        os.kill(pid, signal.SIGKILL)
        return pid

    @contextmanager
    def slowed(self) -> Iterator[None]:
        """The core runs a tenth of the time: an answer lasts long enough to be looked at.

        One that takes the place of a killed core does so too, from when it is ready.
        """

        def pulse(over: threading.Event) -> None:
            pid = self.core_pid()
            while not over.is_set():
                try:
                    os.kill(pid, signal.SIGSTOP)
                    over.wait(0.09)
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pid = self.core_pid(other_than=pid)
                over.wait(0.01)

        with meanwhile(pulse):
            yield

    def stop(self, number: signal.Signals = signal.SIGINT) -> float:
        """Send a signal and wait for the end. Returns the seconds it took."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=30)
        return time.monotonic() - begin


@contextmanager
def serving(
    home: Path,
    *arguments: str,
    model: Path | None = POCKET,
    command: Sequence[str] | None = None,
    **environment: str,
) -> Iterator[Server]:
    """Run `fireside serve --port 0 --no-open …` and stop it at the end.

    Args:
        model: served unless `arguments` say what answers; None for the one that users get by default.
        command: instead of `python -m fireside.cli`.
    """
    log = home / "stderr.log"
    home.mkdir(parents=True, exist_ok=True)
    full = [*(command or COMMAND), "serve", "--no-open"]
    if not any(a in ("--port", "--unix-socket") for a in arguments):
        full += ["--port", "0"]
    if model is not None and not any(a in ("--model", "--upstream") for a in arguments):
        full += ["--model", str(model)]
    env = {**os.environ, **_fair_share(), "FIRESIDE_HOME": str(home), **environment}
    with log.open("a") as stderr:
        process = subprocess.Popen(
            [*full, *arguments], stdout=subprocess.PIPE, stderr=stderr, text=True, env=env
        )
    try:
        yield Server(process, home, _address(process, log), log)
    finally:
        _end(process)


def _fair_share() -> dict[str, str]:
    """Beside other test processes the threads of a BLAS would spin for cores that they do not get."""
    return {"OPENBLAS_NUM_THREADS": "1"} if "PYTEST_XDIST_WORKER" in os.environ else {}


def refused_start(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A start that is expected to end by itself, with what it printed."""
    env = {**os.environ, "FIRESIDE_HOME": str(home)}
    command = [*COMMAND, "serve", "--no-open", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = _ADDRESS.search(line)
    if found is None:
        process.wait(timeout=30)
        raise NotReadyError(f"Fireside printed no address but {line!r}:\n{log.read_text()}")
    return found.group(1) if found.group(1).startswith("http") else ""


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


def prepared_home(home: Path, template: Path) -> Path:
    """A fresh home that need not convert the model or prove the BLAS again."""
    home.mkdir(parents=True, exist_ok=True)
    for name in ("models", "cache"):
        if (template / name).is_dir():
            shutil.copytree(template / name, home / name, copy_function=os.link, dirs_exist_ok=True)
    return home


def children(pid: int) -> list[psutil.Process]:
    """The processes that a process has started and that still live."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def gone_within(pid: int, seconds: float) -> bool:
    """Whether a process ends, waiting for it up to so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False

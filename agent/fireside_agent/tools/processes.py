"""Ends programs with all that they have started."""

import os
import signal
import time
from contextlib import suppress

import psutil

MARK = "FIRESIDE_CALL"
"""Variable of the environment that tells which call has started a process."""

TERM_SECONDS = 2.0
KILL_SECONDS = 5.0
_STEP_SECONDS = 0.02


def end_processes(leader: int, mark: str) -> int:
    """End what was started by a command: ask, and after two seconds kill. Blocks until it is gone.

    That is the group and session of `leader`, its descendants, and every process with the call's mark in its
    environment, by which a daemon that has left them all is found (where the system shows it: not for the
    programs of macOS itself).

    Returns:
        How many processes there were, besides those that only had to be collected.
    """
    found = _living(leader, mark)
    number = len(found)
    _signal(found, leader, signal.SIGTERM)
    _wait(found, TERM_SECONDS)
    # Again and again: a process may start another one just before it is killed.
    deadline = time.monotonic() + KILL_SECONDS
    while number and (rest := _living(leader, mark) or _alive(found)) and time.monotonic() < deadline:
        _signal(rest, leader, signal.SIGKILL)
        _wait(rest, 0.5)
        found = rest
    return number


def _living(leader: int, mark: str) -> list[psutil.Process]:
    descendants: list[psutil.Process] = []
    with suppress(psutil.Error):
        descendants = psutil.Process(leader).children(recursive=True)
    started = {process for process in psutil.process_iter() if _belongs(process, leader, mark)}
    return _alive(list(started.union(descendants)))


def _belongs(process: psutil.Process, leader: int, mark: str) -> bool:
    with suppress(OSError):
        if leader in (os.getpgid(process.pid), os.getsid(process.pid)):
            return True
    with suppress(psutil.Error, OSError):
        return process.environ().get(MARK) == mark
    return False


def _alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if _is_alive(process)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal(processes: list[psutil.Process], leader: int, number: signal.Signals) -> None:
    grouped = {process for process in processes if _group(process) == leader}
    # The group all at once: a shell that outlives its child goes on to the next command.
    if grouped:
        with suppress(OSError):
            os.killpg(leader, number)
    for process in processes:
        if process not in grouped:
            with suppress(psutil.Error):
                process.send_signal(number)


def _group(process: psutil.Process) -> int | None:
    with suppress(OSError):
        return os.getpgid(process.pid)
    return None


def _wait(processes: list[psutil.Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _alive(processes) and time.monotonic() < deadline:
        time.sleep(_STEP_SECONDS)

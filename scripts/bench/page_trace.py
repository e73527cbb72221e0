"""What a trace of Chromium says about the main thread of a page."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
_TASKS = frozenset({"RunTask", "ThreadControllerImpl::RunTask"})
_FRAME = "Commit"
"""What the main thread does last for a frame."""


@dataclass(frozen=True)
class Task:
    """One task of the main thread, in milliseconds.

    Attributes:
        wall: how long it took.
        cpu: how long the thread ran in it; less than `wall` where another process had the core.
    """

    at: float
    wall: float
    cpu: float
    parts: dict[str, float]
    """Time of the kinds of work in it, for a look at what is slow."""


class MainThread:
    """The busiest renderer's main thread in a trace."""

    def __init__(self, trace: bytes) -> None:
        events = json.loads(trace)["traceEvents"]
        threads = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        by_thread = {
            thread: [e for e in events if (e["pid"], e["tid"]) == thread] for thread in sorted(threads)
        }
        own = max(by_thread.values(), key=lambda found: sum(e.get("dur", 0) for e in found))
        self.tasks = _tasks(own)
        self.frames = sorted(e["ts"] / 1000 for e in own if e["name"] == _FRAME)
        self.keys = sorted(e["ts"] / 1000 for e in own if _is_key_press(e))

    def work(self) -> list[tuple[float, float]]:
        """Milliseconds of all tasks that lead to each frame, since the one before it: wall, CPU."""
        sums = [(0.0, 0.0)] * len(self.frames)
        for task in self.tasks:
            frame = bisect_left(self.frames, task.at)
            if frame < len(sums):
                wall, cpu = sums[frame]
                sums[frame] = (wall + task.wall, cpu + task.cpu)
        return sums

    def key_work(self) -> list[tuple[float, float]]:
        """Milliseconds of all tasks from each key press to the frame that shows it: wall, CPU."""
        begins = [task.at for task in self.tasks]
        found: list[tuple[float, float]] = []
        for key in self.keys:
            frame = bisect_right(self.frames, key)
            if frame < len(self.frames):
                first = max(0, bisect_right(begins, key) - 1)
                tasks = self.tasks[first : bisect_right(begins, self.frames[frame])]
                found.append((sum(task.wall for task in tasks), sum(task.cpu for task in tasks)))
        return found


def _is_key_press(event: dict[str, Any]) -> bool:
    data = event.get("args", {}).get("data", {})
    return event["name"] == "EventDispatch" and data.get("type") == "keydown"


def _tasks(events: list[dict[str, Any]]) -> list[Task]:
    complete = sorted((e for e in events if e.get("ph") == "X"), key=lambda e: e["ts"])
    tops: list[dict[str, Any]] = []
    end = 0.0
    for event in complete:
        if event["name"] in _TASKS and event["ts"] >= end:
            tops.append(event)
            end = event["ts"] + event.get("dur", 0)
    starts = [top["ts"] for top in tops]
    parts: list[dict[str, float]] = [{} for _ in tops]
    for event in complete:
        index = bisect_right(starts, event["ts"]) - 1
        if index >= 0 and event["name"] not in _TASKS and event.get("dur", 0) > 1000:
            name = event["name"]
            parts[index][name] = parts[index].get(name, 0.0) + event["dur"] / 1000
    return [
        Task(top["ts"] / 1000, top.get("dur", 0) / 1000, top.get("tdur", top.get("dur", 0)) / 1000, inside)
        for top, inside in zip(tops, parts, strict=True)
    ]

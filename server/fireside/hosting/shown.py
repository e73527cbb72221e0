"""What the app's status shows of the models behind it."""

from __future__ import annotations

from typing import Literal

from fireside.catalog.resolve import ModelSource
from fireside.engine.status import EngineStatus, StatusBoard, Switch
from fireside.hosting.hosted import HostedModel

SwitchState = Literal["draining", "loading", "returning", "done", "failed"]

_COPIED = ("phase", "detail", "model", "bytes_done", "bytes_total", "restarts", "rows", "queued", "error")


class Shown:
    """The app's board, which shows one model: the served one.

    Attributes:
        changing: while it is set, what the model does is shown as a part of a change of models.
    """

    def __init__(self, board: StatusBoard) -> None:
        self.board = board
        self.changing = False
        self._following: HostedModel | None = None

    @property
    def switching(self) -> bool:
        """Whether a change is under way, by what was told of it."""
        switch = self.board.current.switch
        return switch is not None and switch.state not in ("done", "failed")

    def follow(self, hosted: HostedModel) -> None:
        """Show this model from now on."""
        self.close()
        self._following = hosted
        hosted.board.tell(self._copy)

    def close(self) -> None:
        """Show no model any more."""
        if self._following is not None:
            self._following.board.tell(None)

    def tell(self, source: ModelSource, state: SwitchState, error: str | None = None) -> None:
        """Show how far the change to a model is."""
        self.board.update(switch=Switch(to=source.id, name=source.name, state=state, error=error))

    def failed(self, detail: str, error: str) -> None:
        """There is no model that could be served."""
        self.board.update(phase="failed", detail=detail, error=error)

    def waiting(self, name: str) -> None:
        """The answers of a model are waited for."""
        self._empty("switching", f"Waiting for the last answers of {name}")

    def asleep(self) -> None:
        """The served model was stopped, and comes back when it is asked."""
        self._empty("idle", "Not in memory; the next message loads it")

    def _empty(self, phase: Literal["switching", "idle"], detail: str) -> None:
        self.close()
        self.board.update(phase=phase, detail=detail, bytes_done=0, bytes_total=0, error=None)
        if phase == "idle":
            self.board.update(rows=0, queued=0)

    def _copy(self, status: EngineStatus) -> None:
        if status.phase == "stopping":
            return
        shown = {name: getattr(status, name) for name in _COPIED}
        if self.changing and status.phase != "ready":
            shown |= {"phase": "switching", "error": None}
        self.board.update(**shown)

"""The served model, once it can be asked."""

from __future__ import annotations

from fireside.api.generation import Served
from fireside.engine.status import StatusBoard
from fireside.http.errors import NotReady


class Serving:
    """Where routes ask for the served model.

    Until the model is loaded there is none, and while a core is being replaced there still is one: its
    requests simply wait.
    """

    def __init__(self, board: StatusBoard) -> None:
        self._board = board
        self._served: Served | None = None

    def open(self, served: Served) -> None:
        """The model can be asked from now on."""
        self._served = served

    def served(self) -> Served:
        """The model to ask.

        Raises:
            NotReady: it is loading, or failed to; the message says which.
        """
        status = self._board.current
        if status.phase == "failed":
            raise NotReady(f"The model could not be loaded: {status.error}", retry_after_s=30)
        if self._served is None or status.phase not in ("ready", "restarting"):
            raise NotReady(f"The model is still loading ({status.phase}).")
        return self._served

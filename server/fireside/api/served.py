"""The models that can be asked, as routes ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.engine.status import StatusBoard
from fireside.http.errors import BadRequest, NotReady


@dataclass(frozen=True)
class Available:
    """A model that does not run, and would if it were asked.

    Attributes:
        created: when its files last changed, in seconds since 1970.
        context_window: tokens, as its config says.
        thinks: whether its template knows reasoning.
    """

    id: str
    created: int
    context_window: int
    thinks: bool


class Host(Protocol):
    """Whoever keeps models running."""

    @property
    def current(self) -> Served | ServedEmbedder | None:
        """The model that answers whatever names no other; None until it can be asked."""
        ...

    @property
    def running(self) -> list[Served | ServedEmbedder]:
        """All that can be asked without waiting, the served one first."""
        ...

    async def available(self) -> list[Available]:
        """Further ones that can be asked by their names."""
        ...

    async def find(self, name: str) -> Served | ServedEmbedder:
        """The model that a request means, started if need be.

        Raises:
            NotFound: there is none of that name.
            NotReady: it cannot be asked now; the message says why.
        """
        ...


class Serving:
    """Where routes ask for models.

    Until a model is loaded there is none, and while its core is being replaced there still is one: its
    requests simply wait.
    """

    def __init__(self, board: StatusBoard, host: Host) -> None:
        self._board = board
        self.host = host

    async def served(self, name: str) -> Served:
        """The model to ask for text.

        Args:
            name: as the request has it.

        Raises:
            NotFound: there is none of that name.
            NotReady: it is loading, or failed to; the message says which.
            BadRequest: it is one that embeds, and writes no text.
        """
        served = await self._asked(name)
        if isinstance(served, ServedEmbedder):
            raise BadRequest(
                f"{served.model_id} is an embedding model: it makes vectors of texts (POST /v1/embeddings) "
                "and cannot chat. Start Fireside with a chat model to get answers.",
                param="model",
            )
        return served

    async def embedder(self, name: str) -> ServedEmbedder:
        """The model to ask for vectors.

        Raises:
            NotFound, NotReady: as above.
            BadRequest: it is one that writes text.
        """
        served = await self._asked(name)
        if not isinstance(served, ServedEmbedder):
            raise BadRequest(
                f"{served.model_id} is not an embedding model. Start Fireside with one: --model with the "
                "folder or the hub id of, say, all-MiniLM-L6-v2 or Qwen3-Embedding-0.6B.",
                param="model",
            )
        return served

    def any(self) -> Served | ServedEmbedder:
        """The served model, whatever it does.

        Raises:
            NotReady: it is loading, or failed to; the message says which.
        """
        self._check()
        status, served = self._board.current, self.host.current
        if served is None or status.phase not in ("ready", "restarting", "idle"):
            raise NotReady(f"The model is still loading ({status.phase}).")
        return served

    async def _asked(self, name: str) -> Served | ServedEmbedder:
        self._check()
        return await self.host.find(name)

    def _check(self) -> None:
        status = self._board.current
        if status.phase == "failed":
            message = f"The model could not be loaded: {status.error}"
            raise NotReady(message, code="engine_failed", retry_after_s=30)

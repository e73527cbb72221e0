"""The served model, once it can be asked."""

from __future__ import annotations

from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.engine.status import StatusBoard
from fireside.http.errors import BadRequest, NotReady


class Serving:
    """Where routes ask for the served model.

    Until the model is loaded there is none, and while a core is being replaced there still is one: its
    requests simply wait.
    """

    def __init__(self, board: StatusBoard) -> None:
        self._board = board
        self._served: Served | ServedEmbedder | None = None

    def open(self, served: Served | ServedEmbedder) -> None:
        """The model can be asked from now on."""
        self._served = served

    def served(self) -> Served:
        """The model to ask for text.

        Raises:
            NotReady: it is loading, or failed to; the message says which.
            BadRequest: it is one that embeds, and writes no text.
        """
        served = self.any()
        if isinstance(served, ServedEmbedder):
            raise BadRequest(
                f"{served.model_id} is an embedding model: it makes vectors of texts (POST /v1/embeddings) "
                "and cannot chat. Start Fireside with a chat model to get answers.",
                param="model",
            )
        return served

    def embedder(self) -> ServedEmbedder:
        """The model to ask for vectors.

        Raises:
            NotReady: as above.
            BadRequest: it is one that writes text.
        """
        served = self.any()
        if not isinstance(served, ServedEmbedder):
            raise BadRequest(
                f"{served.model_id} is not an embedding model. Start Fireside with one: --model with the "
                "folder or the hub id of, say, all-MiniLM-L6-v2 or Qwen3-Embedding-0.6B.",
                param="model",
            )
        return served

    def any(self) -> Served | ServedEmbedder:
        """The model that is served, whatever it does.

        Raises:
            NotReady: it is loading, or failed to; the message says which.
        """
        status = self._board.current
        if status.phase == "failed":
            raise NotReady(f"The model could not be loaded: {status.error}", retry_after_s=30)
        if self._served is None or status.phase not in ("ready", "restarting"):
            raise NotReady(f"The model is still loading ({status.phase}).")
        return self._served

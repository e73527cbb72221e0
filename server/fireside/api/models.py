"""`/v1` and `/v1/models`."""

from __future__ import annotations

from typing import Any

from quart import Blueprint

from fireside import __version__
from fireside.api.served import Serving
from fireside.http.errors import NotFound

_ENDPOINTS = ["/v1/models", "/v1/chat/completions", "/v1/completions"]


def create_blueprint(serving: Serving) -> Blueprint:
    """The list of models: the one that is served."""
    blueprint = Blueprint("models", __name__)

    def row() -> dict[str, Any]:
        served = serving.served()
        defaults = served.text.defaults
        return {
            "id": served.model_id,
            "object": "model",
            "created": 0,
            "owned_by": "fireside",
            "context_window": served.text.context_window,
            "thinking": served.text.thinks,
            "gen_defaults": {
                "temperature": defaults.temperature,
                "top_p": defaults.top_p,
                "top_k": defaults.top_k,
            },
        }

    @blueprint.get("/v1")
    async def about() -> dict[str, Any]:
        return {
            "name": "fireside",
            "version": __version__,
            "model": serving.served().model_id,
            "endpoints": _ENDPOINTS,
        }

    @blueprint.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [row()]}

    @blueprint.get("/v1/models/<path:model_id>")
    async def model(model_id: str) -> dict[str, Any]:
        found = row()
        if found["id"] != model_id:
            raise NotFound(
                f"There is no model {model_id!r}; {found['id']!r} is served.", code="model_not_found"
            )
        return found

    return blueprint

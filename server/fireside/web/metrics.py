"""`/metrics`, for Prometheus."""

from __future__ import annotations

from quart import Blueprint, Response, request

from fireside.engine.metrics import Metrics


def create_blueprint(metrics: Metrics) -> Blueprint:
    """The route that a Prometheus scrapes."""
    blueprint = Blueprint("metrics", __name__)

    @blueprint.get("/metrics")
    async def scrape() -> Response:
        text, content_type = metrics.text(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type, headers={"Cache-Control": "no-store"})

    return blueprint

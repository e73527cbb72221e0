"""The routes beside `/v1` that show the app and its work, described."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from fireside.catalog.fit_report import FitReport
from fireside.http.operations import Answer, Operation, Parameter
from fireside.web.keys import Keys, MadeKey, NewKey
from fireside.web.models import MOST_CONTEXT, HubLocal, LibraryAnswer, Recommended
from fireside.web.requests import Requests
from fireside.web.status import AppStatus, Health, Stats

_SERVER = "Server"
_KEYS = "Keys"
_LOCAL_MODELS = "Models on this machine"

OPERATIONS = (
    Operation(
        "GET",
        "/health",
        _SERVER,
        "Whether a request can be served",
        answers={
            200: Answer("It can.", Health),
            503: Answer("It cannot; the body says why.", Health),
        },
        open=True,
    ),
    Operation(
        "GET",
        "/health/live",
        _SERVER,
        "Whether the app runs at all",
        answers={200: Answer("It does.", Health)},
        open=True,
    ),
    Operation(
        "GET", "/stats", _SERVER, "Counters and sizes", answers={200: Answer("As they are now.", Stats)}
    ),
    Operation(
        "GET",
        "/metrics",
        _SERVER,
        "Metrics for Prometheus",
        answers={
            200: Answer(
                "In the text format of Prometheus, or that of OpenMetrics to who accepts it.",
                media_types=("text/plain", "application/openmetrics-text"),
            )
        },
    ),
    Operation(
        "GET",
        "/api/status",
        _SERVER,
        "What the app is doing",
        answers={200: Answer("The state of app and engine.", AppStatus)},
    ),
    Operation(
        "GET",
        "/api/status/events",
        _SERVER,
        "The same, at once and then with every change, as a stream without an end",
        answers={200: Answer("Server-sent events.", events=AppStatus)},
    ),
    Operation(
        "GET",
        "/api/requests",
        _SERVER,
        "The requests in flight",
        "Without their texts. With `--upstream` there are none: they are the other server's.",
        answers={200: Answer("Those that are answered now, then those that wait.", Requests)},
    ),
    Operation(
        "DELETE",
        "/api/requests/{request_id}",
        _SERVER,
        "Cancel a request",
        "Its client is told: a stream ends with an error event, another answer has the status 499.",
        parameters=(
            Parameter(
                "request_id", "The id of the response, as the list and the response have it.", place="path"
            ),
        ),
        answers={204: Answer("It is cancelled.")},
        errors=(404,),
    ),
    Operation(
        "GET",
        "/api/library",
        _LOCAL_MODELS,
        "The models on this machine",
        "Those in the Hugging Face cache, in `FIRESIDE_HOME/models` and in the folders of `--models-dir`, "
        "complete or not, with what they are, whether they fit here and how fast they answer. Looked up anew "
        "after 30 seconds.",
        answers={200: Answer("By name.", LibraryAnswer)},
    ),
    Operation(
        "GET",
        "/api/hub/local",
        _LOCAL_MODELS,
        "The same, as the hub's panel shows it",
        answers={200: Answer("By name.", HubLocal)},
    ),
    Operation(
        "GET",
        "/api/fit",
        _LOCAL_MODELS,
        "Whether a model fits on this machine, and on others",
        parameters=(
            Parameter("model", "Its name, or words that are in no other name; else the one that is served."),
            Parameter(
                "context",
                "Tokens of a conversation that should fit; else those of a typical one.",
                Annotated[int, Meta(ge=1, le=MOST_CONTEXT)],
            ),
        ),
        answers={200: Answer("All the numbers.", FitReport)},
        errors=(400, 404),
    ),
    Operation(
        "GET",
        "/api/models/recommended",
        _LOCAL_MODELS,
        "Models that suit this machine",
        "A short list to choose from; nothing is downloaded.",
        answers={200: Answer("The largest first.", Recommended)},
    ),
    Operation(
        "GET",
        "/api/keys",
        _KEYS,
        "The API keys",
        answers={200: Answer("What may be told of them.", Keys)},
    ),
    Operation(
        "POST",
        "/api/keys",
        _KEYS,
        "Make a key",
        body=NewKey,
        example={"name": "laptop"},
        answers={201: Answer("The key, which is shown this once.", MadeKey)},
    ),
    Operation(
        "DELETE",
        "/api/keys/{key_id}",
        _KEYS,
        "Take a key back",
        parameters=(Parameter("key_id", "Its id, as the list has it.", place="path"),),
        answers={204: Answer("It opens nothing any more.")},
        errors=(400, 404),
    ),
    Operation(
        "GET",
        "/openapi.json",
        _SERVER,
        "This description",
        answers={200: Answer("OpenAPI 3.1.", dict[str, Any])},
    ),
)

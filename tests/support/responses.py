"""A client of `/v1/responses`, and the order that the events of its streams must have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import httpx
from openai.types.responses import Response, ResponseStreamEvent

from support.server import Server

ROUTE = "/v1/responses"
_EVENTS: dict[str, Any] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in get_args(get_args(ResponseStreamEvent)[0])
}
QUIET = {"effort": "none"}
"""`reasoning` of a request that does not think."""

Json = dict[str, Any]


def body_of(given: Any, **fields: Any) -> Json:
    """A greedy request that does not think; `fields` add to it or replace what it has."""
    return {"input": given, "temperature": 0, "reasoning": QUIET, **fields}


def respond(server: Server, given: Any, **fields: Any) -> Json:
    """A whole response; an error status raises `httpx.HTTPStatusError`."""
    response: Json = server.post(ROUTE, body_of(given, **fields))
    Response.model_validate(response)
    return response


def function(name: str, *properties: str, **fields: Any) -> Json:
    """A tool whose arguments are texts."""
    schema = {"type": "object", "properties": {p: {"type": "string"} for p in properties}}
    parameters = {**schema, "required": list(properties)}
    return {"type": "function", "name": name, "description": f"{name}.", "parameters": parameters, **fields}


def texts(output: Sequence[Json]) -> list[str]:
    """The text of every item, whatever it is."""
    return [
        item["arguments"]
        if item["type"] == "function_call"
        else "".join(part["text"] for part in item.get("content") or item["summary"])
        for item in output
    ]


@contextmanager
def streaming(server: Server, given: Any, **fields: Any) -> Iterator[Iterator[Json]]:
    """The events of a streamed response as they come. Leaving the context breaks the connection."""
    body = body_of(given, stream=True, **fields)
    with httpx.stream("POST", server.url + ROUTE, json=body, timeout=120) as reply:
        if reply.is_error:
            raise AssertionError(reply.read().decode())
        yield _events(reply.iter_lines())


def streamed(server: Server, given: Any, **fields: Any) -> list[Json]:
    """All events of a streamed response."""
    with streaming(server, given, **fields) as events:
        return list(events)


def _events(lines: Iterator[str]) -> Iterator[Json]:
    """The data of every event, which must carry the name that its line has."""
    for line in lines:
        if not line:
            continue
        assert line.startswith("event: "), line
        data = next(lines)
        assert data.startswith("data: "), data
        event: Json = json.loads(data.removeprefix("data: "))
        assert event["type"] == line.removeprefix("event: ")
        assert next(lines) == ""
        yield event


def errors_of(server: Server, bodies: Sequence[Any]) -> list[tuple[int, Json]]:
    """Status and error of requests that are refused."""
    with httpx.Client(timeout=60) as client:
        replies = [client.post(server.url + ROUTE, json=body) for body in bodies]
    return [(reply.status_code, reply.json()["error"]) for reply in replies]


def error_of(server: Server, body: Any) -> tuple[int, Json]:
    """Status and error of a request that is refused."""
    return errors_of(server, [body])[0]


def validate_event(event: Json) -> None:
    """Raises `KeyError` or `ValueError` for what is no event of OpenAI's, its fields included."""
    _EVENTS[event["type"]].model_validate(event)


class Chain:
    """Reads events in the order that the protocol has, and puts the output together from the deltas.

    Raises:
        AssertionError: an event is of another type than OpenAI's, or comes where it may not.
    """

    def __init__(self, events: Sequence[Json]) -> None:
        self.output: list[Json] = []
        self._events = iter(events)
        self._last = -1
        assert self._next("response.created")["response"]["status"] == "in_progress"
        assert self._next("response.in_progress")["response"]["output"] == []
        self.end: Json = {}
        while not self.end:
            event = self._next("response.output_item.added", *(f"response.{s}" for s in _ENDS))
            if event["type"] == "response.output_item.added":
                self._item(event)
            else:
                self.end = event["response"]
                assert event["type"] == f"response.{self.end['status']}"
        assert next(self._events, None) is None

    def _next(self, *types: str) -> Json:
        event = next(self._events)
        validate_event(event)
        assert event["type"] in types, f"{event['type']} instead of {types}"
        assert event["sequence_number"] == self._last + 1
        self._last += 1
        return event

    def _item(self, added: Json) -> None:
        item = added["item"]
        assert added["output_index"] == len(self.output)
        assert item["status"] == "in_progress"
        place = {"item_id": item["id"], "output_index": len(self.output)}
        match item["type"]:
            case "message":
                assert item["content"] == []
                part = self._part("content_part", "output_text", {**place, "content_index": 0})
                whole = {"content": [part]}
            case "reasoning":
                assert item["summary"] == []
                part = self._part(
                    "reasoning_summary_part", "reasoning_summary_text", {**place, "summary_index": 0}
                )
                whole = {"summary": [part]}
            case "function_call":
                assert item["arguments"] == ""
                whole = {"arguments": self._pieces("function_call_arguments", "arguments", place)}
            case other:
                raise AssertionError(f"an item of type {other}")
        done = self._next("response.output_item.done")
        assert done["output_index"] == len(self.output)
        assert done["item"] == {**item, **whole, "status": done["item"]["status"]}
        self.output.append(done["item"])

    def _part(self, part: str, text: str, place: Json) -> Json:
        added = self._next(f"response.{part}.added")
        assert place.items() <= added.items()
        whole = self._pieces(text, "text", place)
        done = self._next(f"response.{part}.done")
        assert place.items() <= done.items()
        assert added["part"]["text"] == ""
        logprobs = {"logprobs": done["part"]["logprobs"]} if "logprobs" in added["part"] else {}
        assert done["part"] == {**added["part"], "text": whole, **logprobs}
        return done["part"]

    def _pieces(self, kind: str, field: str, place: Json) -> str:
        """The text of the deltas, which must be the one that ends them."""
        pieces: list[str] = []
        while True:
            event = self._next(f"response.{kind}.delta", f"response.{kind}.done")
            assert place.items() <= event.items()
            if event["type"].endswith(".done"):
                assert event[field] == "".join(pieces)
                return event[field]
            assert event["delta"]
            pieces.append(event["delta"])


_ENDS = ("completed", "incomplete", "failed")

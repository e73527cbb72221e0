"""OpenAPI 3.1 out of the descriptions of routes.

Every schema is made by msgspec out of the very types that decode and encode, so that none can say what
the code does not do.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from fireside.http.describable import describable
from fireside.http.errors import ErrorBody
from fireside.http.operations import Answer, Operation, Parameter

Json = dict[str, Any]

HEADERS: dict[str, tuple[str, type]] = {
    "Retry-After": ("Seconds after which it is worth trying again.", int),
    "Warning": ("What was changed of the request, or could not be kept of it.", str),
    "ETag": ("Of what is answered, for `If-None-Match`.", str),
    "Content-Disposition": ("The name of the file.", str),
}
"""What a header says, and its type."""

STATUSES: dict[int, str] = {
    400: "The request is wrong; `param` names the field.",
    401: "The key is missing or wrong.",
    403: "The request comes from a place that may not ask this.",
    404: "There is nothing of that name.",
    405: "Not with this method.",
    408: "The rest of the body did not come.",
    409: "Not in the present state.",
    413: "The body is too large.",
    415: "The body is not of a type that this route takes, or does not say so.",
    426: "Only as a WebSocket.",
    429: "As many requests wait as may; or too many wrong keys came.",
    499: "Somebody else than the client ended the request, see `DELETE /api/requests/{request_id}`.",
    500: "The disk or its permissions are in the way.",
    502: "The engine, or the other server, could not finish this.",
    503: "The model is still loading, or has gone; or the disk fails, or the hub cannot be reached.",
    504: "The request's own deadline (`deadline_s`) passed.",
    507: "The disk has not enough room; the message has the numbers.",
}
"""What an error's status means."""

_OF_BODIES = (400, 403, 408, 413, 415)
_OF_MODELS = (400, 429, 499, 502, 503, 504)
_OF_CHANGES = (403,)
_OF_KEYS = (401, 429)
_RETRY_AFTER = (429, 503)
_REFERENCE = "#/components/schemas/{name}"
_ATTRIBUTES = re.compile(r"\n+Attributes:\n(?P<lines>(?:[ \t]+\S.*(?:\n|$)|\n)+)")
_ATTRIBUTE = re.compile(
    r"^(?P<indent> +)(?P<names>\w+(?:, \w+)*): (?P<text>.*(?:\n(?P=indent) +.*)*)", re.MULTILINE
)

SECURITY: Json = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`"},
    "api_key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}


def document(
    operations: Sequence[Operation], *, version: str, served: Container[tuple[str, str]], keys: bool
) -> Json:
    """The document of a server.

    Args:
        served: methods and paths, as `path_of` gives them, that the server has; others are left out.
        keys: whether requests need a key.
    """
    here = [each for each in operations if (each.method, each.path) in served]
    schemas = _Schemas(here)
    paths: dict[str, Json] = {}
    for operation in here:
        described = _operation(operation, schemas, keys)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    components: Json = {"schemas": schemas.components}
    if keys:
        components["securitySchemes"] = SECURITY
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fireside",
            "summary": "A private place to talk with the language models on your own machine.",
            "version": version,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(operation.tag for operation in here)],
        "paths": paths,
        "components": components,
        **({"security": [{name: []} for name in SECURITY]} if keys else {}),
    }


def path_of(rule: str) -> str:
    """A path as OpenAPI writes it, out of a rule of werkzeug's."""
    return re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", r"{\1}", rule)


class _Schemas:
    """The schemas of all types, each once, under short names."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._types = list(_types(operations))
        described = describable(self._types)
        schemas, components = msgspec.json.schema_components(described, ref_template=_REFERENCE)
        names = _short_names(components)
        self._schemas = [_renamed(schema, names) for schema in schemas]
        self.components: Json = {
            names[name]: _told({**_renamed(schema, names), "title": names[name]})
            for name, schema in sorted(components.items(), key=lambda item: names[item[0]])
        }

    def of(self, kind: Any) -> Json:
        """The schema of a type that one of the operations has."""
        return self._schemas[self._types.index(kind)]


def _types(operations: Iterable[Operation]) -> Iterator[Any]:
    yield ErrorBody
    yield from (kind for _, kind in HEADERS.values())
    for operation in operations:
        yield from (parameter.type for parameter in operation.parameters)
        kinds = [operation.body, operation.error]
        for answer in operation.answers.values():
            kinds += [answer.type, answer.events]
        yield from (kind for kind in kinds if kind is not None)


def _short_names(components: Iterable[str]) -> dict[str, str]:
    """Names for components: where several classes have one name, msgspec has its module before it."""
    return {name: "".join(part for part in _words(name)) for name in components}


def _words(name: str) -> Iterator[str]:
    *module, last = name.split(".")
    if module:
        words = module[-1].removesuffix("_format").split("_")
        yield from (word.capitalize() for word in words)
    yield last.lstrip("_")


def _renamed(schema: Any, names: dict[str, str]) -> Any:
    if isinstance(schema, dict):
        return {
            key: _reference(value, names) if key == "$ref" else _renamed(value, names)
            for key, value in schema.items()  # pyright: ignore[reportUnknownVariableType]
        }
    if isinstance(schema, list):
        return [_renamed(value, names) for value in schema]  # pyright: ignore[reportUnknownVariableType]
    return schema


def _reference(value: Any, names: dict[str, str]) -> Any:
    prefix = _REFERENCE.format(name="")
    name = str(value).removeprefix(prefix)
    return prefix + names[name] if name in names else value


def _told(schema: Json) -> Json:
    """A schema whose properties have the words that its class's docstring has for them."""
    found = _ATTRIBUTES.search(schema.get("description", ""))
    if found is None:
        return schema
    properties = dict(schema.get("properties", {}))
    for line in _ATTRIBUTE.finditer(found["lines"]):
        for name in line["names"].split(", "):
            if name in properties:
                text = " ".join(line["text"].split())
                properties[name] = {**properties[name], "description": text}
    rest = schema["description"][: found.start()] + "\n\n" + schema["description"][found.end() :]
    return {**schema, "description": rest.strip(), "properties": properties}


def _operation(operation: Operation, schemas: _Schemas, keys: bool) -> Json:
    answers = {
        str(status): _answer(answer, schemas, operation) for status, answer in operation.answers.items()
    }
    for status in _errors(operation, keys):
        answers[str(status)] = _answer(_error(status, operation), schemas, operation)
    described: Json = {
        "operationId": _id_of(operation),
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": dict(sorted(answers.items())),
    }
    if operation.description:
        described["description"] = operation.description
    if operation.parameters:
        described["parameters"] = [_parameter(each, schemas) for each in operation.parameters]
    if operation.takes_body:
        described["requestBody"] = _body(operation, schemas)
    if keys and operation.open:
        described["security"] = []
    return described


def _errors(operation: Operation, keys: bool) -> list[int]:
    statuses = set(operation.errors)
    if operation.method != "GET":
        statuses.update(_OF_CHANGES)
    if operation.takes_body:
        statuses.update(_OF_BODIES)
    if operation.model:
        statuses.update(_OF_MODELS)
    if keys and not operation.open:
        statuses.update(_OF_KEYS)
    return sorted(statuses - operation.answers.keys())


def _id_of(operation: Operation) -> str:
    words = re.findall(r"\w+", operation.path)
    return "_".join((operation.method.lower(), *words))


def _parameter(parameter: Parameter, schemas: _Schemas) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.summary,
        "required": parameter.required or parameter.place == "path",
        "schema": schemas.of(parameter.type),
    }


def _body(operation: Operation, schemas: _Schemas) -> Json:
    content: Json = {name: {} for name in operation.media_types}
    if operation.body is not None:
        example = {} if operation.example is None else {"example": operation.example}
        content = {"application/json": {"schema": schemas.of(operation.body), **example}, **content}
    return {"required": operation.body_required, "content": content}


def _answer(answer: Answer, schemas: _Schemas, operation: Operation) -> Json:
    content: Json = {}
    if answer.type is not None:
        content["application/json"] = {"schema": schemas.of(answer.type)}
    if answer.events is not None:
        content["text/event-stream"] = {"schema": _event(answer, schemas, operation)}
    content.update((name, {}) for name in answer.media_types)
    described: Json = {"description": answer.summary}
    if answer.headers:
        described["headers"] = {name: _header(name, schemas) for name in answer.headers}
    if content:
        described["content"] = content
    return described


def _event(answer: Answer, schemas: _Schemas, operation: Operation) -> Json:
    """The schema of one event, as OpenAPI 3.2 has it; 3.1 has no words for a sequence of them."""
    data = schemas.of(answer.events)
    if operation.model:
        data = {"anyOf": [data, schemas.of(_error_type(operation))]}
    content: Json = {"contentMediaType": "application/json", "contentSchema": data}
    if answer.done:
        content = {"if": {"const": "[DONE]"}, "else": content}
    return {
        "type": "object",
        "description": "One event of the stream.",
        "required": ["data"],
        "properties": {"data": {"type": "string", **content}, "event": {"type": "string"}},
    }


def _error(status: int, operation: Operation) -> Answer:
    headers = ("Retry-After",) if status in _RETRY_AFTER else ()
    return Answer(STATUSES[status], _error_type(operation), headers=headers)


def _error_type(operation: Operation) -> Any:
    return ErrorBody if operation.error is None else operation.error


def _header(name: str, schemas: _Schemas) -> Json:
    summary, kind = HEADERS[name]
    return {"description": summary, "schema": schemas.of(kind)}

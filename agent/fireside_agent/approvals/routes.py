"""`/api/settings/tool-approvals`: look at rules, take them back, try one on the past.

Nothing here grants: a rule comes into being on the card of a call and nowhere else.
"""

import asyncio
import json
import re
from collections import Counter
from typing import Any, NoReturn, TypeVar

import msgspec
from quart import Blueprint, Response, request

from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.log import Approval, ApprovalLog
from fireside_agent.approvals.matching import checked_value
from fireside_agent.approvals.rules import Kind, RuleRefusedError, Value
from fireside_agent.errors import StorageError

ADDRESS = "/api/settings/tool-approvals"
DRY_RUN_DAYS = 30
MAX_LISTED = 200
"""Calls that a dry run names, the newest; its counts are of all."""

FIELD = re.compile(r"`(?:\$\.)?(\w+)[^`]*`$")
"""The field that ends a validation error of msgspec: "… - at `$.tool`", "… missing required field `tool`"."""

T = TypeVar("T")


class RefusedError(Exception):
    """A request that is answered with an error of this status."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param


class Revocation(msgspec.Struct):
    """What to take back: one rule, or all of a tool."""

    id: str | None = None
    tool: str | None = None


class Trial(msgspec.Struct):
    """A rule that is only tried."""

    tool: str
    kind: Kind
    value: Value = ""


def create_blueprint(book: RuleBook, log: ApprovalLog) -> Blueprint:
    """The routes over these rules and this log."""
    blueprint = Blueprint("tool_approvals", __name__)

    @blueprint.get(ADDRESS)
    async def rules() -> Response:  # pyright: ignore[reportUnusedFunction]
        held = book.list()
        whole = dict.fromkeys(rule.tool for rule in held if rule.kind == "tool" and rule.scope == "always")
        return _json({"ok": True, "always_allow": list(whole), "rules": held})

    @blueprint.delete(ADDRESS)
    async def revoke() -> Response:  # pyright: ignore[reportUnusedFunction]
        return _json({"ok": True, "revoked": await _revoked(book, await _body(Revocation))})

    @blueprint.route(ADDRESS, methods=["POST", "PUT", "PATCH"])
    async def refuse_granting() -> NoReturn:  # pyright: ignore[reportUnusedFunction]
        raise RefusedError(
            405, "Rules are granted on the approval card of a call, not here.", "method_not_allowed"
        )

    @blueprint.post(f"{ADDRESS}/dry-run")
    async def dry_run() -> Response:  # pyright: ignore[reportUnusedFunction]
        trial = await _body(Trial)
        try:
            value = checked_value(trial.kind, trial.value)
        except RuleRefusedError as error:
            raise RefusedError(400, str(error), "invalid_rule", "value") from error
        asked = [each for each in await log.recent(DRY_RUN_DAYS) if each.tool == trial.tool]
        return _json(_outcome([each for each in asked if book.would_match(trial.kind, value, each.subject)]))

    @blueprint.errorhandler(RefusedError)
    async def on_refused(error: RefusedError) -> Response:  # pyright: ignore[reportUnusedFunction]
        response = _error(error.status, str(error), "invalid_request_error", error.code, error.param)
        if error.status == 405:
            response.headers["Allow"] = "GET, HEAD, OPTIONS, DELETE"
        return response

    @blueprint.errorhandler(StorageError)
    async def on_storage(error: StorageError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _error(503, str(error), "server_error", "storage_failed")

    return blueprint


async def _revoked(book: RuleBook, revocation: Revocation) -> list[Any]:
    if revocation.id and revocation.tool:
        raise RefusedError(400, "Give either id or tool, not both.", "invalid_request", "tool")
    if revocation.id:
        rule = await book.revoke(revocation.id)
        if rule is None:
            raise RefusedError(404, f"There is no rule {revocation.id!r}; it may be gone.", "not_found", "id")
        return [rule]
    if revocation.tool:
        return list(await book.revoke_tool(revocation.tool))
    raise RefusedError(400, "tool required", "tool_required", "tool")


def _outcome(allowed: list[Approval]) -> dict[str, Any]:
    decided = Counter(each.decision or "open" for each in allowed)
    return {
        "ok": True,
        "days": DRY_RUN_DAYS,
        "count": len(allowed),
        "decided": {name: decided[name] for name in ("allow", "deny", "open")},
        "approvals": allowed[:MAX_LISTED],
    }


async def _body(kind: type[T]) -> T:
    if request.mimetype != "application/json":
        raise RefusedError(
            415, "The body must be JSON, with `Content-Type: application/json`.", "unsupported_media_type"
        )
    try:
        # `get_data` would lose a cancellation that comes together with the end of the body (Python 3.11).
        async with asyncio.timeout(request.body_timeout):
            body: bytes = await request.body
    except TimeoutError as error:
        raise RefusedError(408, "The rest of the body did not come.", "request_timeout") from error
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        field = FIELD.search(str(error))
        raise RefusedError(400, str(error), "invalid_request", field and field.group(1)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(400, f"The body is not JSON: {error}", "invalid_json") from error


def _error(status: int, message: str, kind: str, code: str, param: str | None = None) -> Response:
    return _json({"error": {"message": message, "type": kind, "code": code, "param": param}}, status)


def _json(value: Any, status: int = 200) -> Response:
    # Not msgspec's encoder: stored arguments can hold half of a surrogate pair, which only escapes can carry.
    return Response(json.dumps(msgspec.to_builtins(value)), status, content_type="application/json")

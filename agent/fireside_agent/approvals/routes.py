"""`/api/settings/tool-approvals`: look at rules, take them back, try one on the past.

Nothing here grants: a rule comes into being on the card of a call and nowhere else.
"""

from collections import Counter
from typing import Any

import msgspec
from quart import Blueprint, Response

from fireside_agent.answers import RefusedError, answer_errors, error_answer, json_answer, read_json
from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.log import Approval, ApprovalLog
from fireside_agent.approvals.matching import checked_value
from fireside_agent.approvals.rules import Kind, RuleRefusedError, Value

ADDRESS = "/api/settings/tool-approvals"
DRY_RUN_DAYS = 30
MAX_LISTED = 200
"""Calls that a dry run names, the newest; its counts are of all."""


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
    answer_errors(blueprint)

    @blueprint.get(ADDRESS)
    async def rules() -> Response:  # pyright: ignore[reportUnusedFunction]
        held = book.list()
        whole = dict.fromkeys(rule.tool for rule in held if rule.kind == "tool" and rule.scope == "always")
        return json_answer({"ok": True, "always_allow": list(whole), "rules": held})

    @blueprint.delete(ADDRESS)
    async def revoke() -> Response:  # pyright: ignore[reportUnusedFunction]
        return json_answer({"ok": True, "revoked": await _revoked(book, await read_json(Revocation))})

    @blueprint.route(ADDRESS, methods=["POST", "PUT", "PATCH"])
    async def refuse_granting() -> Response:  # pyright: ignore[reportUnusedFunction]
        message = "Rules are granted on the approval card of a call, not here."
        response = error_answer(405, "method_not_allowed", message)
        response.headers["Allow"] = "GET, HEAD, OPTIONS, DELETE"
        return response

    @blueprint.post(f"{ADDRESS}/dry-run")
    async def dry_run() -> Response:  # pyright: ignore[reportUnusedFunction]
        trial = await read_json(Trial)
        try:
            value = checked_value(trial.kind, trial.value)
        except RuleRefusedError as error:
            raise RefusedError(400, "invalid_rule", str(error), "value") from error
        asked = [each for each in await log.recent(DRY_RUN_DAYS) if each.tool == trial.tool]
        allowed = [each for each in asked if book.would_match(trial.kind, value, each.subject)]
        return json_answer(_outcome(allowed))

    return blueprint


async def _revoked(book: RuleBook, revocation: Revocation) -> list[Any]:
    if revocation.id and revocation.tool:
        raise RefusedError(400, "invalid_request", "Give either id or tool, not both.", "tool")
    if revocation.id:
        rule = await book.revoke(revocation.id)
        if rule is None:
            raise RefusedError(404, "not_found", f"There is no rule {revocation.id!r}; it may be gone.", "id")
        return [rule]
    if revocation.tool:
        return list(await book.revoke_tool(revocation.tool))
    raise RefusedError(400, "tool_required", "tool required", "tool")


def _outcome(allowed: list[Approval]) -> dict[str, Any]:
    decided = Counter(each.decision or "open" for each in allowed)
    return {
        "ok": True,
        "days": DRY_RUN_DAYS,
        "count": len(allowed),
        "decided": {name: decided[name] for name in ("allow", "deny", "open")},
        "approvals": allowed[:MAX_LISTED],
    }

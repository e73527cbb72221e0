"""The routes: they show, revoke and try rules, and never grant one."""

from __future__ import annotations

from typing import Any

import pytest
from quart import Quart
from quart.typing import TestClientProtocol as Web

from agent.approvals.conftest import Clock
from agent.approvals.test_book import CARD, grant_status
from agent.approvals.test_log import question
from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.log import DAY_SECONDS, ApprovalLog
from fireside_agent.approvals.routes import ADDRESS, create_blueprint
from fireside_agent.store.database import Database
from fireside_agent.tools.tool import Subject

DRY_RUN = f"{ADDRESS}/dry-run"


@pytest.fixture
def web(book: RuleBook, log: ApprovalLog) -> Web:
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(book, log))
    return app.test_client()


async def call(web: Web, method: str, address: str = ADDRESS, **body: Any) -> tuple[int, Any]:
    answer = await web.open(address, method=method, json=body)
    assert answer.mimetype == "application/json"
    return answer.status_code, await answer.get_json()


async def test_rules_are_listed(web: Web, book: RuleBook, clock: Clock) -> None:
    answer = await web.get(ADDRESS)
    assert await answer.get_json() == {"ok": True, "always_allow": [], "rules": []}
    await grant_status(book, expires_at=clock.now + 1)
    await book.grant(tool="write", kind="tool", scope="always", risk="change", granted_from=CARD)
    await book.grant(tool="edit", kind="tool", scope="session", risk="change", granted_from=CARD)
    shown = await (await web.get(ADDRESS)).get_json()
    assert shown["always_allow"] == ["write"]
    assert [rule["tool"] for rule in shown["rules"]] == ["bash", "write", "edit"]
    assert shown["rules"][0] == {
        "id": book.list()[0].id, "tool": "bash", "kind": "command_prefix", "value": ["git", "status"],
        "scope": "always", "session_id": None, "words": "Always allow `git status …`",
        "granted_from": {"session_id": "chat", "call_id": "call"}, "created_at": clock.now,
        "expires_at": clock.now + 1,
    }  # fmt: skip
    clock.now += 1
    assert len((await (await web.get(ADDRESS)).get_json())["rules"]) == 2


async def test_revoking_answers_what_is_gone(web: Web, book: RuleBook, clock: Clock) -> None:
    rule = await grant_status(book)
    await grant_status(book, value=("ls",))
    status, body = await call(web, "DELETE", id=rule.id)
    assert (status, [each["id"] for each in body["revoked"]]) == (200, [rule.id])
    assert book.allows("bash", Subject(command="git status"), "chat", clock.now) is None
    assert (await call(web, "DELETE", id=rule.id))[0] == 404
    status, body = await call(web, "DELETE", tool="bash")
    assert (status, [each["value"] for each in body["revoked"]]) == (200, [["ls"]])
    assert await call(web, "DELETE", tool="bash") == (200, {"ok": True, "revoked": []})
    assert book.list() == []


@pytest.mark.parametrize("body", [{}, {"tool": ""}, {"tool": None}, {"other": 1}])
async def test_revoking_needs_a_tool(web: Web, body: dict[str, Any]) -> None:
    assert await call(web, "DELETE", **body) == (
        400,
        {"error": {
            "message": "tool required", "type": "invalid_request_error", "code": "tool_required",
            "param": "tool"
        }},
    )  # fmt: skip


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_nothing_is_granted_over_http(web: Web, book: RuleBook, method: str) -> None:
    answer = await web.open(ADDRESS, method=method, json={"tool": "write", "kind": "tool"})
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "DELETE"}
    assert (await answer.get_json())["error"]["code"] == "method_not_allowed"
    assert book.list() == []


async def test_a_dry_run_tells_what_a_rule_would_have_done(
    web: Web, log: ApprovalLog, book: RuleBook, clock: Clock
) -> None:
    start = clock.now
    commands = {
        "old": "git status",
        "c1": "git status",
        "c2": "git status -s",
        "c3": "git status; ls",
        "c4": "git  status .",
    }
    for call_id, command in commands.items():
        clock.now = start - (31 * DAY_SECONDS if call_id == "old" else 0)
        await log.ask(question(call_id, subject=Subject(command=command), arguments={"half": "\ud800"}))
    await log.ask(question("c5", tool="other", subject=Subject(command="git status")))
    await log.settle("chat", "m1", "c1", "allow", "person")
    await log.settle("chat", "m1", "c2", "deny", "person", "no")
    status, body = await call(
        web, "POST", DRY_RUN, tool="bash", kind="command_prefix", value=["git", "status"]
    )
    assert status == 200
    assert (body["days"], body["count"]) == (30, 3)
    assert body["decided"] == {"allow": 1, "deny": 1, "open": 1}
    shown = {
        each["call_id"]: (each["decision"], each["why"], each["subject"]["command"])
        for each in body["approvals"]
    }
    assert shown == {
        "c1": ("allow", None, "git status"), "c2": ("deny", "no", "git status -s"), "c4": (None, None,
        "git  status ."),
    }  # fmt: skip
    assert body["approvals"][0]["arguments"] == {"half": "\ud800"}
    assert (await call(web, "POST", DRY_RUN, tool="bash", kind="tool"))[1]["count"] == 4
    assert book.list() == []
    assert len(await log.open("chat")) == 4


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"kind": "tool"}, "tool"),
        ({"tool": 1, "kind": "tool"}, "tool"),
        ({"tool": "bash", "kind": "all"}, "kind"),
        ({"tool": "bash"}, "kind"),
        ({"tool": "bash", "kind": "command_prefix", "value": 1}, "value"),
        ({"tool": "bash", "kind": "command_prefix", "value": ["git", 1]}, "value[1]"),
        ({"tool": "bash", "kind": "command_prefix", "value": ["env", "ls"]}, "value"),
        ({"tool": "edit", "kind": "path", "value": "/**"}, "value"),
    ],
)
async def test_a_wrong_rule_is_refused_with_its_field(web: Web, body: dict[str, Any], param: str) -> None:
    status, answer = await call(web, "POST", DRY_RUN, **body)
    assert (status, answer["error"]["param"]) == (400, param)


@pytest.mark.parametrize(
    ("data", "content_type", "status", "code"),
    [
        (b"{", "application/json", 400, "invalid_json"),
        (b"", "application/json", 400, "invalid_json"),
        (b'{"tool": "\xff"}', "application/json", 400, "invalid_json"),
        (b"[]", "application/json", 400, "invalid_request"),
        (b'{"tool": "bash"}', "text/plain", 415, "unsupported_media_type"),
        (b"tool=bash", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
    ],
)
async def test_a_body_that_is_no_json_is_refused(
    web: Web, book: RuleBook, data: bytes, content_type: str, status: int, code: str
) -> None:
    await grant_status(book)
    answer = await web.delete(ADDRESS, data=data, headers={"Content-Type": content_type})
    assert (answer.status_code, (await answer.get_json())["error"]["code"]) == (status, code)
    assert len(book.list()) == 1


async def test_a_database_that_fails_is_said(web: Web, book: RuleBook, database: Database) -> None:
    await grant_status(book)
    await database.close()
    status, body = await call(web, "DELETE", tool="bash")
    assert (status, body["error"]["code"]) == (503, "storage_failed")

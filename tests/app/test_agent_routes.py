"""The agent's routes on a whole Fireside, after a chat with a real model."""

from __future__ import annotations

import json
from typing import Any

import httpx

from app.test_agent_conversation import Person
from support.server import Server


def upload(server: Server, name: str, content: bytes) -> Any:
    files = {"file": (name, content, "text/plain")}
    return httpx.post(server.url + "/api/attachments", files=files).raise_for_status().json()


def export(server: Server, session_id: str, form: str) -> str:
    parameters = {"id": session_id, "format": form}
    return httpx.get(f"{server.url}/api/sessions/export", params=parameters).raise_for_status().text


def revoke(server: Server, rule_id: str) -> None:
    address = server.url + "/api/settings/tool-approvals"
    httpx.request("DELETE", address, json={"id": rule_id}).raise_for_status()


async def test_what_was_said_is_found_exported_and_imported(server: Server) -> None:
    server.put("/api/settings/instructions", {"instructions": "Be brief."})
    note = upload(server, "plan.txt", b"plant ostrich fern")
    person = Person(server)
    await person.says("Repeat: quiet heron")
    await person.sees_answer()
    async with person.page() as page:
        attached = [{"sha256": note["sha256"], "name": note["name"]}]
        await page.send(
            "prompt", session_id=person.session_id, text="Hello", client_id="c2", attachments=attached
        )
        message = (await page.until("turn_end"))["message"]
    assert message["receipt"]["instructions"] == "Be brief."
    server.put("/api/settings/instructions", {"instructions": ""})
    hits = server.get(f"/api/search?q=heron&session_id={person.session_id}")["hits"]
    assert {(hit["kind"], hit["role"]) for hit in hits} >= {("message", "user"), ("message", "assistant")}
    assert "<mark>heron</mark>" in hits[0]["snippet"]
    [file] = server.get("/api/search?q=ostrich&kind=attachment")["hits"]
    assert (file["name"], file["session_id"]) == ("plan.txt", person.session_id)
    answer = server.post("/api/sessions/import", json.loads(export(server, person.session_id, "json")))
    assert [chat["messages"] for chat in answer["imported"]] == [4]
    again = Person(server, answer["imported"][0]["id"])
    async with again.page() as page:
        assert next(iter(page.messages.values()))["text"] == "Repeat: quiet heron"
    markdown = export(server, person.session_id, "markdown")
    assert "quiet heron" in markdown
    assert "plan.txt" in markdown
    names = {tool["name"]: tool["usual"] for tool in server.get("/api/tools")["tools"]}
    assert (names["read"], names["web_search"], names["bash"]) == (True, True, False)


async def test_rules_granted_on_a_card_are_listed_tried_and_taken_back(server: Server) -> None:
    person = Person(server)
    await person.says("Run `ls`.")
    call = await person.sees_question()
    async with person.page() as page:
        await page.send(
            "approval",
            session_id=person.session_id,
            call_id=call["call_id"],
            decision="allow",
            always="rule",
        )
        await page.until("turn_end")
    [rule] = server.get("/api/settings/tool-approvals")["rules"]
    assert (rule["tool"], rule["kind"], rule["value"]) == ("bash", "command_prefix", ["ls"])
    trial = {"tool": "bash", "kind": "command_prefix", "value": ["ls"]}
    assert server.post("/api/settings/tool-approvals/dry-run", trial)["count"] == 1
    other = Person(server)
    await other.says("Run `ls`.")
    await other.sees_answer()
    revoke(server, rule["id"])
    assert server.get("/api/settings/tool-approvals")["rules"] == []
    last = Person(server)
    await last.says("Run `ls`.")
    assert (await last.sees_question())["preview"]["text"] == "ls"


def test_foreign_pages_reach_none_of_it(server: Server) -> None:
    foreign = {"Origin": "http://evil.example"}
    for method, path in (
        ("POST", "/api/attachments"),
        ("POST", "/api/sessions/import"),
        ("POST", "/api/memory/init"),
        ("PUT", "/api/settings/instructions"),
        ("PUT", "/api/settings/mcp/x"),
        ("DELETE", "/api/settings/tool-approvals"),
        ("PUT", "/api/presets/x"),
    ):
        assert httpx.request(method, server.url + path, headers=foreign).status_code == 403, path
    rebound = {"Host": "evil.example"}
    for path in ("/api/search?q=a", "/api/sessions/export?all=1", "/api/memory/list", "/api/tools"):
        assert httpx.get(server.url + path, headers=rebound).status_code in (403, 421), path

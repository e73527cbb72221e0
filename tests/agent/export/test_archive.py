"""Several chats as a zip, and zips as chats; the routes' answers."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from email.message import Message as Headers

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.export.place import Place, message, session
from agent.export.test_foreign import CHATGPT
from agent.export.test_json import comparable
from agent.scripted import serving
from fireside_agent.attachments.names import clean_name, disposition, file_name
from fireside_agent.export import importing
from fireside_agent.export.archive import UniqueNames, ZipStream


def zipped(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return made.getvalue()


async def fifty(place: Place) -> None:
    titles = [
        "Same",
        "same",
        "../../etc/passwd",
        "CON",
        "",
        "a/b\\c",
        "\u4f60\u597d \U0001f469\u200d\U0001f467",
        "x" * 500,
    ]
    for n in range(50):
        names = [f"{n}-p", f"{n}-a"]
        messages = [message(names[0], None), message(names[1], names[0], text=f"answer {n}")]
        await place.add(session(messages, id=f"s{n}", title=titles[n % len(titles)], modified_at=1e9 + n))


async def test_fifty_chats_go_out_and_come_in(place: Place) -> None:
    await fifty(place)
    made = await place.export("all=1&format=json")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len({name.casefold() for name in names}) == 50
        assert not [
            name
            for name in names
            if set(name) & set('/\\:"<>|?*') or name.startswith(".") or len(name.encode()) > 255
        ]
        assert "_CON.json" in names
        assert archive.infolist()[0].date_time == (2001, 9, 9, 1, 47, 28)
        one = archive.read(names[0])
    answer = await place.load(made, "application/zip")
    assert len(answer["imported"]) == 50
    again = await place.export(f"id={answer['imported'][0]['id']}&format=json")
    assert comparable(again) == comparable(one)

    chosen = await place.export("id=s3&id=s4&id=s3")
    with zipfile.ZipFile(io.BytesIO(chosen)) as archive:
        assert archive.namelist() == ["_CON.md", "chat.md"]
        assert b"answer 3" in archive.read("_CON.md")


async def test_on_a_real_socket_with_a_form(place: Place) -> None:
    await fifty(place)
    async with (
        serving(place.app) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
    ):
        made = await http.get("/api/sessions/export", params={"all": 1, "format": "json"})
        assert made.headers["content-type"] == "application/zip"
        assert made.headers["content-disposition"].startswith("attachment; filename=")
        files = [("file", ("a.zip", made.content)), ("file", ("c.json", json.dumps([CHATGPT])))]
        answer = await http.post("/api/sessions/import", files=files)
        assert len(answer.json()["imported"]) == 51
        form = await http.post("/api/sessions/import", data={"file": "x"}, files=[])
        assert form.status_code == 415
        text = await http.post("/api/sessions/import", content=b"{}", headers={"Content-Type": "text/plain"})
        assert (text.status_code, text.json()["error"]["code"]) == (415, "unsupported_media_type")
        nothing = await http.post("/api/sessions/import", files={"other": ("", b"")})
        assert nothing.status_code == 400
        cut = await http.post(
            "/api/sessions/import",
            content=b"--x\r\nContent-",
            headers={"Content-Type": "multipart/form-data; boundary=x"},
        )
        assert (cut.status_code, cut.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_file_names_in_any_script(place: Place) -> None:
    await place.add(session([message("p", None)], title='Caf\u00e9 "\u4f60\u597d"\r\nX-Evil: 1'))
    response = await place.app.test_client().get("/api/sessions/export?id=s1&format=markdown")
    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert "X-Evil" not in response.headers
    header = response.headers["Content-Disposition"]
    assert header.isascii()
    parsed = Headers()
    parsed["Content-Disposition"] = header
    assert parsed.get_filename() == "Cafe -- X-Evil- 1.md"
    assert "filename*=UTF-8''Caf%C3%A9%20-%E4%BD%A0%E5%A5%BD-%20X-Evil-%201.md" in header


@pytest.mark.parametrize(
    ("query", "status", "param"),
    [
        ("id=nobody", 404, "id"),
        ("id=s1&id=nobody", 404, "id"),
        ("id=gone", 404, "id"),
        ("id=s1&format=pdf", 400, "format"),
        ("id=s1&reasoning=yes", 400, "reasoning"),
        ("id=s1&branches=none", 400, "branches"),
        ("", 400, "id"),
    ],
)
async def test_what_cannot_be_exported(place: Place, query: str, status: int, param: str) -> None:
    await place.add(session([message("p", None)]), session([message("g", None)], id="gone"))
    await place.sessions.delete("gone")
    response = await place.app.test_client().get(f"/api/sessions/export?{query}")
    error = json.loads(await response.get_data(as_text=False))["error"]
    assert (response.status_code, error["param"], error["type"]) == (status, param, "invalid_request_error")


async def test_all_of_nothing_is_an_empty_zip(place: Place) -> None:
    assert zipfile.ZipFile(io.BytesIO(await place.export("all=1"))).namelist() == []


async def test_zips_that_are_not_ours(place: Place) -> None:
    chats = json.dumps([CHATGPT]).encode()
    made = zipped(user_dot_json=b"{}", chat_dot_html=b"x", export__conversations_dot_json=chats)
    assert len((await place.load(made, "application/zip"))["imported"]) == 1
    mixed = await place.load(zipped(readme_dot_txt=b"x", mine_dot_json=chats), "application/zip")
    assert mixed["skipped"] == [{"title": "readme.txt", "why": "only JSON can be imported"}]
    before = place.everything()
    flipped = bytearray(made)
    flipped[made.index(b"conversations.json") + 100] ^= 0xFF
    for data in (
        made[: len(made) // 2],
        bytes(flipped),
        zipped(a_dot_json=chats, b_dot_json=b"{"),
        zipped(),
        b"PK\x03\x04",
    ):
        status, answer = await place.send(data, "application/zip")
        assert status == 400, answer
    assert place.everything() == before


async def test_what_comes_out_of_a_zip_is_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(a_dot_json=b" " * 50_000_000)
    assert len(bomb) < 500_000
    monkeypatch.setattr(importing, "MAX_BYTES", 1_000_000)
    tracemalloc.start()
    try:
        status, answer = await place.send(bomb, "application/zip")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert (status, "more than 1 MB" in answer["error"]["message"]) == (400, True)


async def test_an_upload_over_the_cap_is_refused_at_once(place: Place) -> None:
    place.app.config["MAX_CONTENT_LENGTH"] = None
    response = await place.app.test_client().post(
        "/api/sessions/import", data=b"{}",
        headers={"Content-Type": "application/json", "Content-Length": str(importing.MAX_BYTES + 2**20)},
    )  # fmt: skip
    answer = json.loads(await response.get_data(as_text=False))
    assert (response.status_code, answer["error"]["code"]) == (413, "too_large")


def test_a_zip_is_given_away_piece_by_piece() -> None:
    stream = ZipStream()
    first = stream.add("a", b"1" * 1000, 0)
    assert first.startswith(b"PK\x03\x04")
    rest = stream.add("b", b"2", 1e11) + stream.finish()
    with zipfile.ZipFile(io.BytesIO(first + rest)) as archive:
        assert archive.read("a") + archive.read("b") == b"1" * 1000 + b"2"
        assert [info.date_time[0] for info in archive.infolist()] == [1980, 2107]


@given(titles=st.lists(st.text(), max_size=20))
def test_any_titles_make_safe_unique_names(titles: list[str]) -> None:
    unique = UniqueNames()
    names = [unique.name(title, ".md") for title in titles]
    assert len({name.casefold() for name in names}) == len(titles)
    for name in names:
        assert not set(name) & set('/\\:*?"<>|\0\n')
        assert name.strip(" ") == name
        assert name.removesuffix(".md").strip(".")
        assert len(name.encode()) <= 255


@given(name=st.text())
def test_any_name_fits_a_header(name: str) -> None:
    cleaned = clean_name(name, "file")
    header = disposition("attachment", cleaned)
    assert header.isascii()
    assert header.isprintable()
    assert "/" not in cleaned
    assert file_name(name, "chat")

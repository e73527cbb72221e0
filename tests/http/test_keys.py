"""Keys, sessions, links, guesses and origins, each by itself."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from fireside.http import guesses, keys, login, sessions
from fireside.http.cors import OriginPolicy, parse_origin
from fireside.http.guesses import GuessLimit
from fireside.http.key_flags import read_key_flags
from fireside.http.keys import KeyRing, TooManyKeys, digest
from fireside.http.login import LoginCodes, login_link
from fireside.http.private_files import UnsafeFile, read_private, write_private
from fireside.http.sessions import SessionStore


class Clock:
    def __init__(self) -> None:
        self.at = 1_000_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


def key_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "keys.txt"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_keys_come_from_flags_and_files_each_once(tmp_path: Path) -> None:
    path = key_file(tmp_path, "two\n\n  three \r\ntwo\n")
    assert read_key_flags(["one", f"@{path}"], [path]) == ("one", "two", "three")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path, "secret\n", mode)
    with pytest.raises(UnsafeFile, match="chmod 600") as caught:
        read_key_flags([f"@{path}"], [])
    assert str(path) in str(caught.value)


def test_a_key_file_without_keys_or_none_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFile, match="no API key"):
        read_key_flags([], [key_file(tmp_path, "\n \n")])
    with pytest.raises(UnsafeFile, match="absent"):
        read_key_flags(["@" + str(tmp_path / "absent")], [])


@pytest.mark.parametrize("key", ["", "two words", "käse", "a\nb", "tab\there"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        read_key_flags([key], [])


def test_a_private_file_is_replaced_whole_and_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    old = os.umask(0)
    try:
        for data in (b"one", b"two"):
            write_private(path, data)
            assert (read_private(path), path.stat().st_mode & 0o777) == (data, 0o600)
    finally:
        os.umask(old)
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


async def test_a_created_key_is_good_at_once_after_a_restart_and_until_it_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    ring = KeyRing(["given-key"], path)
    key, secret = await ring.create("phone")
    again = KeyRing([], path)
    assert ring.find(secret) == again.find(secret) == key.id
    assert path.stat().st_mode & 0o777 == 0o600
    assert secret not in path.read_text()
    assert "given-key" not in path.read_text()
    assert hashlib.sha256(secret.encode()).hexdigest() in path.read_text()
    assert await ring.delete(key.id)
    assert not await ring.delete(key.id)
    assert ring.find(secret) is KeyRing([], path).find(secret) is None


async def test_all_digests_are_compared_whichever_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = KeyRing(["one", "two"], tmp_path / "keys.json")
    _, third = await ring.create("three")
    compared: list[tuple[bytes, bytes]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(keys.hmac, "compare_digest", compare)
    for shown in ("one", "two", third, "wrong", ""):
        compared.clear()
        ring.find(shown)
        assert len(compared) == 3
        assert {len(side) for pair in compared for side in pair} == {32}


async def test_the_time_of_use_is_written_later_and_not_on_every_use(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    ring = KeyRing([], path)
    key, _ = await ring.create("busy")
    before = path.stat().st_mtime_ns, path.stat().st_ino
    for _ in range(100):
        ring.used(key.id)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    (info,) = ring.infos()
    await ring.close()
    assert KeyRing([], path).infos()[0].last_used == pytest.approx(info.last_used)
    assert path.stat().st_ino != before[1]


async def test_there_are_only_so_many_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MAX_CREATED", 2)
    ring = KeyRing([], tmp_path / "keys.json")
    for name in "ab":
        await ring.create(name)
    with pytest.raises(TooManyKeys):
        await ring.create("c")


@pytest.mark.parametrize("text", ["{", "[]", '{"keys": [{"id": 1}]}', '{"keys": 3}'])
def test_a_broken_file_of_keys_is_named(tmp_path: Path, text: str) -> None:
    path = key_file(tmp_path, text)
    with pytest.raises(UnsafeFile, match="not a file of API keys") as caught:
        KeyRing([], path)
    assert str(path) in str(caught.value)


async def test_a_session_outlives_a_restart_and_ends_with_its_time(tmp_path: Path, clock: Clock) -> None:
    path, ring = tmp_path / "sessions.json", KeyRing([], tmp_path / "keys.json")
    token = await SessionStore(path, ring, [], clock).open_by_link()
    again = SessionStore(path, ring, [], clock)
    assert again.good(token)
    assert not again.good("")
    assert token not in path.read_text()
    clock.at += sessions.LIFETIME_S
    assert not again.good(token)


async def test_a_session_ends_with_the_key_that_opened_it(tmp_path: Path) -> None:
    path, ring = tmp_path / "sessions.json", KeyRing(["given"], tmp_path / "keys.json")
    key, secret = await ring.create("phone")
    store = SessionStore(path, ring, ["given"])
    by_created = await store.open_by_key(secret, key.id)
    by_given = await store.open_by_key("given", "given-1")
    assert store.good(by_created)
    assert store.good(by_given)
    await ring.delete(key.id)
    assert not store.good(by_created)
    assert SessionStore(path, ring, ["other", "given"]).good(by_given)
    assert not SessionStore(path, ring, ["other"]).good(by_given)


async def test_a_session_that_was_ended_is_forgotten_and_the_oldest_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 3)
    path = tmp_path / "sessions.json"
    store = SessionStore(path, KeyRing([], tmp_path / "keys.json"), [])
    tokens = [await store.open_by_link() for _ in range(4)]
    assert [store.good(token) for token in tokens] == [False, True, True, True]
    await store.end(tokens[1])
    assert not store.good(tokens[1])
    assert digest(tokens[1]).hex() not in path.read_text()


def code_of(link: str) -> str:
    return link.partition("code=")[2]


def test_a_link_works_once_and_not_after_ten_minutes(tmp_path: Path, clock: Clock) -> None:
    codes = LoginCodes(tmp_path / "login.secret", clock)
    link = codes.link("http://127.0.0.1:8080/")
    assert link.startswith("http://127.0.0.1:8080/login?code=")
    assert codes.redeem(code_of(link))
    assert not codes.redeem(code_of(link))
    late = code_of(codes.link("http://x"))
    clock.at += login.LIFETIME_S + 1
    assert not codes.redeem(late)
    assert codes.redeem(code_of(codes.link("http://x")))


def test_a_link_is_made_from_the_secret_file_and_ends_with_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "login.secret"
    first = LoginCodes(path)
    link = login_link("https://hearth.example", path)
    assert link.startswith("https://hearth.example/login?code=")
    assert path.stat().st_mode & 0o777 == 0o600
    second = LoginCodes(path)
    assert not second.redeem(code_of(link))
    assert first.redeem(code_of(link))


@pytest.mark.parametrize("make", [
    lambda code: "", lambda code: "..", lambda code: code[:-1], lambda code: code + "0",
    lambda code: "9" + code, lambda code: code.upper(), lambda code: code.rpartition(".")[0] + ".",
    lambda code: "ü.ü.ü", lambda code: "99999999999.x." + "0" * 64,
])  # fmt: skip
def test_a_code_that_was_not_signed_opens_nothing(tmp_path: Path, make: Any) -> None:
    codes = LoginCodes(tmp_path / "login.secret")
    code = code_of(codes.link("http://x"))
    assert not codes.redeem(make(code))
    assert codes.redeem(code)


def test_wrong_keys_are_slowed_but_not_the_same_one_again(clock: Clock) -> None:
    limit = GuessLimit(clock)
    tried = [digest(str(number)) for number in range(guesses.BURST)]
    for shown in tried:
        assert limit.wait_s("10.0.0.1") == 0
        assert not limit.is_known("10.0.0.1", shown)
        limit.count("10.0.0.1", shown)
    assert limit.wait_s("10.0.0.1") >= 1
    assert limit.wait_s("10.0.0.2") == 0
    assert limit.is_known("10.0.0.1", tried[-1])
    clock.at += 1 / guesses.PER_SECOND
    assert limit.wait_s("10.0.0.1") == 0
    limit.count("10.0.0.1", digest("more"))
    assert limit.wait_s("10.0.0.1") >= 1
    clock.at += 3600
    for number in range(guesses.BURST):
        assert limit.wait_s("10.0.0.1") == 0
        limit.count("10.0.0.1", digest(f"later {number}"))
    assert limit.wait_s("10.0.0.1") >= 1


def test_a_household_has_one_budget_and_what_is_kept_is_bounded(clock: Clock) -> None:
    limit = GuessLimit(clock)
    for number in range(guesses.BURST):
        limit.count(f"2001:db8::{number:x}", digest(str(number)))
    assert limit.wait_s("2001:db8::ffff") >= 1
    assert limit.wait_s("2001:db8:0:1::1") == 0
    begin = time.monotonic()
    for number in range(5000):
        limit.count(f"10.1.{number // 256}.{number % 256}", digest("x"))
    assert time.monotonic() - begin < 2
    assert limit.wait_s("2001:db8::ffff") == 0


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("http://localhost:3000", "http://localhost:3000"),
        ("HTTPS://Chat.Example/", "https://chat.example"),
        ("https://a.example:443", "https://a.example"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("app://obsidian.md", "app://obsidian.md"),
    ],
)
def test_an_origin_is_read_as_browsers_write_it(text: str, origin: str) -> None:
    assert parse_origin(text) == origin


@pytest.mark.parametrize(
    "text",
    ["*", "null", "", "localhost:3000", "http://", "http://a/b", "https://*.example", "http://a:x", "//a"],
)
def test_what_is_not_exactly_one_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an origin"):
        parse_origin(text)


def test_an_origin_may_use_v1_alone() -> None:
    policy = OriginPolicy.of(["http://localhost:3000"])
    allowed = [path for path in ("/v1", "/v1/models", "/v1x", "/api/keys", "/ws", "/", "/tokenize")
               if policy.allows("http://localhost:3000", path)]  # fmt: skip
    assert allowed == ["/v1", "/v1/models"]
    assert not policy.allows("http://localhost:3001", "/v1/models")

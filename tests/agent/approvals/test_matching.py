"""Globs against the `glob` module on real files, hosts, and what a rule may not say."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fireside_agent.approvals.matching import (
    checked_value,
    folding,
    host_matches,
    ignore_case,
    matches,
    path_matches,
)
from fireside_agent.approvals.rules import Kind, RuleRefusedError, Value
from fireside_agent.tools.tool import Subject

FILES = [
    "a", "ab", "b.md", "A.md", ".hidden", "a [1].md", "x/a", "x/b.md", "x/.env", "x/y/b.md", "x/y/z/a",
    ".git/config",
    "x/.git/hooks/a", "x/y/.b.md",
]  # fmt: skip
PARTS = [
    "**",
    "*",
    "?",
    "*.md",
    "a*",
    "[ab]",
    "[!a]*",
    ".*",
    ".git",
    "x",
    "y",
    "a",
    "b.md",
    "a [1].md",
    "[",
    "A.md",
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree").resolve()
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=5))
@example(parts=["**", "**", "a"])
@example(parts=["x", "**"])
def test_globs_name_the_files_that_a_shell_names(parts: list[str], tree: Path) -> None:
    pattern = "/".join(parts)
    # Not `Path.glob`, whose wildcards match names that begin with a dot.
    found = glob.glob(pattern, root_dir=tree, recursive=True)  # noqa: PTH207
    expected = set(found) & set(FILES)
    assert {name for name in FILES if path_matches(f"{tree}/{pattern}", f"{tree}/{name}")} == expected


@pytest.mark.parametrize(
    "path",
    ["/w/notes/../secret", "/w/notes/./a", "/w/notes//a", "w/notes/a", "notes/a", "", "/", "/w/notes/",
    "//w/notes/a",
     "/w/notesx/a", "/x/w/notes/a", "/w/notes/.git/hooks/pre-commit", "/w/notes/.env"],
)  # fmt: skip
def test_a_folder_does_not_cover(path: str) -> None:
    assert path_matches("/w/notes/**", "/w/notes/deep/er/a.md")
    assert not path_matches("/w/notes/**", path)


def test_links_lead_out_of_a_rule(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "notes").mkdir()
    (root / "secret").write_text("s")
    (root / "notes" / "link").symlink_to(root / "secret")
    subject = Subject(path=str((root / "notes" / "link").resolve()))
    assert not matches("path", f"{root}/notes/**", subject)
    assert matches("path", f"{root}/notes/**", Subject(path=f"{root}/notes/plain"))


def test_many_stars_do_not_explode() -> None:
    pattern = "/" + "/".join(["**"] * 200) + "/end"
    assert not path_matches(pattern, "/" + "/".join(["x"] * 200))
    assert not path_matches("/w/" + "*a" * 50, "/w/" + "a" * 200 + "b")


def test_case_follows_the_file_system(tmp_path: Path) -> None:
    assert not path_matches("/w/Notes/*", "/w/notes/a")
    assert path_matches("/w/Notes/Caf\u00e9", "/w/notes/cafe\u0301", ignore_case)
    (tmp_path / "Notes").mkdir()
    distinguishes = not (tmp_path / "nOTES").exists()
    assert folding(tmp_path / "Notes" / "missing") is (str if distinguishes else ignore_case)
    if distinguishes:
        (tmp_path / "nOTES").symlink_to(tmp_path / "Notes")
        assert folding(tmp_path / "Notes" / "missing") is ignore_case


@pytest.mark.parametrize(
    "host", ["sub.example.org", "a.b.example.org", "SUB.Example.ORG", "sub.example.org."]
)
def test_a_host_wildcard_covers_what_is_below(host: str) -> None:
    assert host_matches("*.example.org", host)


@pytest.mark.parametrize(
    "host",
    ["example.org", "evilexample.org", "example.org.evil.net", ".example.org", "sub.example.org.evil.net", "",
     "sub.example.org:80", "sub.example.org/x", "a@sub.example.orgx", "*.example.orgx", "sub..example.org",
     "127.0.0.1"],
)  # fmt: skip
def test_a_host_wildcard_does_not_cover(host: str) -> None:
    assert not host_matches("*.example.org", host)


def test_hosts_are_compared_as_dns_compares_them() -> None:
    assert host_matches("example.org", "EXAMPLE.org.")
    assert not host_matches("example.org", "sub.example.org")
    assert checked_value("host", "B\u00fccher.Example") == "xn--bcher-kva.example"
    assert host_matches("xn--bcher-kva.example", "b\u00fccher.example")
    assert not host_matches("example.org", "ex\u0430mple.org")
    assert host_matches("::1", "::1")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("tool", "x"), ("tool", ("x",)),
        ("command", ""), ("command", "  "), ("command", ("ls",)),
        ("command_prefix", ()), ("command_prefix", "ls"), ("command_prefix", ("env", "ls")),
        ("command_prefix", ("git",)),
        ("path", ""), ("path", "notes/*"), ("path", "/w/../etc/*"), ("path", "/w//a"), ("path", "/w/a**"),
        ("path", "/**"), ("path", "/*/x"), ("path", "/"), ("path", f"{Path.home()}/**"), ("path",
        f"{Path.home()}/*"),
        ("path", "/" + "x" * 5000), ("path", ("/w",)),
        ("host", ""), ("host", "*"), ("host", "*.org"), ("host", "*.0.0.1"), ("host", "a.*.org"), ("host",
        "a b"),
        ("host", "http://x.example"), ("host", "x.example:80"), ("host", "**.example.org"), ("host", "a..b"),
    ],
)  # fmt: skip
def test_no_rule_is_made_of(kind: Kind, value: Value) -> None:
    with pytest.raises(RuleRefusedError):
        checked_value(kind, value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("tool", ""), ("command", "ls; touch x"), ("command_prefix", ("git", "status")), ("path",
        "/w/notes/**/*.md"),
        ("path", f"{Path.home()}/notes/**"), ("path", f"{Path.home()}/.profile"), ("host", "*.example.org"),
        ("host", "127.0.0.1"), ("host", "::1"), ("host", "localhost"),
    ],
)  # fmt: skip
def test_a_rule_is_made_of(kind: Kind, value: Value) -> None:
    assert checked_value(kind, value) == value


def test_an_exact_command_is_exact() -> None:
    assert matches("command", "ls; ls", Subject(command="ls; ls"))
    assert not matches("command", "ls; ls", Subject(command="ls; ls "))


def test_what_a_call_does_not_have_matches_nothing() -> None:
    rules: list[tuple[Kind, Value]] = [
        ("command", ""), ("command_prefix", ("ls",)), ("path", "/w/**"), ("host", "x.example"), ("host", ""),
    ]  # fmt: skip
    assert not any(matches(kind, value, Subject()) for kind, value in rules)

"""Prefix rules against real shells: what a rule lets through runs the allowed program and nothing else."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.approvals.shells import PROGRAMS, SHELLS, Shell
from fireside_agent.approvals.commands import check_prefix, covers, read_command, suggest_prefix
from fireside_agent.approvals.programs import NotSimpleError

LS = ("ls",)
FIXTURE = [
    "ls -la", "ls; touch pwned", "ls && touch pwned", "ls | sh", "ls $(touch pwned)", "ls `touch pwned`",
    "ls\ntouch pwned", "ls > pwned", "env ls", "lsof", "X=1 ls", '"ls" && touch pwned',
]  # fmt: skip

PREFIXES = {
    LS: ["ls", "'ls'", "l\\s", '"ls"'],
    ("git", "status"): ["git status", "git  'status'", 'g\\it stat"us"'],
}
PLAIN = [
    "-la", "src", "'a b'", '"c d"', "a\\ b", "x=1", "--color", "''", '""', "'$(touch pwned)'",
    "'; touch pwned'",
    "\\;", "\\$x", '"\\$x"', '"a\\"b"', '"\\`touch pwned\\`"', "a#b", "%1", "é", "]", "'#'", "\\#", "'\\'",
    '"\\a"',
    '"\\\\"', "\\|", "'\"'", '"\'"', "^", "@", "+", ",", "a'b'\"c\"d",
]  # fmt: skip
EXPANDING = ["*.py", "a?", "[", "[ab]", "~", "HEAD~1"]
HOSTILE = [
    "'", '"', "\\", ";", "&&", "||", "|", "|&", "&", ">", ">>", "2>", "<", "<<", "<<<", ">|", "&>", "\n",
    "\r", "\t",
    "(", ")", "{", "}", "; }", "!", "!!", "$(touch pwned)", "`touch pwned`", "<(touch pwned)",
    ">(touch pwned)",
    '"$(touch pwned)"', '"`touch pwned`"', "$HOME", "${HOME}", '"$HOME"', "$'x'", '$"x"', "$((1))", "X=1",
    "{a,b}",
    "#", "time", "coproc", "if", "then", "fi", "touch pwned", "pwned", "env", "sh -c", "eval", "exec",
    "command",
    "\\\n", "\u00a0", "\u2028", "\u202e", "x*(a)", "() { touch pwned; }", "EOF",
]  # fmt: skip
# Mostly harmless ones and programs, so that one hostile piece among them decides.
ANY = (
    st.sampled_from(["ls", "touch pwned", "a"])
    | st.sampled_from(PLAIN + EXPANDING)
    | st.sampled_from(HOSTILE)
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("shell"))


@pytest.mark.parametrize("command", FIXTURE)
def test_only_the_first_command_of_the_fixture_runs_unasked(command: str) -> None:
    assert covers(LS, command) == (command == "ls -la")


@pytest.mark.parametrize("command", [each for each in FIXTURE[1:] if each != "X=1 ls"])
def test_the_reference_sees_what_the_others_would_do(command: str, shell: Shell) -> None:
    ran = shell.run(command)
    assert ran.files or [call[0] for call in ran.programs] != ["ls"]


@st.composite
def commands(draw: st.DrawFn, pieces: st.SearchStrategy[str], gaps: list[str]) -> tuple[tuple[str, ...], str]:
    prefix = draw(st.sampled_from(list(PREFIXES)))
    text = draw(st.sampled_from(PREFIXES[prefix]))
    for piece in draw(st.lists(pieces, max_size=6)):
        text += draw(st.sampled_from(gaps)) + piece
    return prefix, text


def run_if_covered(prefix: tuple[str, ...], text: str, name: str, shell: Shell) -> None:
    """What the rule lets through runs the allowed program, with the words that were read, and no more."""
    if not covers(prefix, text):
        return
    ran = shell.run(text, name)
    assert [tuple(call[: len(prefix)]) for call in ran.programs] == [prefix], text
    assert not ran.files, text
    assert ran.status == 0, f"{text!r}: something else was looked for"
    words = read_command(text)
    if all(word.literal for word in words):
        assert ran.programs[0] == [word.text for word in words]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_piece_of_grammar_slips_another_program_through(piece: str, shell: Shell) -> None:
    for template in (
        "ls {}",
        "ls{}",
        "ls {}touch pwned",
        "ls {} touch pwned",
        "ls a{}ls",
        "{} ls",
        "ls a {} b c",
    ):
        run_if_covered(LS, template.replace("{}", piece), SHELLS[0], shell)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    made=commands(ANY, [" ", " ", "", "  "]),
    before=st.sampled_from(["", "", "", " ", "X=1 ", "time ", "! ", "env ", "{ ", "( ", "\\"]),
    name=st.sampled_from(SHELLS),
)
def test_a_covered_command_runs_the_allowed_program_only(
    made: tuple[tuple[str, ...], str], before: str, name: str, shell: Shell
) -> None:
    run_if_covered(made[0], before + made[1], name, shell)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=commands(st.sampled_from(PLAIN), [" ", "  "]), name=st.sampled_from(SHELLS))
def test_plain_words_are_covered_and_read_as_the_shell_reads_them(
    made: tuple[tuple[str, ...], str], name: str, shell: Shell
) -> None:
    prefix, text = made
    assert covers(prefix, text)
    assert shell.run(text, name).programs == [[word.text for word in read_command(text)]]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Zs"])))
)
def test_any_quoted_words_are_read_back(words: list[str]) -> None:
    assert [word.text for word in read_command(shlex.join(["ls", *words]))] == ["ls", *words]


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    covers(LS, text)
    suggest_prefix(text)


def test_words_are_compared_whole() -> None:
    assert covers(("git", "status"), "git status --short")
    assert not covers(("git", "status"), "git statusx")
    assert not covers(("git", "status"), "git")
    assert not covers(("git", "status"), "git log status")
    assert not covers(("npm", "run", "build"), "npm run build:evil")
    assert not covers((), "ls")


def test_a_pattern_is_no_word_of_a_rule() -> None:
    assert covers(("git", "show", "*"), "git show '*'")
    assert not covers(("git", "show", "a*"), "git show a*")
    assert not covers(LS, "l?")
    assert not covers(LS, "~/ls")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("find", "find . -exec touch pwned \\;"),
        ("find", "find . '-ok' touch {} +"),
        ("find", "find . -delete"),
        ("find", "find . -fprint pwned"),
        ("find", "find *"),
        ("git log", "git log --output=pwned"),
        ("git log", "git log --outp pwned"),
        ("git grep", "git grep -nO'touch pwned' x"),
        ("git diff", "git diff --ext-diff"),
        ("git", "git -c alias.status='!touch pwned' status"),
        ("git", "git commit -m x"),
        ("git", "git --exec-path=. status"),
        ("npm test", "npm test --script-shell=./pwned"),
        ("sort", "sort --compress-prog=./pwned x"),
        ("sort", "sort -uo pwned x"),
        ("rg", "rg --pre ./pwned x"),
        ("go test", "go test -exec=./pwned ./..."),
        ("python -m pytest", "python -m pytest -p pwned"),
        ("python", "python -c pass"),
    ],
)
def test_options_that_run_programs_or_write_ask(prefix: str, command: str) -> None:
    assert not covers(tuple(prefix.split()), command)


@pytest.mark.parametrize(
    "program",
    "env sudo xargs nohup time command exec eval . source sh bash zsh /bin/sh busybox ssh make perl node awk "
    "timeout gtimeout ENV Bash sh.exe perl5.36 /lib64/ld-linux-x86-64.so.2 test printf curl tar vim docker "
    "gcc-12 sed npx if git npm python3 python3.11 ls;x l* '' split ./env a=b -x".split(),
)
def test_no_rule_begins_with_a_program_that_runs_others(program: str) -> None:
    with pytest.raises(NotSimpleError):
        check_prefix((program.strip("'"),))
    assert not covers((program,), f"{program} x")
    assert suggest_prefix(f"{program} x") is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la src", "ls"),
        ("git status -s", "git status"),
        ("git  'log' --oneline -5 src/*.py", "git log"),
        ("npm test -- --watch=false", "npm test"),
        ("npm run build --if-present", "npm run build"),
        ("python3 -m pytest tests -q", "python3 -m pytest"),
        ("find . -name '*.py'", "find"),
        ("/usr/bin/git diff", "/usr/bin/git diff"),
    ],
)
def test_a_suggestion_covers_its_own_command(command: str, expected: str) -> None:
    prefix = suggest_prefix(command)
    assert prefix is not None
    assert prefix == tuple(expected.split())
    check_prefix(prefix)
    assert covers(prefix, command)


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "cat notes", "./ls", "/tmp/git status", "/usr/bin/../../tmp/ls", "npm run -x",
    "python x.py",
     "git push", "own-tool check", "git l*", "ls; ls", "ls >x", "curl x.example", ""],
)  # fmt: skip
def test_nothing_is_offered_where_no_prefix_is_known_to_be_safe(command: str) -> None:
    assert suggest_prefix(command) is None


def test_a_refusal_says_why() -> None:
    with pytest.raises(NotSimpleError, match="redirects"):
        read_command("ls > x")
    with pytest.raises(NotSimpleError, match="left open"):
        read_command("ls 'x")
    with pytest.raises(NotSimpleError, match=r"U\+202E"):
        read_command("ls \u202e")
    with pytest.raises(NotSimpleError, match="runs the program"):
        read_command("env ls")
    with pytest.raises(NotSimpleError, match="longer"):
        read_command("ls " + "x" * 10_000)


def test_stubs_stand_for_programs(shell: Shell) -> None:
    ran = shell.run("ls 'a b' '' | sort; echo > left")
    assert sorted(ran.programs) == [["ls", "a b", ""], ["sort"]]
    assert ran.files == {"left"}
    assert {"ls", "git", "touch"} <= set(PROGRAMS)

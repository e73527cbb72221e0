"""Markdown exports, as a CommonMark parser sees them."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent.export.place import Place, message, session
from fireside_agent.export.fences import close_blocks, fence
from fireside_agent.export.markdown import Options, branch, to_markdown
from fireside_agent.messages import Attachment, FileChange, Receipt, Settled, ToolCall

R42 = "# Title\n```python\nprint(1)\n```\n~~~\nx\n~~~~\nend"


def parse(text: str) -> list[Token]:
    front, rest = text.removeprefix("---\n").split("\n---\n", 1)
    assert yaml.safe_load(front)
    return MarkdownIt("commonmark").enable("table").parse(rest)


def code(tokens: list[Token]) -> list[str]:
    return [token.content for token in tokens if token.type in ("fence", "code_block")]


def headings(tokens: list[Token]) -> list[str]:
    return [tokens[n + 1].content for n, t in enumerate(tokens) if t.type == "heading_open" and t.tag == "h2"]


def normal(text: str) -> str:
    """As CommonMark reads a text, ended by a line break as all code is."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text if text.endswith("\n") else text + "\n"


def call(result: str, **fields: object) -> ToolCall:
    values = {"call_id": "c", "name": "bash", "arguments": '{"command": "cat x\\nrm x"}', "status": "done"}
    return ToolCall(**{**values, "result": result, "ms": 1240, **fields})  # type: ignore[arg-type]


def test_a_fence_inside_a_tool_result_ends_nothing() -> None:
    whole = session(
        [message("p", None), message("a", "p", tools=[call(R42)]), message("b", "a", text="AFTER **bold**")]
    )
    tokens = parse(to_markdown(whole, Options()))
    assert code(tokens).count(R42 + "\n") == 1
    (after,) = [t for t in tokens if t.type == "inline" and t.content.startswith("AFTER")]
    assert [child.type for child in after.children or []][1:3] == ["strong_open", "text"]
    fences = [t.markup for t in tokens if t.content == R42 + "\n"]
    assert fences == ["````"]


@pytest.mark.parametrize(
    ("text", "marks"), [("", 3), ("a", 3), ("``", 3), ("```", 4), ("x `````` y", 7), ("~~~", 3)]
)
def test_a_fence_is_one_longer_than_what_is_inside(text: str, marks: int) -> None:
    assert fence(text).split("\n")[0] == "`" * marks


def test_a_call_is_folded_with_its_name_first_line_and_duration() -> None:
    settled = Settled("deny", "person", "not <now>")
    change = FileChange(path="/w/a`b.txt", before="1", after="2", diff="-a\n+b\n")
    calls = [call("ok", changes=[change]), call("", status="denied", settled=settled, arguments="{bad <b>")]
    text = to_markdown(session([message("p", None), message("a", "p", tools=calls)]), Options())
    assert "<details>\n<summary><code>bash</code> · <code>cat x…</code> · 1.2 s</summary>\n\n" in text
    assert "<code>{bad &lt;b&gt;</code> · 1.2 s · denied</summary>" in text
    assert "Denied by person: not \\<now\\>" in text
    assert text.count("<details>") == text.count("\n\n</details>\n") == 2
    assert code(parse(text)) == ['{\n  "command": "cat x\\nrm x"\n}\n', "-a\n+b\n", "ok\n", "{bad <b>\n"]


def test_it_reads_as_a_conversation() -> None:
    attachment = Attachment(sha256="0" * 64, name="a*b`c.csv", media_type="text/csv", size=12345)
    whole = session(
        [
            message("p", None, text="Hello", attachments=[attachment]),
            message(
                "a",
                "p",
                text="[a link](https://example.org/a_b_c)",
                reasoning="```\nthinking",
                reasoning_ms=80,
            ),
            message("q", "a", role="user", text=""),
            message(
                "b", "q", text="half", status="error", error="it *broke*", receipt=Receipt(model="Qwen3_4B")
            ),
        ],
        title='Say "hi": #1',
        modified_at=1_700_000_100,
    )
    text = to_markdown(whole, Options())
    front = yaml.safe_load(text.split("---\n")[1])
    assert front == {
        "title": 'Say "hi": #1',
        "created": front["created"],
        "modified": front["modified"],
        "model": "pocket-135m, Qwen3_4B",
        "messages": 4,
    }
    assert str(front["modified"]).startswith("2023-11-14")
    tokens = parse(text)
    assert headings(tokens) == ["You", "Assistant · pocket-135m", "You", "Assistant · Qwen3\\_4B"]
    assert "- Attached: ``a*b`c.csv`` (text/csv, 12,345 bytes)" in text
    assert "\n[a link](https://example.org/a_b_c)\n" in text
    assert "> *Error: it \\*broke\\**" in text
    assert "*(empty)*" in text
    assert "thinking" not in text

    with_reasoning = to_markdown(whole, Options(reasoning=True))
    assert "<summary>Thinking · 80 ms</summary>\n\n> ```\n> thinking\n\n</details>" in with_reasoning
    assert headings(parse(with_reasoning)) == headings(tokens)


@pytest.mark.parametrize(
    "open_end", ["```python\nx", "~~~~\n```\n", "<!-- x", "<script>", "<pre>\n\nx", "<?php"]
)
def test_what_a_message_leaves_open_swallows_nothing(open_end: str) -> None:
    whole = session([message("p", None, text=f"a\n\n{open_end}"), message("a", "p", text="**after**")])
    tokens = parse(to_markdown(whole, Options()))
    assert headings(tokens) == ["You", "Assistant · pocket-135m"]
    assert to_markdown(whole, Options()).count(open_end) == 1


@pytest.mark.parametrize(
    "closed", ["a", "```\nx\n```", "- a\n  ```\n  b", "> ~~~\n> x", "[a]: /b\n", "a\n---", "    x"]
)
def test_what_is_closed_stays_as_it_is(closed: str) -> None:
    assert close_blocks(closed) == closed


def test_only_the_branch_that_is_shown_unless_all_are_asked_for() -> None:
    whole = session(
        [
            message("p", None),
            message("a1", "p", text="first try"),
            message("a2", "p", text="second try"),
            message("q", "a1", role="user", text="go on"),
            message("edited", None, text="another start"),
        ],
        leaf_id="q",
    )
    assert [m.id for m in branch(whole)] == ["p", "a1", "q"]
    current = to_markdown(whole, Options())
    assert "second try" not in current
    assert "another start" not in current

    everything = to_markdown(whole, Options(all_branches=True))
    assert headings(parse(everything)) == [
        "1. You · version 1 of 2, shown",
        "2. Assistant · pocket-135m · version 1 of 2, shown",
        "3. You",
        "4. Assistant · pocket-135m · version 2 of 2",
        "5. You · version 2 of 2",
    ]
    assert "*Another branch: follows message 1.*" in everything
    assert "*Another branch: begins anew.*" in everything


async def test_the_route_gives_the_same(place: Place) -> None:
    whole = session([message("p", None), message("a", "p", reasoning="thought so", tools=[call(R42)])])
    await place.add(whole)
    assert (await place.export("id=s1")).decode() == to_markdown(whole, Options())
    asked = await place.export("id=s1&format=markdown&reasoning=1&branches=all")
    assert asked.decode() == to_markdown(whole, Options(reasoning=True, all_branches=True))


any_text = st.text(st.characters(exclude_categories=["Cs"]))
FRAGMENTS = (
    "``` ```` ~~~ ` > - 1. <!-- --> <pre> </pre> <details> <script> <? <!X <![CDATA[ ]]> # --- | |-| [a]:b"
    " text * & \\ \0"
)
markdownish = st.lists(
    st.sampled_from([*FRAGMENTS.split(" "), "\n", "\n\n", " ", "    ", "\t", "\r"]), max_size=25
).map("".join)


@given(result=any_text | markdownish, text=any_text | markdownish, title=any_text, name=any_text)
@settings(max_examples=150, deadline=None)
def test_any_text_leaves_the_rest_in_place(result: str, text: str, title: str, name: str) -> None:
    calls = [call(result or "x", name=name, arguments=text)]
    whole = session(
        [
            message("p", None, text=text, error=name, status="aborted"),
            message("a", "p", reasoning=text, tools=calls, receipt=None),
            message("b", "a", text="AFTER **bold**", receipt=None),
        ],
        title=title,
    )
    tokens = parse(to_markdown(whole, Options(reasoning=True)))
    top = [tokens[n + 1].content for n, t in enumerate(tokens) if t.type == "heading_open" and t.level == 0]
    assert top[-2:] == ["Assistant", "Assistant"]
    assert "AFTER **bold**" in [t.content for t in tokens if t.type == "inline" and t.level == 1]
    blocks = code([t for t in tokens if t.level == 0])
    assert blocks[-1] == normal(result or "x")
    own = [t for t in MarkdownIt("commonmark").enable("table").parse(text) if t.level == 0]
    assert blocks[: len(code(own))] == [
        block if block.endswith("\n") or not block else block + "\n" for block in code(own)
    ]

"""Footnotes in Markdown: `[^label]` in a text, `[^label]: …` for the note.

A note stays where it is written, and is called what its label says: so no text that comes later changes what
is shown already.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_LONGEST_LABEL = 60
_KEY = "note:"
"""In lower case, as no label of a link is after it is normalized."""


def enable_notes(parser: "MarkdownIt") -> None:
    """Let `parser` read and render footnotes. Its `env` needs `references`."""
    from mdit_py_plugins.footnote.index import footnote_def

    parser.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler.before("link", "footnote_ref", _reference)
    parser.add_render_rule("footnote_ref", _render_reference)
    parser.add_render_rule("footnote_reference_open", _render_open)
    parser.add_render_rule("footnote_reference_close", _render_close)


def keys_of(env: Mapping[str, Any]) -> Iterable[str]:
    """What the notes that the blocks' parser found are called among the references."""
    return [_KEY + label.removeprefix(":") for label in env.get("footnotes", {}).get("refs", ())]


def _reference(state: "StateInline", silent: bool) -> bool:
    source, start = state.src, state.pos
    if not source.startswith("[^", start):
        return False
    end = source.find("]", start, start + _LONGEST_LABEL)
    label = source[start + 2 : max(end, 0)]
    if not label or any(character.isspace() for character in label):
        return False
    if state.env["references"].get(_KEY + label) is None:
        return False
    if not silent:
        token = state.push("footnote_ref", "", 0)
        token.content = label
    state.pos = end + 1
    return True


def _render_reference(_: Any, tokens: "Sequence[Token]", index: int, *__: Any) -> str:
    label = html.escape(tokens[index].content)
    return (
        f'<sup class="note-ref"><button type="button" data-note="{label}" '
        f'aria-label="Footnote {label}">{label}</button></sup>'
    )


def _render_open(_: Any, tokens: "Sequence[Token]", index: int, *__: Any) -> str:
    label = html.escape(tokens[index].meta["label"])
    return (
        f'<div class="note" role="note" aria-label="Footnote {label}" data-note-text="{label}">'
        f'<button type="button" class="note__back" data-note-back="{label}" '
        f'aria-label="Footnote {label}: back to the text">{label}</button>\n<div>\n'
    )


def _render_close(*_: Any) -> str:
    return "</div></div>\n"

"""An answer without markup."""

from __future__ import annotations

from fireside.text.markup import ContentText, MarkupEvent


class PlainText:
    """Stands where an `AnswerParser` does and reads nothing into the text: all of it is content."""

    def feed(self, text: str) -> list[MarkupEvent]:
        """The next piece, as it is."""
        return [ContentText(text)] if text else []

    def finish(self, truncated: bool) -> list[MarkupEvent]:
        """Nothing is ever held back."""
        return []

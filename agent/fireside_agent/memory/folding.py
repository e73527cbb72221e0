"""Text as it is compared: without case and accents."""

import re
import unicodedata

_MARKS = re.compile("[\u0300-\u036f]")


def fold(text: str) -> str:
    """Lower case, accents dropped; the marks of Japanese and Indic scripts tell letters apart, and stay."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()

"""JSON Schema's formats as regular expressions: each gives texts of its format, if not all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LONG_MONTH = r"(0[13578]|1[02])-(0[1-9]|[12]\d|3[01])"
_DATE = rf"[12]\d{{3}}-({_LONG_MONTH}|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,20}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL}){{0,3}}"
_EMAIL = rf"[A-Za-z0-9_+-]{{1,30}}(\.[A-Za-z0-9_+-]{{1,30}})?@{_LABEL}(\.{_LABEL}){{1,3}}"
_BYTE = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_PATH = r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]{1,30}){0,5}/?"
_QUERY = r"(\?[A-Za-z0-9._~!$&'()*+,;=:@/?-]{0,60})?(#[A-Za-z0-9._~-]{0,30})?"
_URI = rf"[a-z][a-z0-9+.-]{{1,15}}://{_HOST}(:\d{{1,4}})?{_PATH}{_QUERY}"
_REFERENCE = rf"({_URI}|{_PATH}{_QUERY})"
_POINTER = r"(/([A-Za-z0-9_. -]|~[01])*)*"
_DURATION_TIME = r"T(\d{1,4}H(\d{1,4}M(\d{1,4}S)?)?|\d{1,4}M(\d{1,4}S)?|\d{1,4}S)"
_DURATION_DATE = r"(\d{1,4}D|\d{1,4}M(\d{1,4}D)?|\d{1,4}Y(\d{1,4}M(\d{1,4}D)?)?)"

FORMATS: Mapping[str, str | None] = MappingProxyType({
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "duration": rf"P({_DURATION_DATE}({_DURATION_TIME})?|{_DURATION_TIME}|\d{{1,4}}W)",
    "email": _EMAIL,
    "idn-email": _EMAIL,
    "hostname": _HOST,
    "idn-hostname": _HOST,
    "ipv4": rf"({_BYTE}\.){{3}}{_BYTE}",
    "ipv6": r"([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|::1|::",
    "uri": _URI,
    "iri": _URI,
    "uri-template": _URI,
    "uri-reference": _REFERENCE,
    "iri-reference": _REFERENCE,
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(0|[1-9]\d{{0,5}})(#|{_POINTER})",
    "regex": None,
})  # fmt: skip
"""None for one that no expression describes. Names that are not here are notes to the reader."""

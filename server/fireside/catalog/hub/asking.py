"""One question to the hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireside.catalog.hub.errors import endpoint, told
from fireside.catalog.hub.planning import TIMEOUT_S, be_quiet

MAX_ANSWER = 16 * 1024 * 1024


def ask(path: str, query: Mapping[str, Any], repo_id: str | None = None, most: int = MAX_ANSWER) -> bytes:
    """Ask the hub once. Blocks: the library's own calls for this try for half a minute without a network.

    Args:
        repo_id: that it is about, for the error.
        most: bytes of the answer that are read.

    Raises:
        FiresideError: the hub cannot be reached, refuses, or has no such thing.
    """
    from huggingface_hub import get_session
    from huggingface_hub.utils import (
        build_hf_headers,  # pyright: ignore[reportUnknownVariableType]
        hf_raise_for_status,
    )

    be_quiet()
    body = bytearray()
    try:
        headers = build_hf_headers()
        url = endpoint() + path
        with get_session().stream(
            "GET", url, params=dict(query), headers=headers, timeout=TIMEOUT_S
        ) as response:
            hf_raise_for_status(response)
            for part in response.iter_bytes():
                body += part
                if len(body) > most:
                    break
    except Exception as error:
        raise told(error, repo_id) from error
    return bytes(body[:most])

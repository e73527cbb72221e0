"""Hits as clients get them."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from fireside_agent.search.articles import Article
from fireside_agent.search.query import Term
from fireside_agent.search.results import Hit
from fireside_agent.search.snippets import snippet

FIND_HIT = """
    SELECT d.kind, d.session_id, s.title AS session_title, d.message_id, d.role, d.call_id, d.name,
           d.created_at, s.archived, d.body
    FROM search_documents AS d JOIN sessions AS s ON s.id = d.session_id
    WHERE d.id = ? AND s.deleted_at IS NULL"""


def make_hit(connection: sqlite3.Connection, item: int | Article, terms: Sequence[Term]) -> Hit | None:
    """The hit for an entry or article; None when the entry or its session has gone since it was ranked."""
    if isinstance(item, Article):
        return Hit(
            kind="memory",
            name=item.name,
            heading=item.heading,
            created_at=item.modified,
            snippet=snippet(item.text, terms),
        )
    row = connection.execute(FIND_HIT, [item]).fetchone()
    if row is None:
        return None
    fields: dict[str, Any] = dict(row)
    text: str = fields.pop("body") or ""
    fields["archived"] = bool(fields["archived"])
    return Hit(**fields, snippet=snippet(text, terms))

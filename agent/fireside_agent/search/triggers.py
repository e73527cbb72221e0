"""The triggers that keep the full-text index as the messages, titles and attached files are."""

FINISHED = "{row}.status NOT IN ('queued', 'running')"
FULL_TEXT = ("search_words", "search_parts")
AS_PARTS = r"""CASE instr(body, char(0)) WHEN 0 THEN body
    ELSE json_extract(replace(json_quote(body), '\u0000', '\ufffd'), '$') END || '  '"""
"""The trigram tokenizer stops at a NUL, and `replace` cannot look for one."""

CALLS = "json_each(CASE json_valid({row}.tools) WHEN 1 THEN {row}.tools ELSE '[]' END) AS call"
CALL_ID = "json_extract(call.value, '$.call_id')"
CALL_NAME = "coalesce(json_extract(call.value, '$.name'), '')"
CALL_ARGUMENTS = "coalesce(json_extract(call.value, '$.arguments'), '')"
CALL_BODY = f"""{CALL_NAME} || char(10) || CASE json_valid({CALL_ARGUMENTS})
        WHEN 1 THEN coalesce((SELECT group_concat(atom, char(10)) FROM json_tree({CALL_ARGUMENTS})), '')
        ELSE {CALL_ARGUMENTS} END || char(10) || coalesce(json_extract(call.value, '$.result'), '')"""
"""The arguments count by their values, as a person reads them, not by their JSON."""

FILES = "json_each(CASE json_valid({row}.attachments) WHEN 1 THEN {row}.attachments ELSE '[]' END) AS file"
FILE_HASH = "json_extract(file.value, '$.sha256')"
FILE_NAME = "coalesce(json_extract(file.value, '$.name'), '')"
FILE_BODY = f"""{FILE_NAME} || char(10)
        || coalesce((SELECT text FROM attachments WHERE sha256 = {FILE_HASH}), '')"""


def triggers() -> list[str]:
    """The statements that create the triggers on messages, sessions and attachments."""
    finished_old, finished_new = FINISHED.format(row="old"), FINISHED.format(row="new")
    changed = "status, text, reasoning, tools, attachments"
    return [
        _trigger("messages_insert", "INSERT ON messages", _enter_message(), finished_new),
        _trigger(
            "messages_update",
            f"UPDATE OF {changed} ON messages",
            _forget_message() + _drop_entries(f"{finished_new} AND {_still_there()}") + _enter_message(),
            f"{finished_old} OR {finished_new}",
        ),
        _trigger(
            "messages_delete", "DELETE ON messages", _forget_message() + _drop_entries("0"), finished_old
        ),
        _trigger("sessions_insert", "INSERT ON sessions", _enter_title() + _title(new=True)),
        _trigger("sessions_update", "UPDATE OF title ON sessions", _title(new=False) + _title(new=True)),
        _trigger(
            "sessions_delete",
            "DELETE ON sessions",
            [*_title(new=False), "DELETE FROM search_entries WHERE kind = 'title' AND session_id = old.id"],
        ),
        _trigger("attachments_insert", "INSERT ON attachments", _file("new", "''", "new.text")),
        _trigger("attachments_update", "UPDATE OF text ON attachments", _file("new", "old.text", "new.text")),
        _trigger("attachments_delete", "DELETE ON attachments", _file("old", "old.text", "''")),
    ]


def _trigger(name: str, event: str, statements: list[str], condition: str = "1") -> str:
    body = "".join(f"{statement};\n" for statement in statements)
    return f"CREATE TRIGGER search_{name} AFTER {event} WHEN {condition} BEGIN\n{body}END"


def _pieces(row: str) -> str:
    return f"""(
        SELECT 'message' AS kind, 0 AS slot, NULL AS source, {row}.text AS body
        UNION ALL SELECT 'reasoning', 0, NULL, {row}.reasoning
        UNION ALL SELECT 'tool', call.key, {CALL_ID}, {CALL_BODY} FROM {CALLS.format(row=row)}
        UNION ALL SELECT 'attachment', file.key, {FILE_HASH}, {FILE_BODY} FROM {FILES.format(row=row)})"""


def index_texts(select: str, *, delete: bool = False) -> list[str]:
    """Enter the `id` and `body` of `select` in both tables, or take them out."""
    return [
        f"INSERT INTO {table} ({table}, rowid, body) SELECT 'delete', id, {body} FROM ({select})"
        if delete
        else f"INSERT INTO {table} (rowid, body) SELECT id, {body} FROM ({select})"
        for table, body in zip(FULL_TEXT, ("body", AS_PARTS), strict=True)
    ]


def _entered(row: str) -> str:
    return (
        f"SELECT e.id, p.body FROM {_pieces(row)} AS p CROSS JOIN search_entries AS e"
        f" ON e.position = {row}.position AND e.kind = p.kind AND e.slot = p.slot"
        f" WHERE {FINISHED.format(row=row)}"
    )


def _forget_message() -> list[str]:
    return index_texts(_entered("old"), delete=True)


def _drop_entries(unless: str) -> list[str]:
    return [f"DELETE FROM search_entries WHERE position = old.position AND NOT ({unless})"]


def _still_there() -> str:
    return (
        f"EXISTS (SELECT 1 FROM {_pieces('new')} AS p"
        " WHERE p.kind = search_entries.kind AND p.slot = search_entries.slot"
        " AND p.source IS search_entries.source AND p.body <> '')"
    )


def _enter_message() -> list[str]:
    enter = f"""
        INSERT INTO search_entries (kind, session_id, position, slot, source, role, created_at)
        SELECT p.kind, new.session_id, new.position, p.slot, p.source, new.role, new.created_at
        FROM {_pieces("new")} AS p WHERE {FINISHED.format(row="new")} AND p.body <> '' AND NOT EXISTS (
            SELECT 1 FROM search_entries
            WHERE position = new.position AND kind = p.kind AND slot = p.slot)"""
    return [enter, *index_texts(_entered("new"))]


def _enter_title() -> list[str]:
    return [
        "INSERT INTO search_entries (kind, session_id, slot, created_at)"
        " VALUES ('title', new.id, 0, new.created_at)"
    ]


def _title(*, new: bool) -> list[str]:
    row = "new" if new else "old"
    select = (
        f"SELECT id, {row}.title AS body FROM search_entries WHERE kind = 'title' AND session_id = {row}.id"
    )
    return index_texts(select, delete=not new)


def _file(row: str, before: str, after: str) -> list[str]:
    select = (
        "SELECT e.id, coalesce(json_extract(m.attachments, '$[' || e.slot || '].name'), '')"
        " || char(10) || {text} AS body"
        " FROM search_entries AS e JOIN messages AS m ON m.position = e.position"
        f" WHERE e.kind = 'attachment' AND e.source = {row}.sha256"
    )
    return [*index_texts(select.format(text=before), delete=True), *index_texts(select.format(text=after))]

"""Rules in SQLite, in the table `approval_rules`."""

import sqlite3

import msgspec

from fireside_agent.approvals.rules import GrantedFrom, Rule, Value
from fireside_agent.store.database import Database

INSERT_RULE = """
    INSERT INTO approval_rules
           (id, tool, kind, value, scope, session_id, words, granted_from, created_at, expires_at)
    VALUES
           (:id, :tool, :kind, :value, :scope, :session_id, :words, :granted_from, :created_at,
            :expires_at)"""


class RuleStore:
    """The rules in `database`. Every method raises StorageError when the file cannot be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self) -> list[Rule]:
        """All of them, in the order in which they were granted."""

        def read(connection: sqlite3.Connection) -> list[Rule]:
            rows = connection.execute("SELECT * FROM approval_rules ORDER BY created_at, rowid")
            return [_rule(row) for row in rows]

        return await self._database.read(read)

    async def add(self, rule: Rule) -> None:
        row = {name: getattr(rule, name) for name in rule.__struct_fields__}
        row["value"] = msgspec.json.encode(rule.value).decode()
        row["granted_from"] = rule.granted_from and msgspec.json.encode(rule.granted_from).decode()

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute(INSERT_RULE, row)

        await self._database.write(insert)

    async def remove(self, rule_ids: list[str]) -> None:
        """Remove these; those that are not there are no error."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "DELETE FROM approval_rules WHERE id = ?", [[rule_id] for rule_id in rule_ids]
            )

        await self._database.write(delete)


def _rule(row: sqlite3.Row) -> Rule:
    granted_from = row["granted_from"]
    fields = {
        **dict(row),
        "value": msgspec.json.decode(row["value"], type=Value),
        "granted_from": granted_from and msgspec.json.decode(granted_from, type=GrantedFrom),
    }
    return msgspec.convert(fields, Rule)

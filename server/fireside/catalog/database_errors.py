"""What a failure of SQLite says about the file: whether it is damaged, or only cannot be used now."""

import sqlite3

_NOT_NOW = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the content is to blame: it is no database, or one that other code has made.

    Not so for a full disk, a lock of another process, or a file that may not be written.
    """
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.DatabaseError) and (code is None or code & 0xFF not in _NOT_NOW)

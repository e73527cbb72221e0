"""Fireside's SQLite file: the connection, its migrations, and the sessions in it."""

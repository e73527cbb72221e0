"""Fireside's agent: sessions, turns and their storage over any OpenAI-compatible server.

The agent knows HTTP and `/v1`. It imports nothing of the `fireside` package and works the same
against Fireside's own engine and against any other server.
"""

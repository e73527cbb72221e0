"""Chats as files, and files as chats: our JSON, Markdown, and what other programs export."""

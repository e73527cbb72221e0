"""Deleted chats: restored, or deleted for good with all that only they held."""

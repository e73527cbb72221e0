"""The agent's HTTP routes as data.

The types are those that the routes read and write; where a route wraps one in an object, that is here.
"""

from fireside_agent.described import chats, memory, settings

ROUTES = (*chats.ROUTES, *settings.ROUTES, *memory.ROUTES)
"""All but the socket, and the methods of the approvals that only refuse."""

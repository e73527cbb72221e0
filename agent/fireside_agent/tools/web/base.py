"""What the tools that talk to other machines share."""

from typing import ClassVar

from fireside_agent.tools.tool import Arguments, BlockedError, ChatFacts, Risk, Subject, Tool
from fireside_agent.tools.web.address import parse_address
from fireside_agent.tools.web.guard import Guard
from fireside_agent.tools.web.settings import WebSettings


class WebTool(Tool):
    """Sends something, through the guard; asks once content of this machine is in the chat.

    Class attributes:
        carries: what could take that content along, in words.
    """

    risk: ClassVar[Risk] = "send"
    carries: ClassVar[str]

    def __init__(self, guard: Guard, settings: WebSettings) -> None:
        self._guard = guard
        self._settings = settings

    def question(self, arguments: Arguments, facts: ChatFacts) -> str | None:
        if facts.local:
            return f"Content of this machine is in this chat, and {self.carries} could carry it away."
        return None


def host_of(url: str) -> Subject:
    """The host that a call goes to, for rules; nothing where that cannot be told."""
    try:
        return Subject(host=parse_address(url).host)
    except BlockedError:
        return Subject()

"""How each search provider is asked and answers. They differ in nothing else."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import msgspec

from fireside_agent.tools.tool import ToolError
from fireside_agent.tools.web.address import Address, parse_address
from fireside_agent.tools.web.html import Element, parse_html, plain_text, with_class
from fireside_agent.tools.web.settings import WebSettings


@dataclass(frozen=True, slots=True)
class Hit:
    """One result, as the provider gave it."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is sent. `headers` hold the key and are shown to nobody."""

    method: str
    address: Address
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = None


class Provider(ABC):
    """One search service."""

    title: ClassVar[str]
    needs_key: ClassVar[bool] = True

    def __init__(self, settings: WebSettings) -> None:
        self._url = settings.search_address
        self._key = settings.search_key
        if self.needs_key and not self._key:
            raise ToolError(f"{self.title} needs a key, and none is set. The person can set one.")

    @abstractmethod
    def request(self, query: str, count: int) -> SearchRequest:
        """The request for `count` results. Raises BlockedError if the set address cannot be used."""

    @abstractmethod
    def hits(self, status: int, text: str) -> list[Hit]:
        """The results in a successful answer (status 2xx).

        Raises:
            ToolError: it is a page for people to prove that they are, or nothing that can be read.
        """

    def _with_query(self, **parameters: str | int) -> Address:
        joint = "&" if "?" in self._url else "?"
        return parse_address(f"{self._url}{joint}{urlencode(parameters)}")

    def _unreadable(self) -> ToolError:
        return ToolError(
            f"{self.title} answered in a format that is not known. Its address may be set wrongly."
        )


class DuckDuckGo(Provider):
    """The page without scripts, made for plain browsers. Asks for no key."""

    title: ClassVar[str] = "DuckDuckGo"
    needs_key: ClassVar[bool] = False

    def request(self, query: str, count: int) -> SearchRequest:
        content = urlencode({"q": query, "b": ""}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
        return SearchRequest("POST", parse_address(self._url), headers, content)

    def hits(self, status: int, text: str) -> list[Hit]:
        tree = parse_html(text)
        if tree is None:
            raise self._unreadable()
        # It answers 202 with a puzzle to whom it takes for a robot.
        if status == 202 or tree.xpath("//*[contains(@class, 'anomaly') or @id='challenge-form']"):
            raise ToolError(
                "DuckDuckGo takes this machine for a robot and wants a puzzle solved. "
                "Try again in some minutes; a provider with a key does not ask."
            )
        organic = f"[{with_class('result__a')}][not(ancestor::*[{with_class('result--ad')}])]"
        found = [
            Hit(link.text_content(), _target(link.get("href") or ""), _snippet(link))
            for link in tree.xpath(f"//a[@href]{organic}")
        ]
        nothing = f"//*[{with_class('no-results')} or {with_class('result--no-result')}]"
        if not found and not tree.xpath(nothing):
            raise self._unreadable()
        return found


class _BraveHit(msgspec.Struct):
    url: str
    title: str = ""
    description: str = ""


class _BraveWeb(msgspec.Struct):
    results: list[_BraveHit] = []


class _BraveAnswer(msgspec.Struct):
    web: _BraveWeb | None = None


class Brave(Provider):
    """https://api-dashboard.search.brave.com/app/documentation/web-search"""

    title: ClassVar[str] = "Brave Search"

    def request(self, query: str, count: int) -> SearchRequest:
        headers = {"Accept": "application/json", "X-Subscription-Token": self._key}
        return SearchRequest("GET", self._with_query(q=query, count=count), headers)

    def hits(self, status: int, text: str) -> list[Hit]:
        try:
            answer = msgspec.json.decode(text, type=_BraveAnswer)
        except msgspec.DecodeError as error:
            raise self._unreadable() from error
        found = answer.web.results if answer.web else []
        return [Hit(plain_text(hit.title), hit.url, plain_text(hit.description)) for hit in found]


class _TavilyHit(msgspec.Struct):
    url: str
    title: str | None = None
    content: str | None = None


class _TavilyAnswer(msgspec.Struct):
    results: list[_TavilyHit]


class Tavily(Provider):
    """https://docs.tavily.com/documentation/api-reference/endpoint/search"""

    title: ClassVar[str] = "Tavily"

    def request(self, query: str, count: int) -> SearchRequest:
        content = json.dumps({"query": query, "max_results": count, "search_depth": "basic"}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        return SearchRequest("POST", parse_address(self._url), headers, content)

    def hits(self, status: int, text: str) -> list[Hit]:
        try:
            answer = msgspec.json.decode(text, type=_TavilyAnswer)
        except msgspec.DecodeError as error:
            raise self._unreadable() from error
        return [Hit(hit.title or "", hit.url, hit.content or "") for hit in answer.results]


def make_provider(settings: WebSettings) -> Provider:
    """The provider that is set. Raises ToolError if its key is missing."""
    match settings.provider:
        case "duckduckgo":
            return DuckDuckGo(settings)
        case "brave":
            return Brave(settings)
        case "tavily":
            return Tavily(settings)


def _target(href: str) -> str:
    """Where a result leads: the page links to a counter of its own, with the target as a parameter."""
    url = urljoin("https://duckduckgo.com/", href)
    targets = parse_qs(urlsplit(url).query).get("uddg") if urlsplit(url).path == "/l/" else None
    return targets[0] if targets else url


def _snippet(link: Element) -> str:
    texts = link.xpath(f"ancestor::*[{with_class('result')}][1]//*[{with_class('result__snippet')}]")
    return str(texts[0].text_content()) if texts else ""

"""`/api/memory`: the vault and the proposals for it.

    GET  status
    GET  list
    GET  search?q=
    GET  article?name=               with an ETag; 304 to If-None-Match
    PUT  article?name=               {"text", "before_hash"}: a person's edit
    DELETE article?name=&before_hash=
    POST rename?name=                {"new_name", "before_hash"}: links to it follow
    GET  page?name=                  the article rendered, with its links both ways
    GET  version?name=&commit=       the article's text after a commit
    GET  links?name=
    GET  history?name=
    GET  diff?name=&commit=&base=    without `commit`: what is not committed; `base`: from that commit on
    POST init
    GET  proposals?status=
    POST proposals/<id>/accept       {"text"?, "before_hash"?}
    POST proposals/<id>/drop
    POST proposals/<id>/undo

A failure answers `{"error": {"message", "type", "code", "param"}}` with the status and code of
`memory.errors`. A conflict also has `diff` and `before_hash` beside it: what the proposal or the edit would
change now, and the hash with which that is accepted; that of an edit also `text`, the article as it is now.
An article that is not there has `near` beside it: names that may be meant.
"""

from typing import Any, TypeVar

import msgspec
from quart import Blueprint, Response, request

from fireside_agent.answers import error_body, json_answer
from fireside_agent.memory.articles import Article, Field
from fireside_agent.memory.editing import remove, rename, save
from fireside_agent.memory.errors import (
    ArticleNotFound,
    EditConflict,
    InvalidQuery,
    ProposalConflict,
    VaultError,
)
from fireside_agent.memory.links import InboundLink, OutboundLink
from fireside_agent.memory.pages import Page
from fireside_agent.memory.proposal import STATUSES, ProposalStatus
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault

# pyright: reportUnusedFunction=false

T = TypeVar("T")


class HeadingAnswer(msgspec.Struct):
    """A heading; `path` names its section, `line` counts from 1."""

    level: int
    title: str
    path: str
    line: int


class ArticleAnswer(msgspec.Struct):
    """`GET article`. `modified_at` is in seconds since the epoch, `hash` is SHA-256 of the text."""

    name: str
    title: str
    text: str
    fields: dict[str, Field]
    headings: list[HeadingAnswer]
    modified_at: float
    hash: str


class PageAnswer(ArticleAnswer):
    """`GET page`. `blocks` are HTML that is safe to insert, without front matter and title."""

    blocks: list[str]
    outbound: list[OutboundLink]
    inbound: list[InboundLink]


class VersionAnswer(msgspec.Struct):
    """`GET version`: the article's text after a commit."""

    text: str


class Edit(msgspec.Struct):
    """Body of `PUT article`: the new text, and the hash of the one that it was made from, empty for none."""

    text: str
    before_hash: str


class NewName(msgspec.Struct):
    """Body of `rename`: the new name, and the hash of the article that was meant."""

    new_name: str
    before_hash: str


class Acceptance(msgspec.Struct):
    """Body of `accept`: the person's own text, and the article that it was decided on."""

    text: str | None = None
    before_hash: str | None = None


def create_blueprint(vault: Vault, proposals: Proposals) -> Blueprint:
    """The routes under `/api/memory`."""
    blueprint = Blueprint("memory", __name__, url_prefix="/api/memory")
    blueprint.register_error_handler(VaultError, _answer_error)
    _add_vault(blueprint, vault)
    _add_editing(blueprint, vault)
    _add_proposals(blueprint, proposals)
    return blueprint


def _add_vault(blueprint: Blueprint, vault: Vault) -> None:
    @blueprint.get("/status")
    async def status() -> Response:
        return json_answer(await vault.status())

    @blueprint.get("/list")
    async def list_articles() -> Response:
        return json_answer({"articles": await vault.summaries()})

    @blueprint.get("/search")
    async def search() -> Response:
        return json_answer(await vault.search(_argument("q")))

    @blueprint.get("/article")
    async def article() -> Response:
        found = await vault.read(_argument("name"))
        fresh = request.if_none_match.contains_weak(found.hash)
        response = Response(status=304) if fresh else json_answer(ArticleAnswer(**_article(found)))
        response.set_etag(found.hash)
        response.headers["Cache-Control"] = "private, no-cache"
        return response

    @blueprint.get("/page")
    async def page() -> Response:
        return json_answer(_page(await vault.page(_argument("name"))))

    @blueprint.get("/links")
    async def links() -> Response:
        return json_answer(await vault.links(_argument("name")))

    @blueprint.get("/history")
    async def history() -> Response:
        return json_answer({"commits": await vault.history(_argument("name"))})

    @blueprint.get("/diff")
    async def diff() -> Response:
        commits = (request.args.get(name) or None for name in ("commit", "base"))
        return json_answer({"diff": await vault.diff(_argument("name"), *commits)})

    @blueprint.get("/version")
    async def version() -> Response:
        return json_answer(VersionAnswer(await vault.version(_argument("name"), _argument("commit"))))

    @blueprint.post("/init")
    async def init() -> Response:
        return json_answer(await vault.init())


def _add_editing(blueprint: Blueprint, vault: Vault) -> None:
    @blueprint.put("/article")
    async def save_article() -> Response:
        body = _decoded(await request.get_data(), Edit)
        return json_answer(await save(vault, _argument("name"), body.text, body.before_hash))

    @blueprint.delete("/article")
    async def delete_article() -> Response:
        return json_answer(await remove(vault, _argument("name"), _argument("before_hash")))

    @blueprint.post("/rename")
    async def rename_article() -> Response:
        body = _decoded(await request.get_data(), NewName)
        return json_answer(await rename(vault, _argument("name"), body.new_name, body.before_hash))


def _add_proposals(blueprint: Blueprint, proposals: Proposals) -> None:
    @blueprint.get("/proposals")
    async def list_proposals() -> Response:
        return json_answer({"proposals": await proposals.of_status(_status())})

    @blueprint.post("/proposals/<proposal_id>/accept")
    async def accept(proposal_id: str) -> Response:
        data = await request.get_data()
        body = _decoded(data, Acceptance) if data.strip() else Acceptance()
        return json_answer(await proposals.accept(proposal_id, body.text, body.before_hash))

    @blueprint.post("/proposals/<proposal_id>/drop")
    async def drop(proposal_id: str) -> Response:
        return json_answer(await proposals.drop(proposal_id))

    @blueprint.post("/proposals/<proposal_id>/undo")
    async def undo(proposal_id: str) -> Response:
        return json_answer(await proposals.undo(proposal_id))


def _status() -> ProposalStatus | None:
    try:
        return msgspec.convert(request.args.get("status") or None, ProposalStatus | None)
    except msgspec.ValidationError as error:
        raise InvalidQuery(f"`status` is one of {', '.join(STATUSES)}.", "status") from error


def _argument(name: str) -> str:
    value = request.args.get(name)
    if value is None:
        raise InvalidQuery(f"The query parameter `{name}` is missing.", name)
    return value


def _decoded(data: str | bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        field = str(error).rpartition("$.")[2].rstrip("`") if "$." in str(error) else None
        raise InvalidQuery(f"The body is not what this route takes: {error}.", field) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidQuery(f"The body is not JSON: {error}.") from error


def _article(article: Article) -> dict[str, Any]:
    return {
        "name": article.name,
        "title": article.title,
        "text": article.text,
        "fields": article.fields,
        "headings": [
            HeadingAnswer(each.level, each.title, each.path, each.line) for each in article.headings
        ],
        "modified_at": article.modified,
        "hash": article.hash,
    }


def _page(page: Page) -> PageAnswer:
    return PageAnswer(
        **_article(page.article),
        blocks=page.blocks,
        outbound=page.links.outbound,
        inbound=page.links.inbound,
    )


async def _answer_error(error: VaultError) -> Response:
    body = error_body(error.status, error.code, str(error), error.param)
    if isinstance(error, ProposalConflict):
        body |= {"diff": error.diff, "before_hash": error.before_hash}
    elif isinstance(error, EditConflict):
        body |= {"diff": error.diff, "before_hash": error.before_hash, "text": error.text}
    elif isinstance(error, ArticleNotFound):
        body |= {"near": error.near}
    return json_answer(body, error.status)

"""The routes of the memory."""

import msgspec

from fireside_agent.described.route import Parameter, Route
from fireside_agent.memory.editing import Renamed, Saved
from fireside_agent.memory.git import Commit
from fireside_agent.memory.links import Links
from fireside_agent.memory.proposal import Proposal, ProposalStatus
from fireside_agent.memory.records import Status, Summary
from fireside_agent.memory.routes import Acceptance, ArticleAnswer, Edit, NewName, PageAnswer, VersionAnswer
from fireside_agent.memory.search import Results

_MEMORY = "Memory"


class Articles(msgspec.Struct):
    """All articles of the vault."""

    articles: list[Summary]


class History(msgspec.Struct):
    """The commits of an article, the newest first."""

    commits: list[Commit]


class Diff(msgspec.Struct):
    """A unified diff."""

    diff: str


class ProposalList(msgspec.Struct):
    """What the model has proposed."""

    proposals: list[Proposal]


_NAME = Parameter("name", "Of the article.", required=True)
_PROPOSAL = Parameter("proposal_id", "Of the proposal.")
_VAULT = (404, 409, 500)
_ARTICLE = (400, *_VAULT)

ROUTES = (
    Route("GET", "/api/memory/status", _MEMORY, "The state of the vault", Status, errors=(500,)),
    Route("GET", "/api/memory/list", _MEMORY, "All articles", Articles, errors=_VAULT),
    Route(
        "GET",
        "/api/memory/search",
        _MEMORY,
        "Search the articles",
        Results,
        (Parameter("q", "The text to look for.", required=True),),
        errors=_ARTICLE,
    ),
    Route("GET", "/api/memory/article", _MEMORY, "An article", ArticleAnswer, (_NAME,), errors=_ARTICLE),
    Route(
        "PUT",
        "/api/memory/article",
        _MEMORY,
        "Write an article: one commit",
        Saved,
        (_NAME,),
        body=Edit,
        errors=_ARTICLE,
    ),
    Route(
        "DELETE",
        "/api/memory/article",
        _MEMORY,
        "Delete an article: one commit",
        Saved,
        (_NAME, Parameter("before_hash", "Of the article that is meant to go.", required=True)),
        errors=_ARTICLE,
    ),
    Route(
        "POST",
        "/api/memory/rename",
        _MEMORY,
        "Rename an article, and the links to it: one commit",
        Renamed,
        (_NAME,),
        body=NewName,
        errors=_ARTICLE,
    ),
    Route(
        "GET",
        "/api/memory/page",
        _MEMORY,
        "An article as HTML, with its links both ways",
        PageAnswer,
        (_NAME,),
        errors=_ARTICLE,
    ),
    Route(
        "GET",
        "/api/memory/version",
        _MEMORY,
        "An article's text after a commit",
        VersionAnswer,
        (_NAME, Parameter("commit", "A hash.", required=True)),
        errors=_ARTICLE,
    ),
    Route(
        "GET",
        "/api/memory/links",
        _MEMORY,
        "Links of an article, both ways",
        Links,
        (_NAME,),
        errors=_ARTICLE,
    ),
    Route("GET", "/api/memory/history", _MEMORY, "An article's commits", History, (_NAME,), errors=_ARTICLE),
    Route(
        "GET",
        "/api/memory/diff",
        _MEMORY,
        "What a commit changed, what is not committed, or the change between two versions",
        Diff,
        (
            _NAME,
            Parameter("commit", "A hash."),
            Parameter("base", "A hash: the change from there to `commit`, or to the article as it is now."),
        ),
        errors=_ARTICLE,
    ),
    Route(
        "POST",
        "/api/memory/init",
        _MEMORY,
        "Make the vault; changes nothing that is there",
        Status,
        errors=(409, 500),
    ),
    Route(
        "GET",
        "/api/memory/proposals",
        _MEMORY,
        "What the model has proposed",
        ProposalList,
        (Parameter("status", "Only those.", ProposalStatus),),
        errors=(400, 503),
    ),
    Route(
        "POST",
        "/api/memory/proposals/{proposal_id}/accept",
        _MEMORY,
        "Accept a proposal: one commit",
        Proposal,
        (_PROPOSAL,),
        body=Acceptance,
        body_required=False,
        errors=(*_ARTICLE, 503),
    ),
    Route(
        "POST",
        "/api/memory/proposals/{proposal_id}/drop",
        _MEMORY,
        "Refuse a proposal",
        Proposal,
        (_PROPOSAL,),
        errors=(*_VAULT, 503),
    ),
    Route(
        "POST",
        "/api/memory/proposals/{proposal_id}/undo",
        _MEMORY,
        "Take an accepted proposal back",
        Proposal,
        (_PROPOSAL,),
        errors=(*_VAULT, 503),
    ),
)

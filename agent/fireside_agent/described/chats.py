"""The routes of searches, of chats as files and of attachments."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from fireside_agent.attachments.readings import Reading
from fireside_agent.described.route import Parameter, Route
from fireside_agent.export.exporting import Format
from fireside_agent.export.importing import Outcome
from fireside_agent.messages import Attachment, Role
from fireside_agent.search.results import DEFAULT_LIMIT, MAX_LIMIT, Answer
from fireside_agent.trash.routes import DeletedList, Done, Purging, Restoring

_SEARCH = "Search"
_CHATS = "Chats as files"
_FILES = "Attachments"
_DELETED = "Deleted chats"

Flag = Literal["0", "1"]

_SEARCH_PARAMETERS = (
    Parameter("q", "The text to look for: all words must occur, a quoted phrase is a phrase.", required=True),
    Parameter("kind", "Kinds of hits, several with commas; all by default."),
    Parameter("role", "Who said it.", Role),
    Parameter("before", "A date such as 2026-11-30, or seconds since 1970."),
    Parameter("after", "A date such as 2026-11-30, or seconds since 1970."),
    Parameter("session_id", "This chat alone."),
    Parameter(
        "limit", f"Hits at most; {DEFAULT_LIMIT} by default.", Annotated[int, Meta(ge=1, le=MAX_LIMIT)]
    ),
    Parameter("cursor", "From the page before."),
    Parameter("client", "A newer search of the same client ends an older one."),
)
_SEARCH_ERRORS = (400, 409, 503)

ROUTES = (
    Route(
        "GET", "/api/search", _SEARCH, "Search everything", Answer, _SEARCH_PARAMETERS, errors=_SEARCH_ERRORS
    ),
    Route(
        "GET",
        "/api/sessions/search",
        _SEARCH,
        "Search the chats alone",
        Answer,
        _SEARCH_PARAMETERS,
        errors=_SEARCH_ERRORS,
    ),
    Route(
        "GET",
        "/api/sessions/export",
        _CHATS,
        "Chats as a file: one as Markdown or JSON, several as a zip",
        Any,
        (
            Parameter("id", "Of a chat; as often as needed.", list[str]),
            Parameter("all", "1: all chats.", Flag),
            Parameter("format", "markdown by default.", Format),
            Parameter("branches", "all, or the current one.", Literal["current", "all"]),
            Parameter("reasoning", "1: Markdown has the reasoning too.", Flag),
        ),
        answer_types=("text/markdown", "application/zip"),
        errors=(400, 404, 503),
    ),
    Route(
        "POST",
        "/api/sessions/import",
        _CHATS,
        "Take in chats of Fireside, ChatGPT or Open WebUI",
        Outcome,
        body=Any,
        body_types=("application/zip", "application/x-zip-compressed", "multipart/form-data"),
        errors=(503,),
    ),
    Route(
        "GET",
        "/api/sessions/deleted",
        _DELETED,
        "Deleted chats that can be restored",
        DeletedList,
        errors=(503,),
    ),
    Route(
        "POST",
        "/api/sessions/deleted/restore",
        _DELETED,
        "Restore a deleted chat",
        Done,
        body=Restoring,
        errors=(404, 409, 503),
    ),
    Route(
        "DELETE",
        "/api/sessions/deleted",
        _DELETED,
        "Delete chats for good",
        Done,
        body=Purging,
        errors=(404, 409, 503),
    ),
    Route(
        "POST",
        "/api/attachments",
        _FILES,
        "Upload a file for a message; `X-File-Name` has its name",
        Attachment,
        body_types=("multipart/form-data", "*/*"),
        status=201,
        errors=(503,),
    ),
    Route(
        "GET",
        "/api/attachments/{sha256}",
        _FILES,
        "An attached file",
        None,
        (Parameter("sha256", "Of its content."), Parameter("name", "That the file gets when it is saved.")),
        answer_types=("*/*",),
        errors=(404, 503),
    ),
    Route(
        "GET",
        "/api/attachments/{sha256}/text",
        _FILES,
        "The text of an attached file; of a PDF with a mark before each page",
        None,
        (Parameter("sha256", "Of its content."),),
        answer_types=("text/plain",),
        errors=(404, 503),
    ),
    Route(
        "GET",
        "/api/attachments/{sha256}/reading",
        _FILES,
        "How far the text of an attached PDF has been read",
        Reading,
        (Parameter("sha256", "Of its content."),),
        errors=(404, 503),
    ),
)

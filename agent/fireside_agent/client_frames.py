"""The frames of `/ws` that a client sends; `protocol.py` has the others and says how both are used."""

from typing import Annotated, Literal

import msgspec

from fireside_agent.messages import Decision, SessionSettings

MOST_RENDERED = 100


class AttachedFile(msgspec.Struct, frozen=True):
    """A file that `POST /api/attachments` took, and the name that it has in this message."""

    sha256: str
    name: str


class Prompt(msgspec.Struct, frozen=True, tag="prompt", kw_only=True):
    """Ask. While a turn is running the prompt is queued behind it, in order.

    `client_id` is chosen by the client and comes back in `accepted` and in the stored message, so
    that a message shown before the server had it can be told apart from a new one; a second prompt
    with the same `client_id` in the same session is answered with `accepted` and not asked again.
    """

    session_id: str
    text: str
    client_id: str
    attachments: list[AttachedFile] = []
    after: str | None = None
    """Ask after this message and make that branch the current one; null: at the end of the current one."""
    first: bool = False
    """Ask as another first message of the chat; `after` is ignored."""
    steer: bool = False
    """Let the running turn see it at its next step."""


class Regenerate(msgspec.Struct, frozen=True, tag="regenerate", kw_only=True):
    """Ask the prompt `message_id` again: a new answer beside those it has."""

    session_id: str
    message_id: str


class SelectBranch(msgspec.Struct, frozen=True, tag="select_branch", kw_only=True):
    """Make the branch that goes through this message the current one, to its newest end."""

    session_id: str
    message_id: str


class EditQueued(msgspec.Struct, frozen=True, tag="edit_queued", kw_only=True):
    """Change a prompt that waits; an empty text removes it."""

    session_id: str
    message_id: str
    text: str


class Approval(msgspec.Struct, frozen=True, tag="approval", kw_only=True):
    """Decide about a call that asks. Good for this call and the arguments shown, once."""

    session_id: str
    call_id: str
    decision: Decision
    always: Literal["session", "tool", "rule"] | None = None
    """Also allow what the card's offer of this scope says from now on."""
    edited_arguments: str | None = None
    """JSON to run with in place of the model's; shown in the call."""


class UndoChange(msgspec.Struct, frozen=True, tag="undo_change", kw_only=True):
    """Undo what a call did to a file, if the file still is as the call left it."""

    session_id: str
    call_id: str
    path: str


class Compact(msgspec.Struct, frozen=True, tag="compact", kw_only=True):
    """Let a summary stand for the older messages of the current branch."""

    session_id: str


class UndoCompact(msgspec.Struct, frozen=True, tag="undo_compact", kw_only=True):
    """Let the messages speak for themselves again."""

    session_id: str
    summary_id: str


class ChangeSettings(msgspec.Struct, frozen=True, tag="change_settings", kw_only=True):
    """Replace a chat's settings; they hold from the next answer on."""

    session_id: str
    settings: SessionSettings


class Abort(msgspec.Struct, frozen=True, tag="abort", kw_only=True):
    """Stop the session's running turn. What was generated so far is kept."""

    session_id: str


class NewSession(msgspec.Struct, frozen=True, tag="new_session", kw_only=True):
    """Start an empty session; answered with `history`. It is stored with its first prompt."""

    temporary: bool = False
    """Never touches the disk, the prompt cache's included, and is gone when nobody follows it any more. It
    takes no files, has no copies, and can be neither pinned, archived, exported nor taken back."""
    settings: SessionSettings = SessionSettings()


class ForkSession(msgspec.Struct, frozen=True, tag="fork_session", kw_only=True):
    """Copy the branch up to a message into a session of its own; answered with its `history`."""

    id: str
    message_id: str


class RenameSession(msgspec.Struct, frozen=True, tag="rename_session", kw_only=True):
    """Give a session a title that stays."""

    id: str
    title: str


class MarkSession(msgspec.Struct, frozen=True, tag="mark_session", kw_only=True):
    """Pin or archive a session that is stored; null leaves a mark as it is."""

    id: str
    pinned: bool | None = None
    archived: bool | None = None


class OpenSession(msgspec.Struct, frozen=True, tag="open_session", kw_only=True):
    """Follow a session, in place of the one followed so far."""

    id: str
    epoch: str = ""
    after_seq: int = 0


class Render(msgspec.Struct, frozen=True, tag="render", kw_only=True):
    """Ask for the rendered Markdown of messages whose `html` is null; answered with `rendered`."""

    session_id: str
    message_ids: Annotated[list[str], msgspec.Meta(max_length=MOST_RENDERED)]
    """At most 100."""


class ListSessions(msgspec.Struct, frozen=True, tag="list_sessions", kw_only=True):
    """Ask for `sessions`. It is also sent unasked whenever the list changes."""


class DeleteSession(msgspec.Struct, frozen=True, tag="delete_session", kw_only=True):
    """Delete a session; a running turn is stopped first. `restore_session` takes it back."""

    id: str


class RestoreSession(msgspec.Struct, frozen=True, tag="restore_session", kw_only=True):
    """Take back a deletion; possible for 30 days, unless it was deleted for good."""

    id: str


SessionWish = (
    Abort
    | Regenerate
    | SelectBranch
    | EditQueued
    | Approval
    | UndoChange
    | Compact
    | UndoCompact
    | ChangeSettings
    | Render
)
"""About a session that is there."""

ClientFrame = (
    Prompt
    | SessionWish
    | NewSession
    | ForkSession
    | RenameSession
    | MarkSession
    | OpenSession
    | ListSessions
    | DeleteSession
    | RestoreSession
)

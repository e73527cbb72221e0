"""What can go wrong with a hub, as errors of ours.

HubUnreachable     503 hub_unreachable, hub_unexpected or hub_busy, with Retry-After
Forbidden          403 hub_refused
ModelGated         403 model_gated
ModelNotOnHub      404 model_not_on_hub
NoRoom             507 disk_full
NotUsable          400 no_weights, unsafe_repository, too_large, already_quantised
DownloadConflict   409 download_conflict, model_exists or plan_changed
"""

from __future__ import annotations

import errno
from typing import Any

from fireside.http.errors import BadRequest, Conflict, FiresideError, Forbidden, NotFound

_ANY = "the model"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class HubUnreachable(FiresideError):
    """The hub does not answer; what is on this machine works all the same."""

    status = 503
    code = "hub_unreachable"
    retry_after_s = 30


class ModelGated(Forbidden):
    """The hub asks for a token, or for an agreement of the token's owner."""

    code = "model_gated"


class ModelNotOnHub(NotFound):
    """The hub has no such model, revision or file, or does not show it to us."""

    code = "model_not_on_hub"


class NoRoom(FiresideError):
    """The disk has not enough room."""

    status = 507
    code = "disk_full"


class NotUsable(BadRequest):
    """The repository holds nothing that can be loaded, or something that must not be written."""

    code = "no_weights"


class DownloadConflict(Conflict):
    """What is asked for does not go with what is there."""

    code = "download_conflict"


def endpoint() -> str:
    """The address of the hub: `HF_ENDPOINT`, from the environment alone."""
    from huggingface_hub import constants

    return constants.ENDPOINT


def told(error: Exception, repo_id: str | None = None) -> FiresideError:
    """What to tell of an error that the hub's library raised."""
    import httpx2
    from huggingface_hub import errors

    what = repo_id or _ANY
    match error:
        case FiresideError():
            return error
        case errors.OfflineModeIsEnabled():
            return HubUnreachable("HF_HUB_OFFLINE is set, so the hub is not asked. Unset it to use the hub.")
        case errors.GatedRepoError():
            return _gated(what)
        case errors.RevisionNotFoundError() | errors.RemoteEntryNotFoundError():
            return ModelNotOnHub(f"The hub has {what}, but no such revision or file of it.")
        case errors.RepositoryNotFoundError():
            return ModelNotOnHub(
                f"The hub has no {what}, or shows it only to its members. Check the name; for a private "
                "model log in with `hf auth login`, or set HF_TOKEN."
            )
        case errors.HfHubHTTPError():
            return _status(error.response, repo_id)
        case errors.HFValidationError():
            return BadRequest(f"{what} cannot be the name of a model on a hub: {error}")
        case httpx2.HTTPError() | errors.FileMetadataError():
            return HubUnreachable(
                f"The hub at {endpoint()} cannot be reached ({_reason(error)}). The models on this machine "
                "work without it. Check the network, then try again."
            )
        case OSError() if error.errno in _FULL:
            return NoRoom(f"The disk is full ({error.strerror}). Make room, then resume; nothing is lost.")
        case OSError():
            return FiresideError(f"A file could not be read or written: {error}")
        case _:
            return HubUnreachable(
                f"The hub at {endpoint()} sent something that is not understood ({_reason(error)}). If "
                "HF_ENDPOINT is set, check that it names a model hub.",
                code="hub_unexpected",
            )


def _gated(what: str) -> ModelGated:
    return ModelGated(
        f"{what} is gated: its page on the hub asks for an agreement. Agree there, then log in with "
        "`hf auth login`, or set HF_TOKEN."
    )


def _status(response: Any, what: str | None) -> FiresideError:
    status = int(response.status_code)
    if what is None and status in (401, 403):
        return Forbidden(
            f"The hub at {endpoint()} does not let us ask it ({status}). If it is one for members, log in "
            "with `hf auth login`, or set HF_TOKEN.",
            code="hub_refused",
        )
    what = what or _ANY
    if status == 401:
        return ModelGated(
            f"The hub refuses the token, or asks for one, for {what} (401). Log in with `hf auth login`, "
            "or set HF_TOKEN to a valid token."
        )
    if status == 403:
        return _gated(what)
    if status == 429:
        wait = str(response.headers.get("Retry-After", ""))
        return HubUnreachable(
            "The hub has been asked too often (429). Try again later; with a token more is allowed.",
            code="hub_busy",
            retry_after_s=int(wait) if wait.isdecimal() else None,
        )
    said = f"The hub at {endpoint()} answered with the status {status}."
    if status < 500:
        return HubUnreachable(
            f"{said} If HF_ENDPOINT is set, check that it names a model hub.", code="hub_unexpected"
        )
    return HubUnreachable(f"{said} Try again later.")


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:200]}" if str(error) else type(error).__name__

"""The routes over the hub, described."""

from __future__ import annotations

from fireside.catalog.hub.clean_up import GcPlan, Removed
from fireside.catalog.hub.jobs_kept import Download
from fireside.catalog.hub.search import MAX_LIMIT, HubModel, Sort
from fireside.http.operations import Answer, Operation, Parameter
from fireside.web.hub import DownloadList, GcOrder, HubResults, NewDownload

_HUB = "Hub"
_CLEAN_UP = "Clean-up"
_ID = Parameter("download_id", "Its id, as the list has it.", place="path")
_FORCE = Parameter("force", "Also snapshots that have a file which no kept one has.", bool)
_EXAMPLE = "mlx-community/Qwen3-0.6B-4bit"


def _action(verb: str, summary: str, description: str) -> Operation:
    return Operation(
        "POST",
        f"/api/downloads/{{download_id}}/{verb}",
        _HUB,
        summary,
        description,
        parameters=(_ID,),
        answers={200: Answer("The download as it is now.", Download)},
        errors=(404, 409),
    )


OPERATIONS = (
    Operation(
        "GET",
        "/api/hub/search",
        _HUB,
        "Search the model hub",
        "The hub is the one that `HF_ENDPOINT` names, in the environment of Fireside.",
        parameters=(
            Parameter("q", "Words in the name of a model."),
            Parameter(
                "mlx", "Only models that are laid out for MLX, which is so unless it is `false`.", bool
            ),
            Parameter("sort", "The greatest or newest first; the smallest by `size`.", Sort),
            Parameter("limit", f"How many, {MAX_LIMIT} at most, 20 if it is left out.", int),
            Parameter("max_bytes", "Only models whose weights are known to take no more.", int),
        ),
        answers={200: Answer("The models.", HubResults)},
        errors=(400, 403, 503),
    ),
    Operation(
        "GET",
        "/api/hub/model",
        _HUB,
        "All about a model of the hub",
        parameters=(
            Parameter("repo", "Its name.", required=True),
            Parameter("revision", "A branch, a tag or a commit; `main` if it is left out."),
        ),
        answers={200: Answer("What it is, its files, and its card as safe HTML.", HubModel)},
        errors=(400, 403, 404, 503),
    ),
    Operation(
        "POST",
        "/api/hub/download",
        _HUB,
        "Download a model",
        "Two are downloaded at once, the others wait. Asking for what is under way gives the same download. "
        "With `convert` the model is converted for MLX after that, into a folder of its own.",
        body=NewDownload,
        example={"repo_id": _EXAMPLE},
        answers={202: Answer("The download.", Download)},
        errors=(400, 403, 404, 409, 503, 507),
    ),
    Operation(
        "GET",
        "/api/downloads",
        _HUB,
        "The downloads",
        answers={200: Answer("Those that have not ended, then the last few that have.", DownloadList)},
    ),
    _action("pause", "Pause a download", "What has arrived is kept."),
    _action("resume", "Go on with a download", "One that was paused, or that has failed."),
    _action("cancel", "Give a download up", "What has arrived of it is removed, if nothing older needs it."),
    Operation(
        "GET",
        "/api/gc/plan",
        _CLEAN_UP,
        "What can be removed",
        "Snapshots that no branch names any more, contents that no snapshot has, partial files of downloads "
        "and conversions that do not go on, cache files of models that are gone. Never what a running model "
        "needs.",
        parameters=(_FORCE,),
        answers={200: Answer("The plan, with sizes.", GcPlan)},
        errors=(400,),
    ),
    Operation(
        "POST",
        "/api/gc/execute",
        _CLEAN_UP,
        "Remove what a plan shows",
        "With the token of the plan, and `force` as for the plan. If another plan would be made by now, it "
        "is a 409 and nothing is removed.",
        body=GcOrder,
        answers={200: Answer("What was removed.", Removed)},
        errors=(400, 409),
    ),
)

"""Whether a download can be, before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from fireside.catalog.hub.asking import ask
from fireside.catalog.hub.cache_layout import RepoFolder
from fireside.catalog.hub.errors import NotUsable
from fireside.catalog.hub.fetching import missing_bytes
from fireside.catalog.hub.planning import Plan, check_room, converted_size, make_plan, on_one_disk

_CONFIG = "config.json"


class _Config(msgspec.Struct):
    quantization: Any = None
    quantization_config: Any = None


def feasible_plan(repo_id: str, revision: str, bits: int | None, cache: Path, models: Path) -> Plan:
    """What a revision consists of, once nothing is known that speaks against it. Blocks.

    Args:
        bits: to convert it to, or None.
        cache: the Hugging Face cache.
        models: the folder of converted models.

    Raises:
        FiresideError: the hub says no, it is quantised already, or the disk has no room.
    """
    plan = make_plan(repo_id, revision)
    if bits is not None and any(file.name == _CONFIG for file in plan.files):
        _refuse_quantised(plan)
    missing = missing_bytes(plan, RepoFolder.of(cache, repo_id))
    check_room(missing, cache, repo_id)
    if bits is not None:
        beside = missing if on_one_disk(cache, models) else 0
        check_room(beside + converted_size(plan, bits), models, f"{repo_id}, converted,")
    return plan


def _refuse_quantised(plan: Plan) -> None:
    body = ask(f"/{plan.repo_id}/resolve/{plan.commit}/{_CONFIG}", {}, plan.repo_id)
    try:
        config = msgspec.json.decode(body, type=_Config)
    except msgspec.DecodeError:
        return  # Whether it is a model at all shows when it is here.
    if config.quantization is not None or config.quantization_config is not None:
        raise NotUsable(
            f"{plan.repo_id} is quantised already, and can only be used as it is. Download it without "
            "converting it.",
            code="already_quantised",
        )

"""Flags of `fireside serve` that need more than to be declared: of the SSD cache, and of `mlx_lm.server`.

Most of mlx_lm.server's flags are ours too. Here are the others: what some of our own are called there, what
has nothing to do here and says so, and what cannot be done yet and is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from fireside.config import LOG_LEVELS, SsdCache, parse_size

F = TypeVar("F", bound=Callable[..., Any])

_REFUSED = {
    "adapter_path": "adapters are not there yet. Leave it out, or merge the adapter into the model with "
    "mlx_lm.fuse and serve that folder with --model.",
    "draft_model": "draft models are not there yet. Leave it out: answers are the same without one.",
    "kv_bits": "quantized keys and values are not there yet. Leave it out; --kv-budget limits the memory "
    "that they take.",
}
_WITHOUT_EFFECT = {
    "num_draft_tokens": "there is no draft model.",
    "kv_group_size": "keys and values are not quantized.",
    "quantized_kv_start": "keys and values are not quantized.",
    "trust_remote_code": "Fireside runs no code out of a model's folder.",
    "use_default_chat_template": "tokenizers have no default template any more; --chat-template gives one.",
    "prompt_concurrency": "prompts are read beside the answers that are being written, as many as --batch.",
    "prefill_step_size": "how much of a prompt is read at a time is measured, so that other answers flow on.",
    "prompt_cache_size": "the prompt cache is limited in bytes, by --prompt-cache or --prompt-cache-bytes.",
    "pipeline": "the model runs on one machine.",
}

_BYTES = re.compile(r"(?P<number>\d+(\.\d+)?|\.\d+)\s*(?P<unit>|[MG]B?)", re.IGNORECASE)


class Size(click.ParamType[int]):
    """Bytes, by the one rule that all sizes follow."""

    name = "size"

    def __init__(self, least: int = 0) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if size < self._least:
            self.fail(f"{value} is too little; leave it out for what the machine has.", param, ctx)
        return size


class _Bytes(click.ParamType[int]):
    """A size as mlx_lm.server has it: bytes, or millions and billions of them."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _BYTES.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a size. Write bytes, or 500MB or 4GB.", param, ctx)
        scale = {"": 1, "M": 10**6, "G": 10**9}[found["unit"][:1].upper()]
        return int(float(found["number"]) * scale)


class _JsonObject(click.ParamType[dict[str, Any]]):
    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        try:
            found = json.loads(value)
        except ValueError as error:
            self.fail(f"{value!r} is not JSON: {error}", param, ctx)
        if not isinstance(found, dict):
            self.fail(f"{value!r} is no object; write one, such as '{{\"a\": true}}'.", param, ctx)
        return found


_OPTIONS = (
    click.option(
        "--allowed-origins",
        metavar="ORIGIN,…",
        help="The same as --allow-origin, several at once. There is no * for all of them.",
    ),
    click.option(
        "--min-p",
        type=click.FloatRange(0, 1),
        metavar="0…1",
        help="Of requests that do not say; 0 is off. Default: off.",
    ),
    click.option(
        "--chat-template",
        metavar="FILE|TEXT",
        help="A chat template in Jinja instead of the model's own.",
    ),
    click.option(
        "--chat-template-args",
        type=_JsonObject(),
        metavar="JSON",
        help="Values for the chat template; a request's chat_template_kwargs come first. Default: none.",
    ),
    click.option(
        "--prompt-cache-bytes",
        type=_Bytes(),
        metavar="BYTES",
        help="The same as --prompt-cache, but in bytes, or with M, MB, G or GB.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(LOG_LEVELS, case_sensitive=False),
        default="WARNING",
        show_default=True,
        help="What is told on standard error.",
    ),
    click.option("--adapter-path", metavar="PATH", help="Refused: adapters are not there yet."),
    click.option("--draft-model", metavar="ID|PATH", help="Refused: draft models are not there yet."),
    click.option(
        "--kv-bits",
        type=int,
        metavar="N",
        help="Refused: keys and values are not quantized; see --kv-budget.",
    ),
    click.option("--num-draft-tokens", type=int, metavar="N", help="No effect: there is no draft model."),
    click.option(
        "--kv-group-size", type=int, metavar="N", help="No effect: keys and values are not quantized."
    ),
    click.option(
        "--quantized-kv-start", type=int, metavar="N", help="No effect: keys and values are not quantized."
    ),
    click.option(
        "--prompt-concurrency", type=int, metavar="N", help="No effect: as many prompts as --batch are read."
    ),
    click.option(
        "--prefill-step-size",
        type=int,
        metavar="N",
        help="No effect: how much of a prompt is read at a time is measured.",
    ),
    click.option(
        "--prompt-cache-size",
        type=click.IntRange(min=0),
        metavar="N",
        help="0 turns the prompt cache off; else no effect: it is limited in bytes.",
    ),
    click.option("--trust-remote-code", is_flag=True, help="No effect: no code of a model's folder is run."),
    click.option(
        "--use-default-chat-template", is_flag=True, help="No effect: tokenizers have none any more."
    ),
    click.option("--pipeline", is_flag=True, help="No effect: the model runs on one machine."),
)


_SSD_OPTIONS = (
    click.option(
        "--ssd-cache",
        metavar="DIR|off",
        help="Where the prompt cache goes on beyond the memory and beyond a restart; off: nowhere. Its files "
        "hold what can be turned back into the conversations. Default: FIRESIDE_HOME/ssd-cache.",
    ),
    click.option(
        "--ssd-cache-max",
        type=Size(least=1),
        metavar="SIZE",
        help="Of that folder, for all models. Default: 10 GB, or 5 % of the free disk if that is less.",
    ),
    click.option(
        "--ssd-cache-verify",
        is_flag=True,
        help="Check what is read back with a strong digest (BLAKE2b) too, not a checksum (CRC-32) alone.",
    ),
    click.option(
        "--ssd-queue",
        type=Size(),
        default="2",
        show_default="2 GB",
        envvar="FIRESIDE_SSD_SPILL_QUEUE_GB",
        metavar="SIZE",
        help="Of what may wait to be written; the oldest is given up first, and with 0 all but the newest.",
    ),
    click.option(
        "--ssd-demote-idle",
        type=click.FloatRange(min=0),
        default=300.0,
        show_default=True,
        metavar="SECONDS",
        help="What nobody has used for so long leaves the memory, and stays on the disk; 0: never.",
    ),
)


def ssd_options(command: F) -> F:
    """Declare the flags of the SSD cache."""
    for option in reversed(_SSD_OPTIONS):
        command = option(command)
    return command


def mlx_lm_options(command: F) -> F:
    """Declare the flags of `mlx_lm.server` that are not ours. They come last in the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Understood:
    """What the flags come to.

    Attributes:
        options: for `ServeConfig`.
        origins: as with `--allow-origin`.
        notes: what has no effect, and why; for the person.
    """

    options: dict[str, Any]
    origins: tuple[str, ...]
    notes: tuple[str, ...]


def understand(options: dict[str, Any]) -> Understood:
    """Take mlx_lm.server's flags out of the options.

    Raises:
        click.UsageError: a flag cannot be honoured, or two say different things.
    """
    rest = dict(options)
    for name, why in _REFUSED.items():
        if rest.pop(name) is not None:
            raise click.UsageError(f"{_flag(name)}: {why}")
    given = {name: rest.pop(name) for name in _WITHOUT_EFFECT}
    if given["prompt_cache_size"] == 0:
        given["prompt_cache_size"] = None
        _set(rest, "prompt_cache", 0, "--prompt-cache-size")
    if (size := rest.pop("prompt_cache_bytes")) is not None:
        _set(rest, "prompt_cache", size, "--prompt-cache-bytes")
    rest["ssd_cache"] = _ssd_cache(rest)
    rest["chat_template"] = _template(rest["chat_template"])
    rest["chat_template_args"] = _template_values(rest)
    origins = (rest.pop("allowed_origins") or "").split(",")
    return Understood(
        options=rest,
        origins=tuple(origin.strip() for origin in origins if origin.strip()),
        notes=tuple(
            f"{_flag(name)} has no effect: {why}"
            for name, why in _WITHOUT_EFFECT.items()
            if given[name] is not None and given[name] is not False
        ),
    )


def _ssd_cache(options: dict[str, Any]) -> SsdCache | None:
    """The SSD cache that is asked for; None where there is to be none.

    Raises:
        click.UsageError: it cannot be where it is wanted.
    """
    place = options.pop("ssd_cache")
    wanted = SsdCache(
        folder=Path(place).expanduser().absolute() if place else None,
        max_bytes=options.pop("ssd_cache_max"),
        queue_bytes=options.pop("ssd_queue"),
        demote_idle_s=options.pop("ssd_demote_idle"),
        verify=options.pop("ssd_cache_verify"),
        write_behind=os.environ.get("FIRESIDE_SSD_WRITEBEHIND") != "0",
    )
    if place == "off" or (place is None and options["prompt_cache"] == 0):
        return None
    if options["prompt_cache"] == 0:
        raise click.UsageError(
            "--ssd-cache lies below the prompt cache, and --prompt-cache 0 turns that off. "
            "Leave one of them out."
        )
    if wanted.folder is not None:
        try:
            wanted.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror
            raise click.UsageError(f"--ssd-cache: {wanted.folder} cannot be made: {why}") from error
        if not os.access(wanted.folder, os.R_OK | os.W_OK | os.X_OK):
            raise click.UsageError(f"--ssd-cache: {wanted.folder} cannot be written to.")
    return wanted


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _set(options: dict[str, Any], ours: str, value: Any, theirs: str) -> None:
    """Set one of our options to what another flag says of it."""
    if options[ours] not in (None, value):
        raise click.UsageError(f"{_flag(ours)} and {theirs} say different things; give one of them.")
    options[ours] = value


def _template(given: str | None) -> str | None:
    """A chat template, which is in a file or is the text itself."""
    if not given:
        return None
    if "{" in given:
        return given
    try:
        return Path(given).expanduser().read_text("utf-8")
    except (OSError, ValueError) as error:
        raise click.UsageError(
            f"--chat-template: {given!r} is neither a template, for there is no {{ in it, nor a file that "
            f"can be read: {error}"
        ) from error


def _template_values(options: dict[str, Any]) -> dict[str, Any]:
    """`--chat-template-args` without what `--thinking` says: every protocol has its own words for that."""
    if not options["chat_template_args"]:
        return {}
    from fireside.api.chat_task import template_kwargs
    from fireside.http.errors import BadRequest

    try:
        values = template_kwargs(options["chat_template_args"])
    except BadRequest as error:
        raise click.UsageError(str(error).replace("chat_template_kwargs", "--chat-template-args")) from error
    if isinstance(values.get("enable_thinking"), bool):
        _set(options, "thinking", values.pop("enable_thinking"), "--chat-template-args")
    return values

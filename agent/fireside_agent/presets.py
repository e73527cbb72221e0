"""Named settings for chats, and the instructions that hold in all of them."""

import sqlite3
import time
import unicodedata
from typing import Annotated

import msgspec
from msgspec import Meta
from quart import Blueprint, Response

from fireside_agent.answers import RefusedError, answer_errors, json_answer, read_json
from fireside_agent.messages import SamplingChoice, SessionSettings
from fireside_agent.store.database import Database

MAX_NAME_CHARACTERS = 60
MAX_INSTRUCTIONS_CHARACTERS = 100_000

GLOBAL = ""
"""The row that holds the instructions for all chats. No preset can have an empty name."""

SAMPLING_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "top_k": (0, 2**31),
    "repetition_penalty": (0, 10),
    "max_tokens": (1, 2**31),
    "seed": (0, 2**64 - 1),
}


class Preset(msgspec.Struct, frozen=True):
    """Settings under a name. `modified_at` in seconds since the epoch."""

    name: str
    settings: SessionSettings
    modified_at: float


class Instructions(msgspec.Struct, frozen=True):
    """What every chat's model is told, before the chat's own instructions."""

    instructions: Annotated[str, Meta(max_length=MAX_INSTRUCTIONS_CHARACTERS)]


class PresetStore:
    """The presets in `database`. Every method raises StorageError when the file cannot be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> "list[Preset]":
        """All presets by name."""

        def read(connection: sqlite3.Connection) -> list[Preset]:
            rows = connection.execute("SELECT * FROM presets WHERE name != ? ORDER BY name", [GLOBAL])
            return [_preset(row) for row in rows]

        return await self._database.read(read)

    async def get(self, name: str) -> Preset | None:
        """The preset of that name."""

        def read(connection: sqlite3.Connection) -> Preset | None:
            row = connection.execute("SELECT * FROM presets WHERE name = ?", [name]).fetchone()
            return _preset(row) if row else None

        return await self._database.read(read) if name != GLOBAL else None

    async def put(self, name: str, settings: SessionSettings) -> Preset:
        """Store settings under a name, in place of what it had.

        Raises:
            ValueError: that cannot be a name, or a setting is out of its range.
        """
        check_name(name)
        check_settings(settings)
        preset = Preset(name, msgspec.structs.replace(settings, preset=None), time.time())
        await self._put(preset)
        return preset

    async def delete(self, name: str) -> bool:
        """Forget a preset; False when there is none of that name. Chats keep what they took from it."""

        def delete(connection: sqlite3.Connection) -> bool:
            return connection.execute("DELETE FROM presets WHERE name = ?", [name]).rowcount > 0

        return await self._database.write(delete) if name != GLOBAL else False

    async def instructions(self) -> str:
        """The instructions for all chats."""

        def read(connection: sqlite3.Connection) -> str:
            row = connection.execute("SELECT * FROM presets WHERE name = ?", [GLOBAL]).fetchone()
            return _preset(row).settings.instructions if row else ""

        return await self._database.read(read)

    async def set_instructions(self, text: str) -> None:
        await self._put(Preset(GLOBAL, SessionSettings(instructions=text), time.time()))

    async def _put(self, preset: Preset) -> None:
        row = [preset.name, msgspec.json.encode(preset.settings).decode(), preset.modified_at]
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO presets (name, settings, modified_at) VALUES (?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET settings = excluded.settings, modified_at = excluded.modified_at",
                row,
            )
        )


def check_name(name: str) -> None:
    """Raises ValueError unless it can be the name of a preset."""
    if not 1 <= len(name) <= MAX_NAME_CHARACTERS:
        raise ValueError(f"A preset's name has 1 to {MAX_NAME_CHARACTERS} characters, not {len(name)}.")
    if name != name.strip() or any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name):
        raise ValueError("A preset's name is one line and neither begins nor ends with a space.")


def check_settings(settings: SessionSettings) -> None:
    """Raises ValueError, with the field's name in front, for a value outside its range."""
    if len(settings.instructions) > MAX_INSTRUCTIONS_CHARACTERS:
        raise ValueError(f"instructions: at most {MAX_INSTRUCTIONS_CHARACTERS} characters.")
    for name in SamplingChoice.__struct_fields__:
        value = getattr(settings.sampling, name)
        low, high = SAMPLING_RANGES[name]
        if value is not None and not low <= value <= high:
            raise ValueError(f"sampling.{name}: {value} is not between {low} and {high}.")


def create_blueprint(store: PresetStore) -> Blueprint:
    """`/api/presets` and `/api/settings/instructions`."""
    blueprint = Blueprint("presets", __name__)
    answer_errors(blueprint)

    @blueprint.get("/api/presets")
    async def list_all() -> Response:  # pyright: ignore[reportUnusedFunction]
        return json_answer({"presets": await store.list()})

    @blueprint.put("/api/presets/<path:name>")
    async def put(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        settings = await read_json(SessionSettings)
        try:
            check_name(name)
        except ValueError as error:
            raise RefusedError(400, "invalid_name", str(error), "name") from error
        try:
            return json_answer(await store.put(name, settings))
        except ValueError as error:
            param = str(error).partition(":")[0]
            raise RefusedError(400, "invalid_request", str(error), param) from error

    @blueprint.delete("/api/presets/<path:name>")
    async def delete(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        if not await store.delete(name):
            raise RefusedError(404, "not_found", f"There is no preset {name!r}.", "name")
        return Response(status=204)

    @blueprint.get("/api/settings/instructions")
    async def instructions() -> Response:  # pyright: ignore[reportUnusedFunction]
        return json_answer(Instructions(await store.instructions()))

    @blueprint.put("/api/settings/instructions")
    async def set_instructions() -> Response:  # pyright: ignore[reportUnusedFunction]
        wanted = await read_json(Instructions)
        await store.set_instructions(wanted.instructions)
        return json_answer(wanted)

    return blueprint


def _preset(row: sqlite3.Row) -> Preset:
    settings = msgspec.json.decode(row["settings"], type=SessionSettings)
    return Preset(row["name"], settings, row["modified_at"])

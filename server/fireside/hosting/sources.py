"""Where the models are that a server has run, and those that it is asked to run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fireside.catalog.places import full_path, is_folder
from fireside.catalog.resolve import ModelNotFoundError, ModelSource, resolve_model
from fireside.config import ServeConfig


class Sources:
    """Finds models on the disk, and goes on finding those that have run under the ids that they had.

    Iterating over it gives these ids.
    """

    def __init__(self, config: ServeConfig) -> None:
        self._config = config
        self._known: dict[str, ModelSource] = {}
        self._by_path: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._known))

    async def find(self, name: str | None) -> ModelSource:
        """The model of a name, as it is now: another revision may have come, and models may have gone.

        Raises:
            ModelNotFoundError: there is none, or several have the name.
        """
        known = self._known.get(name or "")
        try:
            source = await asyncio.to_thread(self._found, name, known)
        except ModelNotFoundError:
            if known is not None:
                self._known.pop(known.id, None)
                self._by_path.discard(known.id)
            raise
        if known is None and name is not None and await asyncio.to_thread(_is_path_of, name, source):
            self._by_path.add(source.id)
        self._known[source.id] = source
        return source

    def _found(self, name: str | None, known: ModelSource | None) -> ModelSource:
        home = self._config.home
        # One that was named by its path may be anywhere, or be a snapshot that is not the newest.
        if known is not None and known.id in self._by_path:
            with contextlib.suppress(ModelNotFoundError):
                found = resolve_model(str(known.path), home.models)
                return replace(found, id=known.id, name=known.name)
        found = resolve_model(name, home.models, models_dirs=self._config.models_dirs)
        if known is not None and found.id != known.id:
            raise ModelNotFoundError(f"The files of {known.id} in {known.path} are gone.")
        return found


def _is_path_of(name: str, source: ModelSource) -> bool:
    folder = full_path(Path(name))
    return is_folder(folder) and folder.resolve() == source.path

"""What a request's `model` means, where several models can be asked."""

from __future__ import annotations

import fnmatch
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fireside.api.served import Available
from fireside.catalog.query import AmbiguousModelError, UnknownModelError, find_name
from fireside.http.errors import NotFound

SERVED_NAMES = ("", "local", "default", "any")
"""What means the served model, whichever that is."""


@dataclass(frozen=True)
class Names:
    """The models on this machine by their names.

    Attributes:
        local: all that can chat.
        aliases: from a name, or a pattern such as `gpt-*`, to a model or to `default`.
    """

    local: Callable[[], Awaitable[list[Available]]]
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    async def find(self, name: str, served: str, others: Iterable[str] = ()) -> str:
        """The id of the model that is meant.

        Args:
            served: the id of the served model.
            others: ids of models that can be asked besides those of `local`.

        Raises:
            NotFound: none has that name, or several do; the message lists what comes near.
        """
        if name in (*SERVED_NAMES, served):
            return served
        others = list(others)
        if name in others:
            # Most requests mean one that runs: no disk has to be looked at for that.
            return name
        known = list(dict.fromkeys([served, *others, *(model.id for model in await self.local())]))
        if name not in known:
            name = next((to for pattern, to in self.aliases.items() if fnmatch.fnmatch(name, pattern)), name)
            if name in SERVED_NAMES:
                return served
        try:
            return find_name(name, known)
        except (UnknownModelError, AmbiguousModelError) as error:
            raise NotFound(str(error), code="model_not_found", param="model") from error

"""The models on this machine as an app tells them: assessed, and remembered for a while."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

import msgspec

from fireside.catalog.assess import Assessment, Terms, assess
from fireside.catalog.families import Tier
from fireside.catalog.fit_report import FitReport, MachineFacts, fit_report, machine_facts
from fireside.catalog.machine import Machine, detect_machine
from fireside.catalog.places import Origin
from fireside.catalog.query import find_name
from fireside.catalog.recommend import Recommendation, recommend
from fireside.catalog.registry import Catalog
from fireside.catalog.scan import Kind, ModelFacts

KEPT_S = 30.0
_STEPS = 128


class LibraryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A model on this machine.

    Attributes:
        repo_id: the name by which it is asked for.
        revision: the commit of a model of the hub; null for a folder.
        parameters: numbers that it has learned.
        quant_bits: of a packed number, null where weights are not packed.
        quantization: how they are packed; null as above.
        context_window: tokens that it reads.
        modalities: of `text`, `vision`, `audio`; `embedding` for one that makes vectors.
        template, tools, thinking: whether its chat template is there, and knows tools and reasoning.
        licence: as its card names it.
        complete: whether all its files are here; `missing` says what is not.
        supported: whether the engine can run it; `unsupported` says why not.
        usable: complete and supported.
        support_tier: `targeted` for types whose memory is checked one by one, `generic` for the others.
        serving: whether it answers now.
        modified: when its files last changed, in seconds since 1970.
    """

    repo_id: str
    revision: str | None
    path: str
    origin: Origin
    kind: Kind
    model_type: str
    architecture: str
    parameters: int | None
    size_bytes: int
    quant_bits: int | None
    quantization: str | None
    dtype: str | None
    context_window: int | None
    modalities: list[str]
    vision: bool
    audio: bool
    template: bool
    tools: bool
    thinking: bool
    licence: str | None
    complete: bool
    missing: tuple[str, ...]
    supported: bool
    unsupported: str | None
    usable: bool
    support_tier: Tier
    serving: bool
    modified: float
    assessment: Assessment


_Asked = tuple[ModelFacts, Machine, None, Terms, float | None]
"""What `assess` is asked."""


class Library:
    """The catalog and the machine together. Rows are as they were at most `KEPT_S` seconds ago."""

    def __init__(
        self,
        catalog: Catalog,
        serving: Callable[[], str | None] = lambda: None,
        terms: Callable[[], Terms] = Terms,
        detect: Callable[[bool], Machine] = lambda measure: detect_machine(measure=measure),
    ) -> None:
        """
        Args:
            serving: the name of the model that answers now.
            terms: what the server allows a model.
            detect: the machine; to be measured where no table has its bandwidth, if that is asked.
        """
        self._catalog = catalog
        self._serving = serving
        self._terms = terms
        self._detect = detect
        self._reading = Lock()
        self._bandwidth: int | None = None
        self._changes = 0
        self._assessments: dict[_Asked, Assessment] = {}
        self._kept: tuple[float, list[ModelFacts], list[LibraryRow]] | None = None

    @property
    def serving(self) -> str | None:
        """The name of the model that answers now."""
        return self._serving()

    def invalidate(self) -> None:
        """Look again the next time: models have come, gone or changed."""
        self._kept = None
        self._changes += 1

    async def rows(self) -> list[LibraryRow]:
        """All models, by name."""
        _, rows = await asyncio.to_thread(self._read)
        served = self._serving()
        if served is not None and all(row.repo_id != served for row in rows):
            # It has come since: the built-in one is made when it is first served.
            self.invalidate()
            _, rows = await asyncio.to_thread(self._read)
        return [msgspec.structs.replace(row, serving=row.repo_id == served) for row in rows]

    async def models(self) -> list[ModelFacts]:
        """The same without what depends on the machine."""
        facts, _ = await asyncio.to_thread(self._read)
        return facts

    async def machine(self) -> MachineFacts:
        """What models run on."""
        return machine_facts(await asyncio.to_thread(self._machine))

    async def fit(self, model: str, context: int | None = None) -> FitReport:
        """Everything about one model.

        Args:
            model: its name, or words that are in no other name.
            context: tokens of a conversation; None for a typical length.

        Raises:
            UnknownModelError, AmbiguousModelError: no model, or several, have such a name.
        """
        return await asyncio.to_thread(self._fit, model, context)

    async def recommended(self) -> list[Recommendation]:
        """Models that suit this machine."""
        return await asyncio.to_thread(self._recommended)

    async def record_rate(self, model: str, tps: float) -> None:
        """Note how fast a model has answered; see `Catalog.record_rate`."""
        await asyncio.to_thread(self._catalog.record_rate, model, tps)
        self.invalidate()

    def _read(self) -> tuple[list[ModelFacts], list[LibraryRow]]:
        # One at a time: whoever comes meanwhile gets what the first one finds.
        with self._reading:
            kept = self._kept
            if kept is not None and time.monotonic() - kept[0] < KEPT_S:
                return kept[1], kept[2]
            begin, changes = time.monotonic(), self._changes
            facts = self._catalog.refresh()
            rates, machine, terms = self._catalog.rates(), self._machine(), self._terms()
            machine = replace(machine, available_bytes=_in_steps(machine))
            asked = {each: (each, machine, None, terms, rates.get(each.repo_id)) for each in facts}
            known = self._assessments
            self._assessments = {of: known.get(of) or assess(*of) for of in asked.values()}
            rows = [_row(each, self._assessments[of]) for each, of in asked.items()]
            if changes == self._changes:
                self._kept = (begin, facts, rows)
            return facts, rows

    def _machine(self) -> Machine:
        found = self._detect(self._bandwidth is None)
        self._bandwidth = self._bandwidth or found.bandwidth
        return replace(found, bandwidth=found.bandwidth or self._bandwidth)

    def _fit(self, model: str, context: int | None) -> FitReport:
        facts, _ = self._read()
        by_name = {each.repo_id: each for each in facts}
        found = by_name[find_name(model, by_name)]
        rate = self._catalog.rates().get(found.repo_id)
        return fit_report(found, self._machine(), context, self._terms(), rate)

    def _recommended(self) -> list[Recommendation]:
        facts, _ = self._read()
        return recommend(self._machine(), {each.repo_id for each in facts if each.complete})


def _in_steps(machine: Machine) -> int:
    """Its free bytes, rounded down: assessing many models takes a while, and holds until a step is passed."""
    step = max(1, machine.memory_bytes // _STEPS)
    return machine.available_bytes // step * step


def _row(facts: ModelFacts, assessment: Assessment) -> LibraryRow:
    return LibraryRow(
        repo_id=facts.repo_id,
        revision=facts.revision,
        path=facts.path,
        origin=facts.origin,
        kind=facts.kind,
        model_type=facts.model_type,
        architecture=facts.architecture,
        parameters=facts.parameters,
        size_bytes=facts.size_bytes,
        quant_bits=facts.bits,
        quantization=facts.quantization,
        dtype=facts.weights.dtype if facts.weights else None,
        context_window=facts.context_window,
        modalities=facts.modalities,
        vision=facts.vision,
        audio=facts.audio,
        template=facts.template,
        tools=facts.tools,
        thinking=facts.thinking,
        licence=facts.licence,
        complete=facts.complete,
        missing=facts.missing,
        supported=facts.unsupported is None,
        unsupported=facts.unsupported,
        usable=facts.usable,
        support_tier=facts.tier,
        serving=False,
        modified=facts.modified,
        assessment=assessment,
    )

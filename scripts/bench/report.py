"""Figures as Markdown and JSON."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Cell = str | int | float | Sequence[float] | None


@dataclass
class Table:
    """Rows under named columns. A cell with several numbers shows as their median, with min and max."""

    title: str
    columns: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list[list[Cell]])

    def add(self, *cells: Cell) -> None:
        """Add a row."""
        self.rows.append(list(cells))

    def markdown(self) -> str:
        """As it goes into the documentation."""
        align = ["---" if i == 0 else "---:" for i in range(len(self.columns))]
        lines = [self.columns, align, *([show(cell) for cell in row] for row in self.rows)]
        return f"**{self.title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(cell: Cell) -> str:
    """A cell as text."""
    if cell is None:
        return "-"
    if isinstance(cell, str | int):
        return str(cell)
    if isinstance(cell, float):
        return _number(cell)
    if not cell:
        return "-"
    if len(cell) == 1:
        return _number(cell[0])
    return f"{_number(statistics.median(cell))} ({_number(min(cell))} to {_number(max(cell))})"


def publish(tables: Sequence[Table], file: Path | None) -> None:
    """Print the tables, and write them as JSON if there is a file to write to."""
    for table in tables:
        print(table.markdown(), end="\n\n", flush=True)
    if file is not None:
        file.write_text(json.dumps([_as_json(table) for table in tables], indent=2))


def say(text: str) -> None:
    """At once, so that a run that is cut off has shown what it found."""
    print(text, file=sys.stderr, flush=True)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of them does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _as_json(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
    }


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"

"""The invented content of the pictures: chats, a memory, and what a model would answer."""

from __future__ import annotations

NOW = 1_795_802_520.0
"""When the pictures are taken, for the page: Friday, 27 November 2026, 18:02 in London."""

HOUR = 3600.0
DAY = 24 * HOUR

MODEL_ID = "Qwen3-4B-4bit"
MODEL_NAME = "Qwen3-4B"

TIDES_CSV = """time,height
06:12,4.1
12:25,0.6
18:41,4.3
"""

TIDES_REASONING = """\
The file has three turns of the tide. The causeway is dry while the water is below 1.4 m, so I need the \
times on both sides of the low water at which the curve passes 1.4 m.

A cosine between two turns is good enough for a walk; I should add a margin and say so."""

TIDES_PROMPT = (
    "Read `tides.csv` and tell me when I can walk over to the island on Saturday. "
    "Show me how you work it out, please."
)

TIDES_ANSWER = """You can cross **from 10:27 until 14:21**. Be back on this side by **13:50**, to be safe.

| Turn of the tide | Time | Height |
| :-- | --: | --: |
| High water | 06:12 | 4.1 m |
| **Low water** | **12:25** | **0.6 m** |
| High water | 18:41 | 4.3 m |

Between two turns the water follows a cosine.[^1] With the heights $h_1$ and $h_2$
at the times $t_1$ and $t_2$:

$$h(t) = \\frac{h_1 + h_2}{2}
+ \\frac{h_1 - h_2}{2} \\cos\\!\\left(\\pi \\, \\frac{t - t_1}{t_2 - t_1}\\right)$$

The causeway is dry while $h(t) < 1.4$, which is solved for $t$ like this:

```python
from math import acos, pi

def dry_minutes(low: float, high: float, minutes: float, sill: float = 1.4) -> float:
    \"\"\"How long before or after low water the causeway is dry.\"\"\"
    middle, swing = (high + low) / 2, (high - low) / 2
    return minutes * acos((middle - sill) / swing) / pi  # 118 and 116 minutes
```

- [x] Boots, a torch and the timetable
- [ ] Tell someone when you are back

[^1]: Wind from the west keeps the water in the bay; on such a day take half an hour off at both ends.
"""

STREAM_PROMPT = "Explain in a few words why bread dough wants to rest before it is shaped."

STREAM_START = """Three things happen while it lies there, and none of them needs you:

1. **The gluten relaxes.** Kneading pulls the strands tight, and a tight dough springs back when you
   roll it out.
2. **The water spreads.** Bran and starch go on drinking for half an hour, so the dough feels drier and
   holds better.
3. **Enzymes get to work.** They cut starch into sugar, which feeds the yeast and later browns the """

APPROVAL_PROMPT = "The CLI flag `--md` should be `--format markdown`. Change it and keep the old one working."

APPROVAL_START = "It is parsed in one place, so one edit is enough. The old flag stays as a hidden alias:"

CLI_PY = """import click

from notes.export import export

@click.command()
@click.argument("folder")
@click.option("--md", is_flag=True)
def main(folder: str, md: bool) -> None:
    export(folder, "markdown" if md else "json")
"""

CLI_OLD = """@click.option("--md", is_flag=True)
def main(folder: str, md: bool) -> None:
    export(folder, "markdown" if md else "json")
"""

CLI_NEW = """@click.option("--format", "kind", type=click.Choice(["markdown", "json"]), default="json")
@click.option("--md", is_flag=True, hidden=True)
def main(folder: str, kind: str, md: bool) -> None:
    export(folder, "markdown" if md else kind)
"""

ARABIC_PROMPT = "كيف أحفظ الخبز طازجًا لعدة أيام؟ استخدم الأمر `ls` مثالًا."

ARABIC_ANSWER = """الخبز يجف لأن النشا **يتبلور من جديد**، لا لأن الماء يتبخر وحده:

1. اتركه يبرد تمامًا قبل أن تغطيه.
2. لفّه بقماش، لا بالبلاستيك، فالقشرة تبقى مقرمشة.
3. جمّد نصفه في اليوم نفسه؛ الثلاجة أسوأ مكان له.

| المكان | المدة |
| :-- | :-- |
| قماش | يومان |
| المجمّد | شهر |

```sh
ls -la ~/bread   # code stays left to right
```
"""

TITLES = (
    ("Garden plan 2027", 9 * DAY, True),
    ("Letter to the council", 5 * HOUR, False),
    ("Bread, 78 % hydration", 26 * HOUR, False),
    ("東京の週末プラン", 29 * HOUR, False),
    ("Compare two KV cache schemes", 4 * DAY, False),
    ("Names for a small black cat", 5 * DAY, False),
    ("Why is the batch slower at night?", 16 * DAY, False),
)
"""Chats of the list: the title, its age in seconds, and whether it is pinned."""

SHORT_CHATS = {
    "Garden plan 2027": (
        "What goes into the east bed?",
        "Tomatoes and basil, with the compost from autumn dug in by the end of March. The shade of "
        "the plum tree "
        "reaches the bed at four.",
    ),
    "Bread, 78 % hydration": (
        "My dough is too wet to shape. What now?",
        "Fold it twice more, half an hour apart, with wet hands. At 78 % it never gets firm, but "
        "after the folds "
        "it holds an edge.",
    ),
}

GARDEN = """---
tags: [plan, garden]
aliases: [Beds]
---
# Garden plan 2027

The east bed gets [[Tomatoes]] and basil; the shade of the [[Plum tree]] reaches it at four. Last year's
[[Leek trial]] is not repeated.

## Beds

| Bed | Sun | What |
| :-- | :-- | :-- |
| East | until four | Tomatoes, basil |
| Wall | all day | Beans, sweet peas |
| North | mornings | Lettuce, chard |

## To buy

- Compost, two bags
- Twine
- A new rose for the can
"""

GARDEN_FIRST = GARDEN.replace(" and basil; the shade", "; the shade").replace("- Twine\n", "")

ARTICLES = (
    ("Bread", "# Bread\n\n78 % water, 2 % salt, and a night in the fridge.\n", 31 * DAY, "Add Bread"),
    ("Garden/Plan 2027", GARDEN_FIRST, 12 * DAY, "Add Garden/Plan 2027"),
    (
        "Garden/Tomatoes",
        "---\naliases: [Tomatoes]\n---\n# Tomatoes\n\n"
        "Two plants of each kind, see [[Garden plan 2027#Beds]].\n",
        11 * DAY,
        "Add Garden/Tomatoes",
    ),
    (
        "Garden/Plum tree",
        "# Plum tree\n\nPruned in July. It shades the beds of the [[Garden plan 2027]].\n",
        6 * DAY,
        "Add Garden/Plum tree",
    ),
    ("Garden/Plan 2027", GARDEN, 3 * DAY, "Change Garden/Plan 2027"),
    (
        "Ada",
        "# Ada\n\nLives by the sea, bakes on Saturdays, writes Python. Wants short answers.\n",
        5 * HOUR,
        "Change Ada",
    ),
)
"""What was written to the memory: the article, its text, how long ago, and the subject of the commit."""

PROPOSED = "\n> Ordered the compost on 27 November; it comes on Friday.\n"

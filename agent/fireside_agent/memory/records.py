"""What the vault tells about itself and its articles."""

import msgspec

from fireside_agent.memory.articles import Article

README = """# Memory

What Fireside remembers, as plain Markdown. Edit it in any editor, or open this folder as a vault in Obsidian.

- `articles/`: one file each. Link them with `[[Name]]`. `category`, `type` and `series` in the front matter
  group them.
- `Reference/`: texts that articles link to and Fireside does not change.
- `Meta/`: notes about this memory itself.

Every accepted change is one git commit, so nothing is lost: `git log` shows it, `git revert` undoes it.
"""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One article in a list. `modified_at` is in seconds since the epoch, `size` in characters."""

    name: str
    title: str
    category: list[str]
    type: list[str]
    series: list[str]
    modified_at: float
    size: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the vault. `git`: it has a repository of its own; `git_program`: git is installed."""

    root: str
    exists: bool
    git: bool
    git_program: bool
    articles: int
    references: int
    recent: list[Summary]


class Imported(msgspec.Struct, frozen=True):
    """What an import took over, what was there before, and what could not be taken and why."""

    added: list[str]
    skipped: list[str]
    failed: dict[str, str]


def summarize(article: Article) -> Summary:
    """The article's line in a list."""
    return Summary(
        name=article.name,
        title=article.title,
        category=article.kind("category"),
        type=article.kind("type"),
        series=article.kind("series"),
        modified_at=article.modified,
        size=len(article.text),
    )

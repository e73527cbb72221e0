"""What the articles' wikilinks say after one of them got another name."""

from collections.abc import Mapping
from dataclasses import replace

from fireside_agent.memory.articles import Article, Wikilink
from fireside_agent.memory.errors import InvalidName
from fireside_agent.memory.links import names_of, split_target
from fireside_agent.memory.names import Names

_NOT_IN_LINKS = frozenset("[]|")


def relinked(articles: Mapping[str, Article], name: str, new_name: str) -> dict[str, str]:
    """The texts that must change, by the articles' names after that, so that every link leads where it did.

    A link that does so anyway, by the article's title or an alias, stays as it is written.

    Raises:
        InvalidName: no link can be written with the new name, and one would have to be.
    """
    after = {new_name if each == name else each: article for each, article in articles.items()}
    after[new_name] = replace(after[new_name], name=new_name)
    old, new = names_of(articles), names_of(after)
    changed: dict[str, str] = {}
    for each, article in after.items():
        text = _rewritten(article, name, new_name, old, new)
        if text != article.text:
            changed[each] = text
    return changed


def _rewritten(article: Article, name: str, new_name: str, old: Names, new: Names) -> str:
    pieces: list[str] = []
    done = 0
    for link in article.wikilinks:
        target, heading = split_target(link.words, old)
        meant = old.find(target) if target else None
        meant = new_name if meant == name else meant
        if meant is None or new.find(split_target(link.words, new)[0]) == meant:
            continue
        words = _shortest(meant, target, new) + (f"#{heading}" if heading else "")
        pieces += (article.text[done : link.start], _with_words(article.text, link, words))
        done = link.end
    return "".join((*pieces, article.text[done:]))


def _shortest(meant: str, target: str, names: Names) -> str:
    """How a link names the article: without its folders where the old one did, and that is enough."""
    last = meant.rpartition("/")[2]
    written = last if "/" not in target and names.find(last) == meant else meant
    if _NOT_IN_LINKS & set(written):
        words = "Links lead to this article, and no link can hold `[`, `]` or `|` in a name."
        raise InvalidName(words, "new_name")
    return written


def _with_words(text: str, link: Wikilink, words: str) -> str:
    """The link as written, but for its words: the label stays, and the `\\|` of a table."""
    before, bracket, inner = text[link.start : link.end].partition("[[")
    old, bar, rest = inner.removesuffix("]]").partition("|")
    escape = "\\" if bar and old.endswith("\\") else ""
    return f"{before}{bracket}{words}{escape}{bar}{rest}]]"

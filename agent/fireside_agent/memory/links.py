"""Wikilinks: `[[Name]]`, `[[Name|label]]`, `[[Name#Heading]]`, outbound and inbound."""

from collections.abc import Iterable, Mapping

import msgspec

from fireside_agent.memory.articles import Article, Wikilink
from fireside_agent.memory.names import Names


class OutboundLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the article. `article` is None and `broken` says why where it leads nowhere."""

    target: str
    heading: str
    label: str
    line: int
    article: str | None
    broken: str | None


class InboundLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of another article to this one."""

    article: str
    title: str
    label: str
    line: int
    broken: str | None


class Links(msgspec.Struct, frozen=True):
    """An article's links, both ways."""

    outbound: list[OutboundLink]
    inbound: list[InboundLink]


def split_target(words: str, names: Names) -> tuple[str, str]:
    """Article and heading of a link. An article's own name may hold `#`."""
    if "#" not in words or names.find(words):
        return words, ""
    target, _, heading = words.rpartition("#")
    if names.find(target) is None:
        target, _, heading = words.partition("#")
    return target.strip(), heading.strip()


def links_of(article: Article, articles: Mapping[str, Article], names: Names, others: Names) -> Links:
    """The links of one article, both ways. `others` are files beside the articles that may be linked to."""
    outbound = [_resolve(article, link, articles, names, others) for link in article.wikilinks]
    return Links(outbound, list(_inbound(article, articles, names, others)))


def _inbound(
    article: Article, articles: Mapping[str, Article], names: Names, others: Names
) -> Iterable[InboundLink]:
    for other in articles.values():
        if other.name == article.name:
            continue
        for link in other.wikilinks:
            if link.words[0] != "#" and names.find(split_target(link.words, names)[0]) == article.name:
                seen = _resolve(other, link, articles, names, others)
                yield InboundLink(
                    article=other.name,
                    title=other.title,
                    label=link.label,
                    line=link.line,
                    broken=seen.broken,
                )


def _resolve(
    article: Article, link: Wikilink, articles: Mapping[str, Article], names: Names, others: Names
) -> OutboundLink:
    target, heading = split_target(link.words, names)
    name = names.find(target) if target else article.name
    broken = None
    if name is None and others.find(target) is None:
        broken = "no such article"
    elif name is not None and heading and not heading.startswith("^"):
        # Obsidian writes a path of headings with `#` and a block with `#^`.
        found = articles[name].section(heading) or articles[name].section(heading.replace("#", ">"))
        broken = None if found else "no such heading"
    return OutboundLink(
        target=target,
        heading=heading,
        label=link.label,
        line=link.line,
        article=name,
        broken=broken,
    )


def names_of(articles: Mapping[str, Article]) -> Names:
    """The names, titles and aliases of articles."""
    aliases = [(alias, each.name) for each in articles.values() for alias in (*each.aliases, each.title)]
    return Names(articles, aliases)

"""The vault as full-text search sees it: sections."""

import asyncio
from collections.abc import Iterator, Sequence

from fireside_agent.memory.articles import Article
from fireside_agent.memory.vault import Vault
from fireside_agent.search.articles import Article as Document


class VaultArticles:
    """Every section of every article of `vault`, as `search.articles.Articles`."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def search_documents(self) -> Sequence[Document]:
        """All of them; none where there is no vault."""
        if not self._vault.exists:
            return []
        articles = await self._vault.articles()
        return await asyncio.to_thread(lambda: [part for a in articles.values() for part in _sections(a)])


def _sections(article: Article) -> Iterator[Document]:
    yield Document(article.name, "", article.lead, article.modified)
    ends = [*(heading.start for heading in article.headings), len(article.text)][1:]
    for heading, end in zip(article.headings, ends, strict=True):
        yield Document(article.name, heading.path, article.text[heading.start : end], article.modified)

"""Three ways to search a town's handbook: once, again in other words, by following references.

    kragx run configs/agents.yaml

`rewords` and `follows` stand for an agent of yours, which has a model where these have a small
rule. What they search with is `searched`, so that kragx knows of each call. docs/agents.md says
what comes of it. To see what they search for when they are asked a question:

    python examples/agents.py "Can we go to the museum of clocks on New Year's Day?"
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

from langchain_core.documents import Document

from kragx import Searches, read_corpus, record_searches, searched
from kragx.retrievers import BM25Retriever

CORPUS = Path(__file__).parent / "data" / "agents" / "corpus.jsonl"

Agent = Callable[[str], Searches]

SEE = re.compile(r"see (\w+ \w+ \w+)|(요금표 \w+|휴일표 \w+) 참고")
"""How a page refers to another one."""


def words_in(passages: Sequence[Document]) -> int:
    """What passages cost in a prompt, counted in words."""
    return sum(len(passage.page_content.split()) for passage in passages)


def handbook(corpus: str) -> Callable[..., list[Document]]:
    """A search in the pages of a handbook."""
    pages = [Document(page.text or "", id=page.id) for page in read_corpus(corpus)]
    index = BM25Retriever(documents=pages, k=10, tokenizer={"name": "char", "n": 3})

    @searched(tool="handbook", tokens=words_in)
    def search(query: str, k: int = 3) -> list[Document]:
        return index.invoke(query)[:k]

    return search


def once(corpus: str, k: int = 3) -> Callable[[str], list[Document]]:
    """The question is searched for, and that is all."""
    search = handbook(corpus)
    return lambda question: search(question, k=k)


def rewords(corpus: str, most: int = 3) -> Agent:
    """Searches again with the words that no page has which came so far."""
    search = handbook(corpus)

    def agent(question: str) -> Searches:
        with record_searches() as searches:
            words = re.findall(r"\w+", question)
            pages = search(question)
            while len(searches.searches) < most:
                text = " ".join(page.page_content for page in pages).lower()
                words = [word for word in words if word.lower()[:3] not in text]
                if not words:
                    break
                pages += search(" ".join(words))
            searches.read([page.id for page in pages[:3]])
        return searches

    return agent


def follows(corpus: str) -> Agent:
    """Searches for what the best page refers to, for all of it side by side."""
    search = handbook(corpus)

    def agent(question: str) -> Searches:
        with record_searches() as searches, ThreadPoolExecutor() as pool:
            pages = search(question)[:1]
            text = " ".join(page.page_content for page in pages)
            names = [" ".join(filter(None, match)) for match in SEE.findall(text)]
            with searches.side_by_side():
                calls = [pool.submit(copy_context().run, search, name, 1) for name in names]
            pages += [call.result()[0] for call in calls]
            searches.read([page.id for page in pages])
        return searches

    return agent


def main(question: str = "How much does a grown-up pay at the swimming pool?") -> None:
    """Print the searches of each agent, step by step, with the pages that came."""
    for agent in (once, rewords, follows):
        print(agent.__name__)
        with record_searches() as searches:
            agent(str(CORPUS))(question)
        for search in searches.searches:
            pages = ", ".join(page.id or "" for page in search.documents or ())
            print(f"  {search.step}. {search.query}: {pages}")


if __name__ == "__main__":
    main(*sys.argv[1:2])

"""The test of the doors: the same content gives the same values, whichever way it came in.

Every content and every matcher (`MATCHES`) goes through every door (`DOORS`), with metrics of the
match table alone and with metrics that look at documents. What a `GoldDataset` and a `Run` give,
whose documents are objects, is what all must give, to the last bit. A new door, matcher or content
is a line; a door that cannot carry something says so in its line.
"""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import gzip
import io
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from kragx import (
    Doc,
    Gold,
    GoldDataset,
    KragDocument,
    OfflineRetrievalEvaluators,
    Query,
    RAGEvaluator,
    Retrieved,
    Run,
    aevaluate,
    evaluate,
    read_results,
    write_gold,
    write_results,
)
from kragx.app import config
from kragx.app.commands.main import main
from kragx.app.pipeline import run
from kragx.data.documents import doc_record
from kragx.data.formats.format import STANDS_FOR, question_record
from kragx.data.formats.parquet import write_questions
from kragx.data.formats.trec import write_qrels
from kragx.evaluation import parts as part
from kragx.evaluation.part_tables import evaluate_in_parts
from kragx.judging import Answer, Request, Usage
from kragx.matchers import METHODS
from tests.data.support import write_run
from tests.local_cluster import two_workers
from tests.one_thread import ONE_THREAD
from tests.thoroughness import THOROUGH

# -- what goes through the doors ------------------------------------------------------------------

TEXTS = {
    "sea": "The mark1 old harbour of the city was closed to ships in the spring of 1923.",
    "longer": "Note: The mark1 old harbour of the city was closed to ships in the spring of 1923. "
    "It opened again two years later, when the new pier of stone had been built.",
    "half": "The mark1 old harbour of the city was painted by many; nobody knows its colour.",
    "korean": "계약을 해지하려면 mark2 해지일 십사 일 전까지 서면으로 알려야 합니다.",
    "decomposed": "\u1100\u1168\u110b\u1163\u11a8을 "
    "해지하려면 mark2 해지일 십사 일 전까지 서면으로 알려야 합니다.",
    "spaces": "계약을\u00a0해지하려면  mark2 해지일\t십사 일 전까지\u2028"
    "서면으로 알려야\u0085합니다.",
    "odd": '=1+1, "quoted"; \u200bzero\u200d width 👩\u200d👩\u200d👧 '
    "\u202eright-to-left\u202c ﬁ ½ \ufeff mark3 \U0001d54a",
    "short": "1923",
    "number": "1e5",
    "lines": "first line mark4\nsecond line | with bars\r\nthird; and 'quotes'",
    "three": "The fee for moving a booking of the mark5 east line to another day is 3,000 won.",
    "five": "The fee for moving a booking of the mark6 west line to another day is 5,000 won.",
    "misread": "The fee for moving a bookmg of the mark5 east line to another day is 3,000 won.",
    "other": "Nothing of this stands anywhere else; NaN, null and None are words here.",
}
"""Texts that people have, and texts that files, cells and tokenizers stumble over."""

_GOLDS: Sequence[Sequence[str]] = (
    ("sea",), ("korean", "short"), ("odd", "lines"), ("decomposed", "sea", "lines"), ("other",),
    ("number",), ("short", "sea"), ("decomposed", "sea", "lines"),
    ("three",), ("five",), ("five", "three"),
)  # fmt: skip
_FOUND: Sequence[Sequence[str]] = (
    ("half", "longer", "sea"), ("spaces", "longer", "other"), ("lines", "odd"),
    ("longer", "half", "decomposed", "korean"), (), ("short", "number", "half"),
    ("longer", "sea"), ("lines", "other", "decomposed", "sea"),
    ("five", "misread"), ("three", "half", "five"), ("misread", "five"),
)  # fmt: skip
_IDS = dict(
    zip(
        TEXTS,
        [
            *("007", "1e3", "NA", "null", "true", "é", "e\u0301", "x,y", "1.0", "=7"),
            *("가|나", "[8]", "{9}", "-0"),
        ],
        strict=True,
    )
)

Dressed = Callable[[str], Mapping[str, Any]]
"""From the name of a text to the fields of the document that holds it."""


def _about(name: str) -> dict[str, Any]:
    """Metadata as splitters and loaders write them."""
    where = {"source": f"{name[0]}.pdf", "page": len(name)}
    return where | {"doc": f"{name[0]}.pdf", "pages": [len(name) + 1], "tags": ["a", name]}


def _own(name: str) -> Mapping[str, Any]:
    return {"id": _IDS[name], "text": TEXTS[name], "metadata": _about(name)}


def _in_metadata(name: str) -> Mapping[str, Any]:
    own = 7 if name == "sea" else _IDS[name]
    return {"text": TEXTS[name], "metadata": _about(name) | {"id": own}}


def _nested(name: str) -> Mapping[str, Any]:
    at = {"file": {"chunk": {"id": _IDS[name]}}}
    return {"id": f"own {name}", "text": TEXTS[name], "metadata": _about(name) | at}


@dataclass(frozen=True)
class Content:
    """Questions with gold and what was retrieved for each.

    Attributes:
        golds, found: of each question, by the names of texts.
        dressed: what a document holds.
        gold: more fields of each question's first gold item, by its name.
        asks: more fields of each question, by its number.
        holds: what a door must be able to carry.
    """

    golds: Sequence[Sequence[str]] = _GOLDS
    found: Sequence[Sequence[str]] = _FOUND
    dressed: Dressed = _own
    gold: Callable[[int, str], Mapping[str, Any]] = lambda place, name: {}
    asks: Callable[[int], Mapping[str, float]] = lambda number: {}
    holds: frozenset[str] = frozenset()

    @cached_property
    def dataset(self) -> GoldDataset:
        """The gold set."""
        return GoldDataset(
            tuple(
                Query(
                    f"q{number}",
                    f"What is asked for the {number}th time?",
                    tuple(
                        Gold(**{**self.dressed(name), **self.gold(place, name)})
                        for place, name in enumerate(names)
                    ),
                    metadata={"facts": [TEXTS[name] for name in names]},
                    **self.asks(number),
                )
                for number, names in enumerate(self.golds, start=1)
            )
        )

    @cached_property
    def run(self) -> Run:
        """What was retrieved; scores descend."""
        lists = [[Doc(**self.dressed(name)) for name in names] for names in self.found]
        return Run(
            {
                query.id: Retrieved(
                    tuple(dataclasses.replace(doc, score=1 / n) for n, doc in enumerate(docs, 2))
                )
                for query, docs in zip(self.dataset, lists, strict=True)
            }
        )


def _other(name: str) -> tuple[Doc, ...]:
    return (Doc(**_own("other")), Doc(**_own(name)))


CONTENTS: Mapping[str, Content] = {
    "texts": Content(
        (*_GOLDS, ()),
        (*(own and (*own, own[0]) for own in _FOUND), ("sea",)),
        lambda name: {"text": TEXTS[name]},
        holds=frozenset({"no ids", "repeats", "no gold"}),
    ),
    "ids": Content(holds=frozenset({"ids"})),
    "ids in metadata": Content(
        dressed=_in_metadata, holds=frozenset({"no ids", "ids in metadata"})
    ),
    "nested ids": Content(dressed=_nested, holds=frozenset({"ids", "nested ids"})),
    "graded": Content(
        gold=lambda place, name: {"grade": (0.1, 0.3, 2.0)[place] if name != "other" else -1.0},
        holds=frozenset({"ids", "grades"}),
    ),
    "alternatives": Content(
        gold=lambda place, name: {} if place else {"text": "no such", "alternatives": _other(name)},
        holds=frozenset({"ids", "alternatives"}),
    ),
    "repeats": Content(
        (*_GOLDS, ()),
        (*(own and (own[0], *own, own[-1]) for own in _FOUND), ()),
        holds=frozenset({"ids", "repeats", "no gold"}),
    ),
    "weights": Content(
        asks=lambda number: {"weight": float(number % 5), "inclusion": (1.0, 0.3)[number % 2]},
        holds=frozenset({"ids", "weights"}),
    ),
}


# -- by what is matched, and what is measured -----------------------------------------------------


class Letters(Embeddings):
    """Vectors by the letters of a text: scripted, and the same in every process."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """How often each of some letters stands in each text."""
        return [
            [text.count(letter) + 0.1 for letter in "abcdeghiklmnoprstuy1해지"] for text in texts
        ]

    def embed_query(self, text: str) -> list[float]:
        """The same of one."""
        return self.embed_documents([text])[0]


class Marks:
    """A judge's client from a script: texts with a mark in common support each other."""

    settings: Mapping[str, Any] = {"provider": "scripted", "base_url": None, "model": "marks"}

    async def ask(self, request: Request) -> Answer:
        """A grade; of several facts, one of each."""
        said = request.messages[-1][1]
        marks = re.findall(r"mark\d", said)
        facts = re.findall(r"(?m)^(\d+)\. ", said)
        grade = 3 if len(marks) > len({*marks}) else 0
        of_facts = [{"number": int(n), "reason": "", "grade": int(n) % 3} for n in facts]
        answer = {"facts": of_facts} if facts else {"reason": "marks", "grade": grade}
        return Answer(json.dumps(answer), Usage(10, 5), "marks")


_JUDGE = {"client": "tests.test_doors:Marks", "store": "judgements.sqlite", "progress": False}
_CASCADE = [
    {"method": "id", "accept": 1.0},
    {"method": "rouge1", "accept": 0.9, "reject": 0.2},
    "text",
]
_KEY = "metadata.file.chunk.id"
_UNWEIGHTED = tuple(name for name in CONTENTS if name != "weights")  # few doors have weights
_WITH_IDS = ("ids", "ids in metadata", "graded", "alternatives", "repeats")
_WITH_METADATA = tuple(name for name in _UNWEIGHTED if name != "texts")


@dataclass(frozen=True)
class Match:
    """A matcher.

    Attributes:
        spec: what `match` takes; of `facts` alone, `facts_match`.
        of: the contents that it is for.
        looks_at: what it looks at of documents.
        facts: whether it decides about facts.
    """

    spec: Any
    of: Sequence[str] = _UNWEIGHTED
    looks_at: frozenset[str] = frozenset({"texts"})
    facts: bool = False


_IDS_ALONE = frozenset({"ids"})
_BOTH = frozenset({"ids", "texts"})

MATCHES: Mapping[str, Match] = {
    "id": Match("id", (*_WITH_IDS, "weights"), _IDS_ALONE),
    "id by key": Match({"method": "id", "id_key": _KEY}, ("nested ids",), _IDS_ALONE),
    "exact": Match("exact"),
    "text": Match("text"),
    "contains": Match("contains"),
    "rouge1": Match("rouge1"),
    "rouge2": Match("rouge2"),
    "rougeL": Match("rougeL"),
    "phrase": Match("phrase"),
    "overlap": Match("overlap", tuple(CONTENTS)),
    "span": Match("span"),
    "pages": Match("pages", _WITH_METADATA, frozenset({"metadata"})),
    "embedding": Match(
        {"method": "embedding", "embeddings": "tests.test_doors:Letters", "threshold": 0.9}
    ),
    "llm": Match({"method": "llm", "mode": "support", "judge": _JUDGE}, tuple(CONTENTS)),
    "nuggets": Match({"method": "nuggets", "judge": _JUDGE}, facts=True),
    "any": Match({"any": ["id", "exact"]}, _WITH_IDS, _BOTH),
    "all": Match({"all": ["id", "overlap"]}, _WITH_IDS, _BOTH),
    "cascade": Match({"cascade": _CASCADE}, _WITH_IDS, _BOTH),
}

_KRAG = (
    *("hit_rate{}(need=all)", "mrr{}", "recall{}"),
    *("precision{}(over=retrieved)", "f1{}(over=retrieved)", "map{}", "ndcg{}"),
)
"""What K-RAG's seven metrics mean, at a cut-off."""

CUTS = [1, 3, None]
OF_MATCHES = [name.format("" if k is None else f"@{k}") for k in CUTS for name in _KRAG]
METRICS: Mapping[str, list[str]] = {
    "matches": [*OF_MATCHES, "redundancy@3", "precision@3", "ndcg@3(gain=exp2)"],
    "evidence": [*OF_MATCHES, "coverage@3", "density@3", "iou", "judged@3", "source_diversity"],
}


@dataclass(frozen=True)
class Cell:
    """One content, for one matcher, with one kind of metrics."""

    content: str
    match: str
    kind: str

    @property
    def own(self) -> Content:
        """The content."""
        return CONTENTS[self.content]

    @property
    def needs(self) -> frozenset[str]:
        """What a door must carry for it."""
        match, needed = MATCHES[self.match], self.own.holds
        needed |= match.looks_at | {f"match: {self.match}", self.kind}
        if self.kind == "evidence":
            needed |= {"texts"} if self.content == "texts" else {"texts", "metadata"}
        return needed | {"facts"} if match.facts else needed

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Its content and its matcher, each with the kind of metrics."""
        return frozenset({(self.content, self.kind), (self.match, self.kind)})

    @property
    def metrics(self) -> list[str]:
        """What is measured."""
        facts = ["context_completeness@3"] if MATCHES[self.match].facts else []
        return METRICS[self.kind] + facts

    @property
    def options(self) -> dict[str, Any]:
        """Of `evaluate`."""
        match = MATCHES[self.match]
        by = {"match": "exact", "facts_match": match.spec} if match.facts else {"match": match.spec}
        return {"metrics": self.metrics, **by}


CELLS = [
    Cell(content, match, kind)
    for match, own in MATCHES.items()
    for content in own.of
    for kind in METRICS
]


# -- the doors ------------------------------------------------------------------------------------

Values = dict[str, Any]
"""``mean``, ``micro`` and ``queries`` of an evaluation, or a part of these."""


@dataclass(frozen=True)
class Door:
    """A way in.

    Attributes:
        values: what comes out, for a cell, with a folder of its own to write into.
        lacks: what it cannot carry.
        slow: of how many cells of its selection one is tried by ``-m integration``, where they take
            long; by default none is then. 0 where they do not.
        fixture: what it needs.
    """

    values: Callable[[Cell, Path], Values]
    lacks: frozenset[str] = frozenset()
    slow: int = 0
    fixture: str = ""


def said(evaluation: Any) -> Values:
    """The values of an evaluation."""
    return {name: dict(getattr(evaluation, name)) for name in ("mean", "micro", "queries")}


Form = Callable[[Doc | Gold], Any]
"""From a document to what another library, or a user, has in its place."""


def listed(form: Form, *, graded: bool = False) -> tuple[Callable[[Content], Any], ...]:
    """Lists of gold, and of what was retrieved, in a form.

    What a form has no place for, grades and alternatives, stands in a `Gold` among the others,
    unless it is `graded` itself.
    """

    def golds(content: Content) -> list[list[Any]]:
        return [
            [
                form(own) if graded or (own.grade == 1 and not own.alternatives) else own
                for own in query.gold
            ]
            for query in content.dataset
        ]

    def docs(content: Content) -> list[list[Any]]:
        return [[form(doc) for doc in own.documents] for own in content.run.results.values()]

    return golds, docs


def lists(form: Form, *, graded: bool = False) -> Callable[[Cell, Path], Values]:
    """`evaluate` of two lists of lists."""
    golds, docs = listed(form, graded=graded)
    return lambda cell, folder: said(evaluate(golds(cell.own), docs(cell.own), **cell.options))


def record(doc: Doc | Gold) -> dict[str, Any]:
    """A document or gold item as a mapping."""
    if isinstance(doc, Doc):
        return doc_record(doc)
    (own,) = question_record(Query("q", gold=(doc,)), None)["gold"]
    assert isinstance(own, dict)
    return own


def langchain(doc: Doc | Gold) -> Document:
    """LangChain's."""
    return Document(doc.text or "", id=doc.id, metadata=dict(doc.metadata))


def of_krag(doc: Doc | Gold) -> KragDocument:
    """K-RAG's."""
    return KragDocument(doc.text or "", doc.metadata, id=doc.id)


def llama_index(doc: Doc | Gold) -> Any:
    """LlamaIndex', with a score where it has one."""
    schema = pytest.importorskip("llama_index.core.schema")
    node = schema.TextNode(text=doc.text, id_=doc.id, metadata=dict(doc.metadata))
    score = doc.score if isinstance(doc, Doc) else None
    return node if score is None else schema.NodeWithScore(node=node, score=score)


def haystack(doc: Doc | Gold) -> Any:
    """Haystack's."""
    kind = pytest.importorskip("haystack").Document
    return kind(id=doc.id, content=doc.text, meta=dict(doc.metadata))


def by_query(cell: Cell, folder: Path) -> Values:
    """Two mappings by query id, in another order."""
    content = cell.own
    golds = {query.id: query.gold for query in content.dataset}
    found = {name: [*content.run[name].documents] for name in reversed([*content.run])}
    return said(evaluate(golds, found, **cell.options))


def krag_values(result: Mapping[Any, Any], evaluation: Any) -> Values:
    """What K-RAG's evaluators say, by kragx's names."""
    values: Values = {"mean": {}, "micro": {}, "queries": dict(evaluation.queries)}
    for k, of_k in result.items():
        for pattern, own in zip(_KRAG, of_k.values(), strict=True):
            name = pattern.format("" if k is None else f"@{k}")
            for key, value in own.items():
                values["micro" if key.startswith("micro") else "mean"][name] = value
    return values


def krag_classes(cell: Cell, folder: Path) -> Values:
    """K-RAG's evaluator of K-RAG's documents."""
    golds, docs = listed(of_krag)
    spec = MATCHES[cell.match].spec
    evaluator = OfflineRetrievalEvaluators(golds(cell.own), docs(cell.own), spec)
    return krag_values(evaluator.evaluate_all(CUTS), evaluator.evaluation)


def rag_evaluator(cell: Cell, folder: Path) -> Values:
    """`RAGEvaluator` of LangChain documents."""
    golds, docs = listed(langchain)
    evaluator = RAGEvaluator(match_method=MATCHES[cell.match].spec)
    result = evaluator.evaluate_all(golds(cell.own), docs(cell.own), k=CUTS)
    return krag_values(result, evaluator.get_evaluator().evaluation)


def function(cell: Cell, folder: Path) -> Values:
    """A function is asked every question; it gives pairs of document and score."""
    content = cell.own
    by_text = {query.text: content.run[query.id].documents for query in content.dataset}
    ask = lambda question: [(langchain(doc), doc.score) for doc in by_text[question]]  # noqa: E731
    return said(evaluate(content.dataset, ask, **cell.options))


def hits(cell: Cell, folder: Path) -> Values:
    """A function whose hits are of a class of its own is asked every question."""
    content = cell.own
    by_text = {query.text: content.run[query.id].documents for query in content.dataset}
    paths = {"text": "source.text", "id": "key", "score": "weight", "metadata": "source.about"}
    if "no ids" in content.holds:
        del paths["id"]

    def ask(question: str) -> dict[str, Any]:
        own = [
            SimpleNamespace(
                key=doc.id, weight=doc.score, source={"text": doc.text, "about": doc.metadata}
            )
            for doc in by_text[question]
        ]
        return {"hits": own}

    return said(evaluate(content.dataset, ask, documents="$.hits", **paths, **cell.options))


class Retriever(BaseRetriever):
    """A retriever of LangChain."""

    answers: Mapping[str, list[Document]]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.answers[query]


def retriever(cell: Cell, folder: Path) -> Values:
    """A retriever is asked every question."""
    content = cell.own
    answers = {
        query.text or "": [*map(langchain, content.run[query.id].documents)]
        for query in content.dataset
    }
    return said(evaluate(content.dataset, Retriever(answers=answers), **cell.options))


def records(content: Content) -> list[dict[str, Any]]:
    """The rows of a results file."""
    return [question_record(query, content.run[query.id]) for query in content.dataset]


def cells_of(content: Content) -> list[dict[str, str]]:
    """The rows of a table: lists as JSON; what one row has, all have."""
    rows = records(content)
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        {
            key: own if isinstance(own, str) else json.dumps(own, ensure_ascii=False)
            for key in names
            for own in [row.get(key, "")]
        }
        for row in rows
    ]


def json_lines(content: Content, folder: Path) -> Path:
    """A results file."""
    write_results(content.dataset, content.run, folder / "results.jsonl")
    return folder / "results.jsonl"


def one_json(content: Content, folder: Path) -> Path:
    """A JSON file with one list."""
    path = folder / "results.json"
    path.write_text(json.dumps(records(content), ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def table(ending: str, **options: str) -> Callable[[Content, Path], Path]:
    """A CSV file as Python writes it."""

    def written(content: Content, folder: Path) -> Path:
        rows = cells_of(content)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [*rows[0]], **options)  # type: ignore[arg-type]
        writer.writeheader()
        writer.writerows(rows)
        path = folder / f"results{ending}"
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
        return path

    return written


def frame(content: Content, folder: Path) -> Any:
    """A DataFrame of pandas."""
    return pytest.importorskip("pandas").DataFrame(cells_of(content))


def polars(content: Content, folder: Path) -> Any:
    """A DataFrame of Polars."""
    return pytest.importorskip("polars").DataFrame(cells_of(content))


def excel(content: Content, folder: Path) -> Path:
    """A workbook as pandas writes it."""
    pytest.importorskip("openpyxl")
    frame(content, folder).to_excel(folder / "results.xlsx", index=False)
    return folder / "results.xlsx"


def parquet(content: Content, folder: Path) -> Path:
    """A row a question with nested lists."""
    pytest.importorskip("pyarrow")
    write_results(content.dataset, content.run, folder / "results.parquet")
    return folder / "results.parquet"


def parquet_table(content: Content, folder: Path) -> Path:
    """Cells of JSON in Parquet."""
    pytest.importorskip("pyarrow")
    frame(content, folder).to_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def packed(content: Content, folder: Path) -> Path:
    """Packed lines."""
    path = folder / "results.jsonl.gz"
    path.write_bytes(gzip.compress(json_lines(content, folder).read_bytes()))
    return path


def parquet_folder(content: Content, folder: Path) -> Path:
    """Three Parquet files."""
    pytest.importorskip("pyarrow")
    rows = [(query, content.run[query.id]) for query in content.dataset]
    (folder / "many").mkdir()
    for number in range(3):
        own = rows[len(rows) * number // 3 : len(rows) * (number + 1) // 3]
        write_questions(own, folder / "many" / f"{number}.parquet", beside=STANDS_FOR)
    return folder / "many"


def hugging_face(content: Content, folder: Path) -> Any:
    """A `Dataset` of Hugging Face."""
    return pytest.importorskip("datasets").Dataset.from_list(cells_of(content))


def results(
    source: Callable[[Content, Path], Any], **options: Any
) -> Callable[[Cell, Path], Values]:
    """`evaluate` of results that hold gold and what was retrieved."""
    return lambda cell, folder: said(evaluate(source(cell.own, folder), **cell.options, **options))


def several(cell: Cell, folder: Path) -> Values:
    """One of several that are compared."""
    content = cell.own
    runs = {"first": content.run, "empty": [[] for _ in content.dataset]}
    return said(evaluate(content.dataset, runs, **cell.options)["first"])


def awaited(cell: Cell, folder: Path) -> Values:
    """`aevaluate`."""
    golds, docs = listed(langchain)
    return said(asyncio.run(aevaluate(golds(cell.own), docs(cell.own), **cell.options)))


def command(cell: Cell, folder: Path) -> Values:
    """``kragx score``."""
    metrics = [word for name in cell.metrics for word in ("--metric", name)]
    spec = cell.options["match"]
    match = spec if isinstance(spec, str) else json.dumps(spec)
    words = ["score", str(json_lines(cell.own, folder)), "--match", match, *metrics]
    printed = io.StringIO()
    with (
        patch.object(sys, "argv", ["kragx", *words, "--per-query", "--format", "json"]),
        warnings.catch_warnings(),
        redirect_stdout(printed),
        redirect_stderr(io.StringIO()),
        suppress(SystemExit),
    ):
        main()
    return {name: json.loads(printed.getvalue())[name] for name in ("mean", "micro", "queries")}


def configured(cell: Cell, folder: Path) -> Values:
    """``kragx run``, of results that lie in a file."""
    json_lines(cell.own, folder)
    write_gold(cell.own.dataset, folder / "gold.jsonl")
    asked = {"dataset": "gold.jsonl", "retrievers": {"own": {"results": "results.jsonl"}}}
    (folder / "kragx.yaml").write_text(json.dumps(asked | cell.options), encoding="utf-8")
    (evaluation,) = run(config.load(folder / "kragx.yaml"), progress=False).evaluations
    return said(evaluation)


def in_parts_of(workers: Any) -> Callable[[Cell, Path], Values]:
    """Every question is a part, for whoever does the work."""

    def values(cell: Cell, folder: Path) -> Values:
        with patch.object(part, "PART_BYTES", 1):
            return results(json_lines, workers=workers)(cell, folder)

    return values


def lists_in_parts(cell: Cell, folder: Path) -> Values:
    """The same of lists."""
    golds, docs = listed(record, graded=True)
    with patch.object(part, "PART_ROWS", 1):
        found = evaluate(golds(cell.own), docs(cell.own), workers=ONE_THREAD, **cell.options)
        return said(found)


def two_files(cell: Cell, folder: Path) -> Values:
    """A gold file, and a results file that is read for what was retrieved."""
    write_gold(cell.own.dataset, folder / "gold.jsonl")
    return said(evaluate(folder / "gold.jsonl", json_lines(cell.own, folder), **cell.options))


def document_rows(cell: Cell, folder: Path) -> Values:
    """Two frames with a row for each document: one of grades, one of ranks, the last one first."""
    pandas = pytest.importorskip("pandas")
    results = cell.own.run.results

    def rows(query: Query, documents: Sequence[Gold | Doc]) -> Iterator[dict[str, Any]]:
        for rank, doc in reversed([*enumerate(documents, start=1)]):
            number = {"grade": doc.grade} if isinstance(doc, Gold) else {"rank": rank}
            metadata = {f"metadata.{name}": value for name, value in doc.metadata.items()}
            yield {**of_query(query), "doc_id": doc.id, "text": doc.text, **metadata, **number}
        if not documents:
            yield of_query(query)

    def of_query(query: Query) -> dict[str, Any]:
        asks = {"Weight": query.weight, "Inclusion": query.inclusion}
        return {"Query ID": query.id, "query": query.text, **asks}

    def frame(documents: Callable[[Query], Sequence[Gold | Doc]]) -> Any:
        return pandas.DataFrame(
            [row for query in cell.own.dataset for row in rows(query, documents(query))],
            dtype=object,
        )

    gold, found = frame(lambda query: query.gold), frame(lambda query: results[query.id].documents)
    return said(evaluate(gold, found, **cell.options))


def read_before(cell: Cell, folder: Path) -> Values:
    """A file that was read into a gold set and a run."""
    return said(evaluate(*read_results(json_lines(cell.own, folder)), **cell.options))


def standard_input(cell: Cell, folder: Path) -> Values:
    """Lines that come in."""
    lines = json_lines(cell.own, folder).read_bytes()
    with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines))):
        return said(evaluate("-", **cell.options))


def trec(cell: Cell, folder: Path) -> Values:
    """Qrels and a run."""
    write_qrels(cell.own.dataset, folder / "gold.qrels")
    write_run(cell.own.run, folder / "ranked.run")
    return said(evaluate(folder / "gold.qrels", folder / "ranked.run", **cell.options))


def trec_with_corpus(cell: Cell, folder: Path) -> Values:
    """The same, and the texts."""
    write_qrels(cell.own.dataset, folder / "gold.qrels")
    write_run(cell.own.run, folder / "ranked.run")
    corpus = {_IDS[name]: text for name, text in TEXTS.items()}
    files = folder / "gold.qrels", folder / "ranked.run"
    return said(evaluate(*files, corpus=corpus, **cell.options))


def scores_by_id(cell: Cell, folder: Path) -> Values:
    """Grades and scores by id."""
    content = cell.own
    qrels = {query.id: {own.id: own.grade for own in query.gold} for query in content.dataset}
    run = {
        name: {doc.id: doc.score for doc in own.documents}
        for name, own in content.run.results.items()
    }
    return said(evaluate(qrels, run, **cell.options))


def out(cell: Cell, folder: Path) -> Values:
    """Tables of values, one of each question."""
    pytest.importorskip("pyarrow")
    path = json_lines(cell.own, folder)
    with patch.object(part, "PART_BYTES", 1):
        return said(evaluate_in_parts(path, folder / "out", **cell.options).evaluation)


def resumed(cell: Cell, folder: Path) -> Values:
    """The same, where some tables stand already."""
    out(cell, folder)
    for path in [*(folder / "out" / "tables").iterdir()][::2]:
        path.unlink()
    return out(cell, folder)


_LISTS = frozenset({"facts", "weights"})
_TREC = frozenset(
    {
        "no ids",
        "metadata",
        "ids in metadata",
        "nested ids",
        "alternatives",
        "repeats",
        "facts",
        "no gold",
        "weights",
    }
)
_ROWS = frozenset({"alternatives", "facts"})
_OF_IDS = _TREC | {"texts"}

DOORS: Mapping[str, Door] = {
    "strings": Door(
        lists(lambda doc: doc.text),
        _LISTS | {"ids", "ids in metadata", "metadata", "grades", "alternatives", "nested ids"},
    ),
    "dicts": Door(lists(record, graded=True), _LISTS),
    "LangChain": Door(lists(langchain), _LISTS),
    "LlamaIndex": Door(lists(llama_index), _LISTS | {"no ids"}, slow=1),
    "Haystack": Door(lists(haystack), _LISTS | {"no ids"}, slow=1),
    "K-RAG's documents": Door(lists(of_krag), _LISTS),
    "Doc and Gold": Door(lists(lambda doc: doc, graded=True), _LISTS),
    "by query id": Door(by_query, _LISTS),
    "K-RAG's classes": Door(krag_classes, _LISTS | {"evidence"}),
    "RAGEvaluator": Door(rag_evaluator, _LISTS | {"evidence"}),
    "function": Door(function),
    "hits by places": Door(hits),
    "retriever": Door(retriever),
    "several": Door(several, slow=5),
    "awaited": Door(awaited, _LISTS),
    "kragx score": Door(command, frozenset({"facts"})),
    "kragx run": Door(configured, slow=3),
    "JSON Lines": Door(results(json_lines)),
    "JSON": Door(results(one_json)),
    "rows": Door(results(lambda content, folder: records(content))),
    "gold and results": Door(two_files),
    "rows of documents": Door(document_rows, _ROWS),
    "read before": Door(read_before),
    "CSV": Door(results(table(".csv"))),
    "CSV with semicolons": Door(results(table(".csv", delimiter=";"))),
    "TSV": Door(results(table(".tsv", delimiter="\t"))),
    "DataFrame": Door(results(frame), slow=1),
    "Polars": Door(results(polars), slow=1),
    "Excel": Door(results(excel), slow=1),
    "Parquet": Door(results(parquet)),
    "Parquet files": Door(results(parquet_folder), slow=1),
    "packed": Door(results(packed)),
    "Hugging Face": Door(results(hugging_face), slow=1),
    "Parquet of cells": Door(results(parquet_table)),
    "standard input": Door(standard_input),
    "TREC": Door(trec, _OF_IDS),
    "TREC with a corpus": Door(trec_with_corpus, _TREC),
    "scores by id": Door(scores_by_id, _OF_IDS),
    "in parts": Door(in_parts_of(ONE_THREAD)),
    "lists in parts": Door(lists_in_parts, _LISTS),
    "workers=2": Door(in_parts_of(2), slow=23),
    "Ray": Door(in_parts_of({"ray": {"address": "auto"}}), slow=23, fixture="cluster"),
    "--out": Door(out),
    "resumed tables": Door(resumed, slow=7),
}


# -- the test -------------------------------------------------------------------------------------

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Ray cluster of this machine."""
    with two_workers() as ray:
        yield ray


@cache
def reference(cell: Cell) -> Values:
    """What a gold set and a run of objects give."""
    return said(evaluate(cell.own.dataset, cell.own.run, **cell.options))


def flat(values: Values) -> dict[str, str]:
    """All values by name, as Python writes them, which tells the last bit."""
    of_all = {
        f"{kind} {name}": own for kind in ("mean", "micro") for name, own in values[kind].items()
    }
    of_queries = {
        f"{query} {name}": own
        for query, of in values["queries"].items()
        for name, own in of.items()
    }
    return {name: repr(own) for name, own in (of_all | of_queries).items()}


def differences(values: Values, expected: Values) -> dict[str, tuple[str | None, str | None]]:
    """What came out that is not expected, or did not come out for a question, and what was."""
    found, wanted = flat(values), flat(expected)
    names = [name for name, own in found.items() if wanted.get(name) != own]
    if values["queries"].keys() != expected["queries"].keys():
        names.append("queries")
    return {name: (found.get(name), wanted.get(name)) for name in names}


def compared(door: Door) -> list[Cell]:
    """The cells that a door can carry."""
    return [cell for cell in CELLS if not cell.needs & door.lacks]


@cache
def selections() -> Mapping[str, Sequence[Cell]]:
    """Cells of each door in which each content and each matcher meets each kind of metrics.

    What a door does with a content, and what it does with a matcher, is shown so; what a matcher
    makes of a content is the same work behind every door. Of cells that show as much, those come
    first that fewer doors have, so that all doors together have every one.
    """
    times: Counter[Cell] = Counter()
    selected: dict[str, list[Cell]] = {name: [] for name in DOORS}
    for name, cells in selected.items():
        possible = {cell: cell.pairs for cell in compared(DOORS[name])}
        left = {pair for pairs in possible.values() for pair in pairs}
        while left:
            cell = max(possible, key=lambda cell: (len(possible[cell] & left), -times[cell]))
            cells.append(cell)
            times[cell] += DOORS[name].slow < 2
            left -= possible[cell]
    return selected


def check(name: str, cells: Sequence[Cell], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of some cells are those of the reference."""
    wrong = {}
    for number, cell in enumerate(cells):
        own = folder / str(number)
        own.mkdir()
        monkeypatch.chdir(own)
        if differing := differences(DOORS[name].values(cell, own), reference(cell)):
            wrong[cell] = differing
    assert not wrong


@pytest.mark.parametrize("name", [name for name, door in DOORS.items() if not door.slow])
def test_some_cells(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each door gives the reference's values: ids that stand in metadata, and others in turn."""
    place = [*DOORS].index(name)
    own = compared(DOORS[name])
    first = [cell for cell in own if (cell.content, cell.match) == ("ids in metadata", "id")]
    check(name, [*first[:1], *own[place::201]], tmp_path, monkeypatch)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "content"),
    [
        (name, content)
        for name, door in DOORS.items()
        for content in dict.fromkeys(cell.content for cell in compared(door))
    ],
)
def test_each_with_each(
    name: str,
    content: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Each door gives the reference's values for its selection; thorough, for all it can carry."""
    if DOORS[name].fixture:
        request.getfixturevalue(DOORS[name].fixture)
    cells = compared(DOORS[name]) if THOROUGH else selections()[name]
    own = [cell for cell in cells if cell.content == content]
    one_in = 1 if THOROUGH else max(DOORS[name].slow, 1)
    check(name, own[::one_in], tmp_path, monkeypatch)


def test_most_cells_are_compared() -> None:
    """At least 85 of 100 cells of all doors are compared, and each method stands in the table."""
    n = sum(len(compared(door)) for door in DOORS.values())
    assert n >= 0.85 * len(DOORS) * len(CELLS)
    methods = {
        own.spec if isinstance(own.spec, str) else own.spec.get("method")
        for own in MATCHES.values()
    }
    assert {*METHODS} <= methods


def test_selections_leave_no_pair_and_no_cell_out() -> None:
    """Each door's has all of its pairs; the ones of doors that are not slow have every cell."""
    for name, cells in selections().items():
        pairs = {pair for cell in compared(DOORS[name]) for pair in cell.pairs}
        assert {pair for cell in cells for pair in cell.pairs} == pairs
    quick = [cells for name, cells in selections().items() if DOORS[name].slow < 2]
    assert {cell for cells in quick for cell in cells} == {*CELLS}


def test_cells_say_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is not the same everywhere: each matcher finds something, and not all."""
    monkeypatch.chdir(tmp_path)
    for match, own in MATCHES.items():
        name = "context_completeness@3" if own.facts else "recall@3"
        assert 0 < reference(Cell(own.of[0], match, "matches"))["mean"][name] < 1, match

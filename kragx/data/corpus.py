"""Corpora: documents by id, which give a text to gold and results that are named by ids alone.

`Corpus.filled` is the one place where texts are filled in: whoever reads gold passes a corpus on.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from kragx.data.batch import Batch, Row, batches_of
from kragx.data.documents import Doc, as_doc, clean_id
from kragx.data.entries import numbered
from kragx.data.forbidden import stretch_in, stretch_of
from kragx.data.formats import tabular
from kragx.data.formats.cells import json_cell
from kragx.data.formats.document_rows import fields_of
from kragx.data.formats.jsonl import ending, first_line, read_records, read_whole
from kragx.data.formats.text_files import ENDINGS, TextFiles
from kragx.data.formats.trec import corpus_of, document, is_beir
from kragx.data.gold import Gold, GoldDataset, Query, gold_place, rank_place
from kragx.data.lists import interned_texts
from kragx.data.problems import Problems
from kragx.data.runs import Retrieved, Run
from kragx.data.text import SurrogateRepair, normalise
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.printing import joined, message, plural

_SHOWN = 3  # of the ids that lack: enough to see what they have in common

_FILES = (".jsonl", ".ndjson", ".json", *tabular.READERS)

_Place = tuple[str, int]
"""A query's id, and the number of a gold item or document of it, from 1."""

_Entries = Iterator[tuple[str, Doc]]
"""Documents, each with the place where it stands."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents by id; read when a text is first asked for.

    Attributes:
        source: what `as_corpus` was given; None for no corpus at all.
        name: in messages.
    """

    source: object = None
    name: str = ""

    def __getstate__(self) -> dict[str, Any]:
        # Another process reads a file itself; what is not in one is sent, but read only once.
        path = isinstance(self.source, str | Path) and str(self.source) != "-"
        source = self.source if path or self.source is None else [*self.docs.values()]
        return {"source": source, "name": self.name}

    @cached_property
    def docs(self) -> Mapping[str, Doc]:
        """The documents by id, all with texts.

        Raises:
            DataError: as `read_corpus`.
        """
        return {str(doc.id): doc for doc in documents(self)}

    @cached_property
    def sources(self) -> frozenset[str | None]:
        """The sources that its documents are of."""
        docs = self.docs.items()
        return frozenset(stretch_in(doc.metadata, name)[0] for name, doc in docs)

    @cached_property
    def normalised(self) -> str:
        """All texts as they are compared, a line each."""
        return "\n".join(normalise(doc.text or "") for doc in self.docs.values())

    def text(self, doc_id: str) -> str | None:
        """The text of an id; None if there is none.

        An id in another Unicode form (NFD, as macOS writes file names) is the same id, unless the
        corpus has both forms; ``document:start-end`` is a stretch of a document.
        """
        doc = self.docs.get(doc_id) or self._composed.get(unicodedata.normalize("NFC", doc_id))
        if doc is not None:
            return doc.text
        whole_id, start, end = stretch_of(doc_id) or ("", 0, 0)
        whole = self.text(whole_id) if start < end else None
        return whole[start:end] if whole is not None and end <= len(whole) else None

    @cached_property
    def _composed(self) -> Mapping[str, Doc | None]:
        """The documents by their ids in NFC; None where two ids become one."""
        composed: dict[str, Doc | None] = {}
        for doc_id, doc in self.docs.items():
            key = unicodedata.normalize("NFC", doc_id)
            composed[key] = None if key in composed else doc
        return composed

    def filled(
        self,
        batches: Iterable[Batch],
        needed_by: str | None = None,
        sides: tuple[str, ...] = ("gold", "retrieved"),
    ) -> Iterator[Batch]:
        """Questions and what was retrieved, with a text for each id that the corpus knows.

        What has a text keeps it, whatever its id: beside a text an id may be of anything.

        Args:
            batches: a stream; nothing of it is kept.
            needed_by: what cannot do without texts, for the error; None lets ids without one pass.
            sides: whose texts it needs.

        Raises:
            DataError: ids without a text, once all of them are counted.
        """
        lacking: Lacking | None = None
        has_corpus = self.source is not None
        for batch in batches:
            # Most batches lack no text, and pass as they are: no object is made of them.
            if not batch.have_texts and (has_corpus or needed_by is not None):
                rows = [*map(self._of_row, batch.rows())]
                if needed_by is not None:
                    lacking = lacking or Lacking(self)
                    lacking.note(rows, sides)
                if has_corpus and not lacking:
                    batch = Batch.of(rows)  # noqa: PLW2901
            if not lacking:
                yield self._with_forbidden(batch) if has_corpus else batch
        if lacking:
            raise lacking.error(needed_by or "")

    def _with_forbidden(self, batch: Batch) -> Batch:
        """Questions whose forbidden items have the texts of their ids, beside what they say."""
        if batch.forbidden_texts is None:
            return batch
        if batch.forbidden_texts.known is not interned_texts().texts:  # forgotten meanwhile
            batch = Batch.of([*batch.rows()])
        items = (item for of_query in batch.forbidden or () for item in of_query or ())
        texts = (
            self.text(item.id) if item.text is None and item.id is not None else item.text
            for item in items
        )
        sizes = [len(of_query or ()) for of_query in batch.forbidden or ()]
        return replace(batch, forbidden_texts=numbered([*texts], sizes))

    def gold(self, dataset: GoldDataset, needed_by: str | None = None) -> GoldDataset:
        """A gold set with texts; as `filled`."""
        golds = chain.from_iterable(query.gold for query in dataset)
        if (self.source is None and needed_by is None) or not any(map(_textless, golds)):
            return dataset
        filled = self.filled(batches_of((None, query, None) for query in dataset), needed_by)
        queries = tuple(query for batch in filled for query in batch.queries())
        return dataset if self.source is None else replace(dataset, queries=queries)

    def run(self, run: Run, needed_by: str | None = None) -> Run:
        """A run with texts; as `filled`."""
        # What was retrieved alone is looked at, so the queries need no more than their ids.
        rows = ((None, Query(query_id), answer) for query_id, answer in run.results.items())
        batches = self.filled(batches_of(rows), needed_by)
        pairs = (pair for batch in batches for pair in zip(batch.query_ids, batch.answers()))
        results = {query_id: answer for query_id, answer in pairs if answer}
        reruns = tuple(self.run(again, needed_by) for again in run.reruns)
        return replace(run, results=results, reruns=reruns)

    def _of_row(self, row: Row) -> Row:
        line, query, retrieved = row
        if self.source is None:
            return row
        if any(map(_textless, query.gold)):
            query = replace(query, gold=tuple(map(self._of_gold, query.gold)))
        return line, query, retrieved and retrieved.with_docs(self._of_doc)

    def _of_gold(self, gold: Gold) -> Gold:
        text, *alternatives = (
            # An empty text would stand in every document.
            doc if (doc.text or "").strip() else replace(doc, text=None)
            for doc in map(self._of_doc, (Doc(gold.id, gold.text), *gold.alternatives))
        )
        return replace(gold, text=text.text, alternatives=tuple(alternatives))

    def _of_doc(self, doc: Doc) -> Doc:
        if doc.text is not None or doc.id is None:
            return doc
        return replace(doc, text=self.text(doc.id))


NO_CORPUS = Corpus()


def _textless(gold: Gold) -> bool:
    return gold.text is None or any(alternative.text is None for alternative in gold.alternatives)


class LackingError(DataError):
    """Ids have no text, and something compares texts."""


@dataclass
class Lacking:
    """Ids without a text, each with the first place that names it."""

    corpus: Corpus
    gold: dict[str | None, _Place] = field(default_factory=dict)
    retrieved: dict[str | None, _Place] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.gold or self.retrieved)

    def note(self, rows: Iterable[Row], sides: Collection[str]) -> None:
        """Note what of some questions, and of what was retrieved for them, has no text."""
        for _, query, retrieved in rows:
            for number, gold in enumerate(query.gold if "gold" in sides else (), start=1):
                items: tuple[Gold | Doc, ...] = (gold, *gold.alternatives)
                have_text = any(item.text is not None for item in items)
                # Only with a corpus is an alternative without text a mistake: the corpus lacks it.
                for item in items if not have_text or self.corpus.source is not None else ():
                    # A gold item without id is its alternatives, if these have texts.
                    is_needed = item.id is not None or (item is gold and not have_text)
                    if item.text is None and is_needed:
                        self.gold.setdefault(item.id, (query.id, number))
            answer = retrieved or Retrieved()
            for docs in (answer.documents, *(search.measured for search in answer.searches)):
                for rank, doc in enumerate(docs if "retrieved" in sides else (), start=1):
                    if doc.text is None:
                        self.retrieved.setdefault(doc.id, (query.id, rank))

    def error(self, needed_by: str) -> LackingError:
        """The error that counts them and names a few."""
        (side, names), *others = (
            (side, self._named([*ids], itertools.starmap(place, ids.values())))
            for side, ids, place in (
                ("gold", self.gold, gold_place),
                ("retrieved", self.retrieved, rank_place),
            )
            if ids
        )
        compared = message("{method!r} compares texts", method=needed_by) if needed_by else ""
        return LackingError(
            joined("; ", [names, *(joined(": ", other) for other in others), compared]),
            field=side,
            remedy="add 'text', name the corpus that has them, or match by 'id'"
            if self.corpus.source is None
            else "add them to it, name the corpus that has them, or match by 'id'",
        )

    def _named(self, ids: Sequence[str | None], places: Iterable[str]) -> str:
        """How many they are, and the first few with their places."""
        firsts = [
            message("{id} ({place})", id=shorten(doc_id), place=place)
            for doc_id, place in zip(ids[:_SHOWN], places)
        ]
        if len(ids) > _SHOWN:
            firsts.append(message("{n:,} more", n=len(ids) - _SHOWN))
        if self.corpus.source is None:
            return plural(
                len(ids),
                "1 id has no text: {names}",
                "{n:,} ids have no text: {names}",
                names=joined(", ", firsts),
            )
        return plural(
            len(ids),
            "1 id has no text and is not in the corpus {corpus} (whose first is {first!r}): "
            "{names}",
            "{n:,} ids have no text and are not in the corpus {corpus} (whose first is "
            "{first!r}): {names}",
            corpus=self.corpus.name,
            first=next(iter(self.corpus.docs), None),
            names=joined(", ", firsts),
        )


def as_corpus(value: object) -> Corpus:
    """The corpus that a value stands for.

    Args:
        value: a `Corpus`; the path of a file or folder (`read_corpus`); texts or documents by id;
            a list of documents with id and text (LangChain documents, mappings, `Doc`); or a
            DataFrame with the columns id and text. None is no corpus.

    Raises:
        UsageError: it is nothing of the kind.
        DataError: there is no such file.
    """
    match value:
        case None:
            return NO_CORPUS
        case Corpus():
            return value
        case str() | Path():
            # Read late, but refused at once.
            if str(value) != "-" and not Path(value).exists():
                raise DataError("cannot be read: no such file or folder", path=str(value))
            return Corpus(value, str(value))
        case Mapping() | Iterable() if not isinstance(value, bytes):
            return Corpus(value, "corpus")
    raise UsageError(
        "{kind} is none; pass a path, texts by id, or documents with id and text",
        field="corpus",
        kind=type(value).__name__,
    )


def read_corpus(path: str | Path) -> list[Doc]:
    """Read a corpus: a file, or all such files of a folder.

    JSON Lines (also .gz) and JSON hold ``{"id", "text", "metadata"?}``; CSV, TSV, Excel and Parquet
    have these as columns, and all their other columns are metadata. Of a folder without such files
    each ``.md``, ``.txt`` and ``.html`` in it, however deep, is a document: its id is the path
    within the folder, the first heading the ``title`` of its metadata; a `DataWarning` says what
    was left out.

    Raises:
        DataError: there is no document, one has no id or no text, or an id stands twice.
        MissingExtraError: the file needs a package that is not installed.

    Examples:
        >>> from pathlib import Path
        >>> from kragx import read_corpus
        >>> _ = Path("corpus.jsonl").write_text('{"id": "c1", "text": "Gift cards do not expire."}')
        >>> [document.text for document in read_corpus("corpus.jsonl")]
        ['Gift cards do not expire.']
    """
    return [*_checked(path, str(path))]


def documents(source: object) -> Iterator[Doc]:
    """The documents of a corpus one by one, for corpora that are too large to be held.

    Args:
        source: as for `as_corpus`.

    Raises:
        UsageError, DataError: as `as_corpus` and `read_corpus`, once the document is reached.
    """
    corpus = as_corpus(source)
    return iter(()) if corpus.source is None else _checked(corpus.source, corpus.name)


def _checked(source: object, name: str) -> Iterator[Doc]:
    places: dict[str, str] = {}
    for place, doc in _entries(source, name):
        if doc.id is None or doc.text is None:
            lacking = "no id" if doc.id is None else "no text"
            raise DataError(
                "{place}: has {lacking}; a document of a corpus needs 'id' and 'text'",
                place=place,
                lacking=lacking,
            )
        if doc.id in places:
            raise DataError(
                "{place}: id {id!r} stands twice (first in {first}); give each document its own",
                place=place,
                id=doc.id,
                first=places[doc.id],
            )
        places[doc.id] = place
        yield doc
    if not places:
        raise DataError(
            "{name}: the corpus is empty; one JSON object a line is expected", name=name
        )


def _entries(source: object, name: str) -> _Entries:
    """The documents of whatever a corpus may be made of."""
    if isinstance(source, (str, Path)):
        texts = TextFiles(Path(source))
        for file in _files(texts) if Path(source).is_dir() else [source]:
            if ending(file) in tabular.READERS:
                rows = _named(tabular.READERS[ending(file)](file))
                yield from _of_records(rows, str(file), _of_row)
            else:
                yield from _of_records(_records(file, texts), str(file))
        texts.warn()
    elif isinstance(source, Mapping):
        repair = SurrogateRepair()
        for key, value in source.items():
            doc = as_doc(value, repair)
            yield f"{name}: {key!r}", replace(doc, id=clean_id(key, repair))
    elif tabular.is_frame(source):
        yield from _of_records(_named(tabular.rows_of_frame(source)), name, _of_row)
    elif isinstance(source, Iterable):
        yield from _of_records(enumerate(source, start=1), name)


def _files(texts: TextFiles) -> list[Path]:
    """The files of a folder with documents, one a line or a row; else those that are documents."""
    folder = texts.place
    if is_beir(folder):
        return [corpus_of(folder)]
    files = sorted(path for path in folder.iterdir() if ending(path) in _FILES and path.is_file())
    if not (files := files or texts.files()):
        kinds = ", ".join((*_FILES, *ENDINGS))
        raise DataError(
            "the folder holds no corpus; files ending in {kinds} are read",
            path=str(folder),
            kinds=kinds,
        )
    return files


def _records(path: str | Path, texts: TextFiles) -> Iterable[tuple[int, Any]]:
    """The documents of a file that is no table, each with its line."""
    if ending(path) in ENDINGS:
        record = texts.document(Path(path))
        return [] if record is None else [(1, record)]
    problems = Problems(str(path), strict=True)
    first = first_line(path) if ending(path) == ".json" else ""
    whole = read_whole(path, first, problems.repair)
    return read_records(path, problems) if whole is None else whole


def _of_records(
    records: Iterable[tuple[int, Any]],
    path: str,
    read: Callable[[Any], object] = document,
) -> _Entries:
    repair = SurrogateRepair()
    for number, record in records:
        place = f"{path}:{number}"
        with inside(path=place):
            doc = as_doc(read(record), repair, strings=False)
        yield place, doc


def _named(rows: Iterable[tabular.Row]) -> Iterator[tabular.Row]:
    """Rows with id and text under these names, which other tables of documents call otherwise."""
    names: dict[str, str] | None = None
    for number, row in tabular.filled(rows):
        if names is None:
            fields, _ = fields_of(row, {})
            lacking = {"doc_id": "id"} if "id" not in row else {}
            lacking |= {"text": "text"} if row.keys().isdisjoint(("text", "page_content")) else {}
            names = {fields[name]: own for name, own in lacking.items() if name in fields}
        yield number, {names.get(name, name): cell for name, cell in row.items()}


def _of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as a document; columns that are no field of one are metadata."""
    record = {name: cell for name, cell in row.items() if name in ("id", "text", "page_content")}
    metadata = row.get("metadata")
    if isinstance(metadata, str) and metadata.lstrip().startswith("{"):
        with inside("metadata"):
            metadata = json_cell(metadata.strip())
    whole = metadata if isinstance(metadata, dict) else None
    further = {
        name.removeprefix("metadata."): cell
        for name, cell in row.items()
        if cell is not None and name not in record and (name != "metadata" or whole is None)
    }
    return record | {"metadata": (whole or {}) | further}

"""What a result folder keeps of files elsewhere, so that all of it is read from the folder alone.

- ``scores.jsonl``: what matchers said that need code or a model (`kragx.app.folder.scores`);
- ``corpus.jsonl``: of the config's corpus the documents that gold and results name, and those that
  are forbidden, or newer than any of these;
- ``earlier/``: the numbers that the run was compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.folder.opened import BASELINE, CORPUS, EARLIER, SCORES, opened
from kragx.data import Corpus, Doc, GoldDataset, Run, every_run
from kragx.data.forbidden import SUPERSEDED_BY, stretch_in
from kragx.data.formats.jsonl import make_folder, write_bytes, write_records

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport


def write_inputs(report: RunReport, folder: Path) -> None:
    """Write into a folder what there is to keep."""
    if report.records:
        write_records(report.records, folder / SCORES)
    if report.corpus.source is not None:
        documents = _named(report.corpus, report.dataset, every_run(report.runs.values()))
        write_records(documents, folder / CORPUS)
    if report.config.earlier is not None:
        make_folder((folder / EARLIER[0]).parent)
        if not report.config.earlier.is_dir():
            write_bytes(folder / BASELINE, report.config.earlier.read_bytes())
            return
        with opened(report.config.earlier, trust=True) as earlier:
            for place in EARLIER:
                source = earlier.sealed.path(Path(place).name)
                write_bytes(folder / place, source.read_bytes())


def _of_forbidden(corpus: Corpus, dataset: GoldDataset) -> Iterator[str | None]:
    """The documents by which it is told that what is forbidden is in the corpus."""
    items = [item for query in dataset for item in query.forbidden or ()]
    yield from (item.id for item in items)
    yield from (item.superseded_by for item in items)
    unmet: set[object] = {name for item in items for name in (item.id, item.source) if name}
    for doc_id, doc in corpus.docs.items() if unmet else ():
        # A source, or an id that stands in some field, as that of a parent.
        names = {stretch_in(doc.metadata, doc_id)[0], *map(str, doc.metadata.values())}
        if not unmet.isdisjoint(names):
            unmet -= names
            yield doc_id


def _with_newer(corpus: Corpus, ids: Iterable[str | None]) -> Iterator[str]:
    """Some ids, and those of whatever has taken the place of their documents, each once."""
    seen = set[str]()
    for first in ids:
        name: object = first
        while isinstance(name, str) and name not in seen:
            seen.add(name)
            yield name
            doc = corpus.docs.get(name)
            name = None if doc is None else doc.metadata.get(SUPERSEDED_BY)


def _named(corpus: Corpus, dataset: GoldDataset, runs: Iterable[Run]) -> Iterator[dict[str, Any]]:
    """The documents of a corpus, as its files have them, whose ids stand anywhere."""
    golds = [gold for query in dataset for gold in query.gold]
    ids = [gold.id for gold in golds]
    ids += [alternative.id for gold in golds for alternative in gold.alternatives]
    answers = [answer for run in runs for answer in run.results.values()]
    ids += [doc.id for answer in answers for doc in answer.documents]
    ids += [doc.id for answer in answers for stage in answer.stages for doc in stage.documents]
    ids += _of_forbidden(corpus, dataset)
    for doc_id in _with_newer(corpus, ids):
        text = corpus.text(doc_id)
        if text is not None:
            doc = corpus.docs.get(doc_id, Doc(doc_id))
            yield {"id": doc_id, "text": text, "metadata": dict(doc.metadata)}

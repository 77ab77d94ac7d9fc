"""What a result folder keeps of files elsewhere, so that all of it is read from the folder alone.

- ``scores.jsonl``: what matchers said that need code or a model (`kragx.app.folder.scores`);
- ``corpus.jsonl``: of the config's corpus the documents that gold and results name;
- ``earlier/``: the numbers that the run was compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.app.folder.opened import BASELINE, CORPUS, EARLIER, SCORES, opened
from kragx.data import Corpus, Doc, GoldDataset, Run
from kragx.data.formats.jsonl import make_folder, write_bytes, write_records

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport


def write_inputs(report: RunReport, folder: Path) -> None:
    """Write into a folder what there is to keep."""
    if report.records:
        write_records(report.records, folder / SCORES)
    if report.corpus.source is not None:
        documents = _named(report.corpus, report.dataset, report.runs.values())
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


def _named(corpus: Corpus, dataset: GoldDataset, runs: Iterable[Run]) -> Iterator[dict[str, Any]]:
    """The documents of a corpus, as its files have them, whose ids stand anywhere."""
    golds = [gold for query in dataset for gold in query.gold]
    ids = [gold.id for gold in golds]
    ids += [alternative.id for gold in golds for alternative in gold.alternatives]
    answers = [answer for run in runs for answer in run.results.values()]
    ids += [doc.id for answer in answers for doc in answer.documents]
    ids += [doc.id for answer in answers for stage in answer.stages for doc in stage.documents]
    for doc_id in filter(None, dict.fromkeys(ids)):
        text = corpus.text(doc_id)
        if text is not None:
            doc = corpus.docs.get(doc_id, Doc(doc_id))
            yield {"id": doc_id, "text": text, "metadata": dict(doc.metadata)}

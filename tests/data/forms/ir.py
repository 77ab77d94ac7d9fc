"""The nine forms of information retrieval: ids with grades, and with scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .content import QRELS, SCORES, Form, Given

NO_EMPTY = frozenset({"empty"})


def _pairs() -> tuple[list[tuple[str, str, int]], list[tuple[str, str, float]]]:
    grades = [(q, d, grade) for q, own in QRELS.items() for d, grade in own.items()]
    scores = [(q, d, score) for q, own in SCORES.items() for d, score in own.items()]
    return grades, scores


def _trec(folder: Path) -> tuple[str, str]:
    grades, scores = _pairs()
    qrels, run = folder / "own.qrels", folder / "own.run"
    qrels.write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in grades))
    run.write_text("".join(f"{q} Q0 {d} 0 {score} tag\n" for q, d, score in scores))
    return str(qrels), str(run)


def _plain() -> tuple[dict[str, Any], dict[str, Any]]:
    return {q: dict(own) for q, own in QRELS.items()}, {q: dict(own) for q, own in SCORES.items()}


def _ranx(folder: Path) -> Given:
    import ranx

    qrels, run = _plain()
    return Given(ranx.Qrels(qrels), ranx.Run(run, name="bm25"))


def _ranx_dicts(folder: Path) -> Given:
    import ranx

    qrels, run = _plain()
    return Given(ranx.Qrels(qrels).to_dict(), ranx.Run(run).to_dict())


def _pytrec_eval(folder: Path) -> Given:
    import pytrec_eval

    qrels, run = _trec(folder)
    with Path(qrels).open() as lines:
        gold = pytrec_eval.parse_qrel(lines)
    with Path(run).open() as lines:
        results = pytrec_eval.parse_run(lines)
    return Given(gold, results)


def _named(folder: Path) -> Given:
    qrels, run = _plain()
    return Given(qrels, {"bm25": run, "dense": dict(run)})


def _lists(folder: Path) -> Given:
    from ir_measures import Qrel, ScoredDoc

    grades, scores = _pairs()
    return Given([Qrel(*row) for row in grades], [ScoredDoc(*row) for row in scores])


def _iterators(folder: Path) -> Given:
    import ir_measures

    qrels, run = _trec(folder)
    return Given(ir_measures.read_trec_qrels(qrels), ir_measures.read_trec_run(run))


def _frames(folder: Path) -> Given:
    import pandas

    given = _lists(folder)
    return Given(pandas.DataFrame(given.gold), pandas.DataFrame(given.results))


def _pyterrier(folder: Path) -> Given:
    import pandas
    import pyterrier

    grades, _ = _pairs()
    ranked = [
        pyterrier.new.ranked_documents([list(own.values())], qid=[q], docno=[list(own)])
        for q, own in SCORES.items()
        if own
    ]
    qrels = pandas.DataFrame(grades, columns=["qid", "docno", "label"])
    return Given(qrels, pandas.concat(ranked))


IR = [
    Form("IR: Qrels and Run of ranx", "ranx", _ranx),
    Form("IR: ranx's dicts", "ranx", _ranx_dicts),
    Form("IR: pytrec_eval's dicts", "pytrec_eval", _pytrec_eval, NO_EMPTY),
    Form("IR: several runs by name", "kragx", _named, names=("bm25", "dense")),
    Form("IR: lists of Qrel and ScoredDoc", "ir_measures", _lists, NO_EMPTY),
    Form("IR: iterators of Qrel and ScoredDoc", "ir_measures", _iterators, NO_EMPTY),
    Form("IR: frames of ir_measures", "ir_measures", _frames, NO_EMPTY),
    Form("IR: frames of PyTerrier", "pyterrier", _pyterrier, NO_EMPTY),
    Form("IR: files of qrels and a run", "kragx", lambda folder: Given(*_trec(folder)), NO_EMPTY),
]

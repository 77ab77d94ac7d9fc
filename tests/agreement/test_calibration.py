"""Calibration: chosen by agreement, on queries it was not chosen on; labels in every form."""

from __future__ import annotations

import json
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
import yaml
from hypothesis import assume, given, strategies as st

from kragx import (
    DataError,
    Doc,
    Gold,
    GoldDataset,
    Query,
    Run,
    UsageError,
    calibrate,
    evaluate,
    read_labels,
)
from kragx.agreement import Labels
from kragx.agreement.calibration import CANDIDATES
from kragx.agreement.coefficients import cohen_kappa, f1
from kragx.agreement.label_files import document_name
from kragx.agreement.threshold_choice import Chooser, Trial
from kragx.data.writing import write_results
from kragx.judging import Judge, Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.matchers import METHODS, MatchItem, matcher, method_class
from tests.agreement.simulation import calibration_coverage
from tests.thoroughness import all_cases, examples, some

counts = st.integers(0, 40)


@given(counts, counts, counts, counts)
def test_kappa_and_f1_are_those_of_scikit_learn(tp: int, fp: int, fn: int, tn: int):
    """From four counts what scikit-learn computes from the decisions; NaN where there is none."""
    assume(tp + fp + fn + tn)
    decided = [1] * tp + [1] * fp + [0] * fn + [0] * tn
    true = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    confusion = np.array([[tn, fp], [fn, tp]], float)
    kappa, harmonic = float(cohen_kappa(confusion)), float(f1(confusion))
    if len({*decided, *true}) == 1:
        assert np.isnan(kappa)
    else:
        assert kappa == pytest.approx(sklearn.metrics.cohen_kappa_score(decided, true), abs=1e-12)
    if tp + fp + fn:
        assert harmonic == pytest.approx(sklearn.metrics.f1_score(true, decided, zero_division=0))
    else:
        assert np.isnan(harmonic)


def test_a_known_table():
    """Cohen's own example form: 20 and 15 agreements of 50 give .4; arrays give arrays."""
    assert float(cohen_kappa(np.array([[15.0, 5], [10, 20]]))) == pytest.approx(0.4)
    assert f1(np.array([[[5.0, 0], [0, 1]], [[0, 2], [2, 2]]])).tolist() == [1.0, 0.5]


def by_place(labels: dict[tuple[Any, ...], float]) -> Labels:
    """Labels by query, document and gold item, the latter two by id or place; None for any gold."""
    return Labels({}, of_gold=labels)


WORDS = [f"w{at}" for at in range(400)]


def labelled(n: int = 24, noise: float = 0.0, seed: int = 1) -> tuple[Any, Any, Labels]:
    """Queries whose documents hold more or less of the gold, and whether that is half of it."""
    rng = random.Random(seed)
    golds, docs, labels = [], [], {}
    for number in range(n):
        gold = rng.sample(WORDS, 20)
        listed = []
        for rank, held in enumerate((20, 15, 12, 8, 4, 0), start=1):
            rest = rng.sample([word for word in WORDS if word not in gold], 40 - held)
            listed.append(" ".join([*gold[:held], *rest]))
            match = (held >= 10) != (rng.random() < noise)
            labels[f"q{number + 1}", rank, 1] = float(match)
        golds.append([" ".join(gold)])
        docs.append(listed)
    return GoldDataset.from_documents(golds), Run.from_documents(docs), by_place(labels)


def test_the_threshold_that_separates_is_found():
    """Recall of words tells the labels apart perfectly from .41 to .6; a round number is taken."""
    dataset, run, labels = labelled()
    only = [{"method": "rouge1", "measure": "recall"}]
    found = calibrate(dataset, labels, run, only=only)
    assert found.match == {"method": "rouge1", "measure": "recall", "threshold": 0.5}
    assert found.chosen.agreement.value == 1.0
    assert (found.n_queries, found.n_pairs, found.n_matches, found.n_unused) == (24, 144, 72, 0)
    result = evaluate(dataset, run, match=found.match, metrics=["recall@3"])
    assert result["recall@3"] == 1.0


def obvious(scores: list[float], truth: list[bool], by: str) -> float:
    """The greatest agreement that any threshold gives, tried one by one."""
    measure = sklearn.metrics.cohen_kappa_score if by == "kappa" else sklearn.metrics.f1_score
    tried = [measure(truth, [score >= cut for score in scores]) for cut in set(scores) if cut > 0]
    return max((value for value in tried if not np.isnan(value)), default=float("nan"))


@pytest.mark.integration
@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(["kappa", "f1"]))
def test_no_threshold_agrees_better_on_the_pairs_it_was_chosen_on(seed: int, by: Any):
    """`apparent` is the maximum over all thresholds, as trying each of them shows."""
    dataset, run, labels = labelled(6, noise=0.3, seed=seed)
    assume(len({*labels.of_gold.values()}) == 2)
    only = [{"method": "rouge1", "measure": "recall"}]
    found = calibrate(dataset, labels, run, by=by, only=only)
    table = evaluate(dataset, run, match=only[0], metrics=["mrr@1"]).table
    scores = [float(score) for row in range(6) for score in table.dense(row)[:, 0]]
    expected = obvious(scores, [bool(grade) for grade in labels.of_gold.values()], by)
    assert found.chosen.apparent == pytest.approx(expected, abs=1e-12)


@pytest.mark.integration
def test_agreement_is_that_of_queries_not_chosen_on():
    """With labels of pure chance, what it was chosen on looks good and the rest does not."""
    optimism = []
    for seed in range(60):
        dataset, run, labels = labelled(10, noise=0.5, seed=seed)
        found = calibrate(dataset, labels, run, only=["rouge1", "rouge2", "rougeL", "overlap"])
        assert found.chosen.apparent is not None
        assert found.honest.value is not None
        optimism.append((found.chosen.apparent, found.honest.value))
    apparent, honest = np.mean(optimism, axis=0)
    assert apparent > honest + 0.05
    assert abs(honest) < 0.05


def test_folds_are_of_whole_queries(monkeypatch: pytest.MonkeyPatch):
    """No query stands on both sides of a fold."""
    seen = []
    real = Chooser.threshold

    def noting(self: Any, candidate: int, part: Any) -> float:
        if not part.all():
            seen.append((set(self.query_of[part]), set(self.query_of[~part])))
        return real(self, candidate, part)

    monkeypatch.setattr(Chooser, "threshold", noting)
    dataset, run, labels = labelled(7)
    calibrate(dataset, labels, run, only=["overlap"])
    assert len(seen) >= 3
    assert all(not chosen_on & held_out for chosen_on, held_out in seen)


def test_of_those_that_cannot_be_told_apart_the_simplest_is_taken():
    """Two candidates that decide alike are tied; the first is chosen, whichever it is."""
    dataset, run, labels = labelled()
    one, other = (
        {"method": "rouge1", "measure": "recall"},
        {"method": "rougeL", "measure": "recall"},
    )
    for only in ([one, other], [other, one]):
        found = calibrate(dataset, labels, run, only=only)
        assert found.match["method"] == only[0]["method"]
        assert all(each.tied for each in found.candidates)


def test_a_worse_candidate_is_not_taken_for_being_simple():
    """`text` finds only what holds the gold whole; ROUGE is chosen, and says how far text is."""
    dataset, run, labels = labelled()
    found = calibrate(
        dataset, labels, run, only=["text", {"method": "rouge1", "measure": "recall"}]
    )
    assert found.match["method"] == "rouge1"
    text = next(each for each in found.candidates if each.match == {"method": "text"})
    assert not text.tied
    assert text.precision == 1.0
    assert text.recall == pytest.approx(1 / 3)


def test_what_is_tried():
    """Simplest first; every built-in matcher with a threshold that asks no model; more last."""
    assert CANDIDATES[:3] == ({"method": "text"}, {"method": "contains"}, {"method": "overlap"})
    methods = {each["method"] for each in CANDIDATES}
    for name in METHODS:
        if not method_class(name).asks and "threshold" in matcher_options(name):
            assert name in methods
    assert not methods & {"llm", "embedding"}
    assert {each["tokenizer"] for each in CANDIDATES if "tokenizer" in each} == {"char"}
    dataset, run, labels = labelled(2)
    more = [{"method": "overlap", "threshold": 0.9}, "exact"]
    found = calibrate(dataset, labels, run, more=more).candidates
    assert len(found) == len(CANDIDATES) + 2
    assert "exact" in {each.match["method"] for each in found}


def matcher_options(name: str) -> tuple[str, ...]:
    """The options of a method."""
    from kragx.matchers import option_names

    return option_names(name)


def test_an_embedding_is_a_candidate_like_others():
    """Its threshold is chosen; the block that is written can be used as it is."""
    dataset, run, labels = labelled(8)
    spec = {"method": "embedding", "embeddings": "examples.ngram_embeddings:NgramEmbeddings"}
    found = calibrate(dataset, labels, run, only=[spec])
    assert found.match.keys() == {*spec, "threshold"}
    block = yaml.safe_load(found.to_yaml())
    assert block == {"match": found.match}
    matcher(block["match"])


@dataclass(frozen=True)
class SharedWords:
    """The share of the gold's words that a document holds: somebody's own matcher."""

    threshold: float = 0.9

    def scores(self, items: Iterable[MatchItem], notes: Counter[str]) -> Iterator[Any]:
        """Yield n x t shares."""
        for item in items:
            texts = [set(text.split()) for text in item.doc_texts("words")]
            golds = [set((target.text or "").split()) for target in item.targets]
            yield np.array([[len(doc & gold) / len(gold) for gold in golds] for doc in texts])


@dataclass(frozen=True)
class Unmovable:
    """The same with a threshold of its own that nobody can name."""

    threshold: float = field(default=0.9, init=False)

    scores = SharedWords.scores


HERE = "tests.agreement.test_calibration"
RECALL = {"method": "rouge1", "measure": "recall"}


def test_places_in_metadata_are_labels_too():
    """Without a file: at least half of either text's characters shared, in the same source."""

    def doc(text: str, source: str, start: int) -> dict[str, Any]:
        return {"text": text, "metadata": {"source": source, "start_index": start}}

    gold = [[doc("a b c d e", "one", 10)], [doc("f g h i j", "two", 0)]]
    docs = [
        [doc("c d e x y", "one", 14), doc("e x y z q", "one", 18), doc("a b c d e", "two", 10)],
        [doc("f g h i j", "two", 0), {"text": "nothing known"}],
    ]
    found = calibrate(gold, None, docs, only=["rouge1"])
    assert (found.n_pairs, found.n_matches) == (4, 2)
    rows = [
        {"query_id": f"q{at}", "gold": [{"text": "a b c d e", "source": "one", "start": start}]}
        for at, start in enumerate((10, 40))
    ]
    # A gold file's own fields, and a splitter's paths, as coverage reads them.
    paths = [[{"text": "c d e x", "metadata": {"source": "one", "start": at}}] for at in (14, 90)]
    found = calibrate(rows, None, {"q0": paths[0], "q1": paths[1]}, only=["rouge1"])
    assert (found.n_pairs, found.n_matches) == (2, 1)
    with pytest.raises(UsageError, match=r"labels: none are given.*'start'"):
        calibrate([["a"], ["b"]], None, [["a"], ["c"]])


@pytest.mark.parametrize(
    ("spec", "moved"),
    some(
        [
            (RECALL, True),
            ({"method": "span", "run": 2}, True),
            ({"method": "span", "of": "gold"}, True),
            ({"method": f"{HERE}:SharedWords"}, True),
            ({"cascade": [{**RECALL, "reject": 0.1}, {**RECALL, "threshold": 0.95}]}, False),
            ({"cascade": [{**RECALL, "reject": 0.1}, "rouge1"]}, False),
            ("text", False),
            ({"method": f"{HERE}:Unmovable"}, False),
            ({"any": ["text", {**RECALL, "threshold": 0.95}]}, False),
            ({"cascade": [{**RECALL, "accept": 0.9, "reject": 0.1}, "rougeL"]}, False),
        ],
        5,
    ),
)
def test_the_block_that_is_written_decides_as_was_reported(spec: Any, moved: bool):
    """Evaluating with it anew agrees with the labels as `apparent` says, whatever the candidate."""
    dataset, run, labels = labelled(12, noise=0.1)
    found = calibrate(dataset, labels, run, only=[spec])
    block = yaml.safe_load(found.to_yaml())["match"]
    table = evaluate(dataset, run, match=block, metrics=["mrr@1"]).table
    decided = [
        bool(score >= table.threshold) for row in range(12) for score in table.dense(row)[:, 0]
    ]
    expected = sklearn.metrics.cohen_kappa_score([*labels.of_gold.values()], decided)
    assert found.chosen.apparent == pytest.approx(expected, abs=1e-12)
    assert (block != ({"method": spec} if isinstance(spec, str) else spec)) == moved


def test_few_labels_are_called_few():
    """Three pairs give a choice, and a caution that goes with it wherever it is written."""
    dataset, run, labels = labelled(3)
    few = [key for key in labels.of_gold if key[1] in (1, 6)][1:4]
    few_labels = by_place({key: labels.of_gold[key] for key in few})
    found = calibrate(dataset, few_labels, run, only=["overlap"])
    assert found.n_pairs == 3
    (caution,) = found.cautions
    assert "fewer than 20 hold for little else" in caution
    assert f"# Caution: {caution}." in found.to_yaml()
    assert found.to_dict()["cautions"] == [caution]
    dataset, run, labels = labelled(20)
    wrong = {key: 1.0 if key[1] == 6 else grade for key, grade in labels.of_gold.items()}
    assert calibrate(dataset, by_place(wrong), run, only=["overlap"]).cautions == ()


@pytest.mark.integration
def test_labels_that_a_matcher_made_have_no_kappa():
    """What is a candidate's own output is said to be, in every form, in place of kappa 1.000."""
    dataset, run, _ = labelled()
    for own in ({"only": ["overlap"]}, {}):
        made = evaluate(dataset, run, match={"method": "overlap", "threshold": 0.37})
        decided = {
            (query_id, rank, 1): float(matched)
            for row, query_id in enumerate(made.query_ids)
            for rank, (matched,) in enumerate(made.table.dense(row) >= 0.37, start=1)
        }
        found = calibrate(dataset, by_place(decided), run, **own)
        assert found.made_by is not None
        assert found.honest.value is None
        assert found.to_dict()["made_by"] == found.made_by
        for text in (str(found), found.to_yaml()):
            assert "not known, as the labels are what" in text
            assert "1.000 [" not in text
        assert "as labelled" in str(found)


# -- labels ----------------------------------------------------------------------------------


def files(tmp_path: Path) -> dict[str, Path]:
    """The same labels in every format."""
    dataset, run, labels = labelled(6)
    write_results(dataset, run, tmp_path / "results.jsonl")
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record["gold"][0]["id"] = f"g-{record['query_id']}"
        for rank, doc in enumerate(record["retrieved"], start=1):
            doc["id"] = f"d-{record['query_id']}-{rank}"
    write(tmp_path / "results.jsonl", records)
    by_id = [
        (query_id, f"d-{query_id}-{rank}", int(grade))
        for (query_id, rank, _), grade in labels.of_gold.items()
    ]
    rows = [",".join(map(str, row)) for row in by_id]
    (tmp_path / "labels.csv").write_text(
        "\ufeffquery_id,doc_id,label\n" + "\n".join(rows) + "\n", encoding="utf-8"
    )
    by_query: dict[str, list[list[bool]]] = {}
    for (query_id, _, _), grade in labels.of_gold.items():
        by_query.setdefault(query_id, []).append([bool(grade)])
    write(
        tmp_path / "matrix.jsonl",
        [{"query_id": key, "matched": rows} for key, rows in by_query.items()],
    )
    (tmp_path / "labels.qrels").write_text(
        "".join(f"{query_id} 0 {doc_id} {label}\n" for query_id, doc_id, label in by_id)
    )
    truth = {
        (records[number]["gold"][0]["text"], records[number]["retrieved"][rank]["text"]): row[0]
        for number, rows in enumerate(by_query.values())
        for rank, row in enumerate(rows)
    }

    def grade(request: Any) -> int:
        text = str(request.messages)
        return 2 if any(match and g in text and d in text for (g, d), match in truth.items()) else 1

    judge = Judge(ScriptedClient(grade), store=tmp_path / "judged.sqlite")
    evaluate(tmp_path / "results.jsonl", match={"method": "llm", "judge": judge})
    return {path.name: path for path in tmp_path.iterdir()}


def write(path: Path, records: list[dict[str, Any]]) -> None:
    """JSON Lines."""
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


@pytest.mark.integration
def test_every_format_says_the_same(tmp_path: Path):
    """CSV, a matrix, qrels and a judge's store: the same calibration."""
    found = files(tmp_path)
    results = found["results.jsonl"]
    expected = None
    for name in (
        "labels.csv",
        "matrix.jsonl",
        "labels.qrels",
        "judged.sqlite",
    ):
        labels = read_labels(found[name])
        assert len(labels) == 36, name
        calibration = calibrate(results, labels, only=[{"method": "rouge1", "measure": "recall"}])
        plain = calibration.to_dict()
        expected = expected or plain
        assert plain == expected, name
    assert expected is not None
    assert expected["n_matches"] == 18


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"query_id": "q1", "matched": [[1]]}\n{"query_id": "q1", "matched": [[0]]}\n',
            "query 'q1', document 1 has the labels 1 and 0; keep one",
        ),
        ("", "the file holds no query"),
        (
            '{"query_id": "q1"}\n',
            "neither gold nor 'matched'",
        ),
        ('{"query_id": "q1", "matched": [["yes"]]}\n', ":1: 'matched' holds 0 or 1, true or false"),
        ('{"matched": [[1]]}\n', ":1: 'query_id' is missing"),
        ('{"query_id": "q1", "matched": [true]}\n', "'matched' must be a list of lists"),
    ],
)
def test_a_broken_label_file_is_named_with_its_line(tmp_path: Path, content: str, message: str):
    """What is wrong, and where."""
    path = tmp_path / "labels.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_labels(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_labels_that_do_not_fit_are_refused():
    """Of no pair at hand, of one kind, of one query, contradicting; those left over are counted."""
    dataset, run, labels = labelled(3)
    only, grades = ["overlap"], labels.of_gold

    def calibrated(labels: dict[Any, float]) -> Any:
        return calibrate(dataset, by_place(labels), run, only=only)

    with pytest.raises(DataError, match="none of the 1 labels is of a retrieved document"):
        calibrated({("q1", 99, 1): 1})
    with pytest.raises(DataError, match="every pair is labelled a match"):
        calibrated({key: grade for key, grade in grades.items() if grade})
    with pytest.raises(DataError, match="of one query"):
        calibrated({key: grade for key, grade in grades.items() if key[0] == "q1"})
    more = {**grades, ("no such query", 1, None): 1, ("q1", "no such document", None): 1}
    assert calibrated(more).n_unused == 2


@pytest.mark.parametrize("by", ["doc_id", "rank"])
def test_a_document_that_a_list_repeats_is_one_pair(by: str):
    """By id or by rank, in NFC or NFD, with an id or without: nothing but the first counts."""
    gold = {f"q{number}": ["섬에는 등대가 있다"] for number in range(4)}
    texts = ["섬에는 등대가 있다", "밤에 온다", "섬에는  등대가 있다", "섬에는 등대가 있다"]
    texts[3] = unicodedata.normalize("NFD", texts[3])
    ids = ["d1", "d2", "d1", "d1"]

    def calibrated(n: int):
        docs = [
            {"text": text} | ({"id": own} if by == "doc_id" else {})
            for own, text in zip(ids, texts)
        ]
        labels = {
            (query, own if by == "doc_id" else rank, None): float(own == "d1")
            for query in gold
            for rank, own in enumerate(ids[:n], start=1)
        }
        lists = dict.fromkeys(gold, docs[:n])
        return calibrate(gold, by_place(labels), lists, only=["text", "overlap"])

    assert (calibrated(4).n_pairs, calibrated(4).n_matches) == (8, 4)
    assert calibrated(4).to_dict() == calibrated(2).to_dict()


def test_a_gold_item_that_a_question_repeats_is_one_pair():
    """As a document is; one of another grade or with an alternative is another."""
    items = (Gold("g", "a b"), Gold("g", "a b"), Gold("g", "a b", alternatives=(Doc("h", "c"),)))
    dataset = GoldDataset(tuple(Query(own, gold=items) for own in ("q1", "q2")))
    run = {own: [{"id": "d", "text": "a b"}, {"id": "e", "text": "x"}] for own in ("q1", "q2")}
    labels = {
        (own, rank, gold): float(rank == 1) for own in run for rank in (1, 2) for gold in (1, 2, 3)
    }
    assert calibrate(dataset, by_place(labels), run, only=["text"]).n_pairs == 8


def test_labels_of_a_repeated_document_that_differ():
    """One of an id is refused with both ranks; without ids the words may stand in two places."""
    gold = {"q1": ["a b"], "q2": ["a b"]}
    labels = by_place({(own, rank, 1): rank % 2 for own in gold for rank in (1, 2)})
    doc = {"id": "d", "text": "a b"}
    named = {query: [doc, doc] for query in gold}
    with pytest.raises(DataError, match=r"'q1', rank 2 is labelled twice \(it repeats rank 1\)"):
        calibrate(gold, labels, named, only=["text"])
    unnamed = {query: ["a b", "a b"] for query in gold}
    assert calibrate(gold, labels, unnamed, only=["text"]).n_pairs == 4


@all_cases(
    ("options", "message"),
    [
        ({"by": "accuracy"}, "by: unknown value 'accuracy'"),
        ({"seed": -1}, "seed: -1 is not"),
        ({"only": [5]}, "candidates: 5 is neither"),
        ({"only": []}, "candidates: there is none"),
        ({"only": ["overlp"]}, "perhaps you meant 'overlap'"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str):
    """Each names the argument and the value."""
    dataset, run, labels = labelled(3)
    with pytest.raises(UsageError, match=message):
        calibrate(dataset, labels, run, **options)


def test_a_judge_is_no_candidate(tmp_path: Path):
    """A judge labels; choosing it by its own labels would say nothing."""
    dataset, run, labels = labelled(3)
    judge = Judge(ScriptedClient([0]), store=tmp_path / "j.sqlite")
    with pytest.raises(UsageError, match="a judge's grades are what others are compared with"):
        calibrate(dataset, labels, run, more=[{"method": "llm", "judge": judge}])


def test_human_labels_of_relevance_in_a_store(tmp_path: Path):
    """A store without support: grades of query and document, people's in place of the judge's."""
    dataset = GoldDataset.from_documents([["a b c"], ["d e f"]], queries=["one?", "two?"])
    run = Run.from_documents(
        {
            "q1": [{"id": "d1", "text": "a b c"}, {"id": "d2", "text": "x y z"}],
            "q2": [{"id": "d3", "text": "d e f"}, {"id": "d4", "text": "u v w"}],
        }
    )
    store = tmp_path / "judged.sqlite"
    judge = Judge(ScriptedClient([0, 0, 3, 0]), store=store, concurrency=1)
    evaluate(dataset, run, match={"method": "llm", "judge": judge, "mode": "relevance"})
    with Store(store) as opened:
        opened.add_labels([("q1", "d1", 3)], origin="people")
    labels = read_labels(store)
    assert labels.positive == 2
    found = calibrate(dataset, labels, run, only=["rouge1"])
    assert (found.n_pairs, found.n_matches) == (4, 2)
    assert found.chosen.apparent == 1.0


def test_people_label_documents_without_ids(tmp_path: Path):
    """By the name that a store gives a text, in place of the judge's grade of it."""
    dataset = GoldDataset.from_documents([["a b c"], ["d e f"]], queries=["one?", "two?"])
    run = Run.from_documents([["a b c", "x y z"], ["d e f", "u v w"]])
    judge = Judge(ScriptedClient([0, 0, 3, 0]), store=tmp_path / "judged.sqlite", concurrency=1)
    evaluate(dataset, run, match={"method": "llm", "judge": judge, "mode": "relevance"})
    with Store(tmp_path / "judged.sqlite") as opened:
        opened.add_labels([("q1", document_name(Doc(text="a b c")), 3)], origin="people")
    found = calibrate(dataset, tmp_path / "judged.sqlite", run, only=["rouge1"])
    assert (found.n_pairs, found.n_matches, found.n_unused) == (4, 2, 0)


def test_an_alternative_that_is_supported_is_enough(tmp_path: Path):
    """A store grades each text of a gold item; one that is carried makes the pair a match."""
    gold = [
        Gold(text=f"unknown {number}", alternatives=(Doc(text=f"갑을병 {number}"),))
        for number in (1, 2)
    ]
    dataset = GoldDataset(tuple(Query(f"q{at}", gold=(each,)) for at, each in enumerate(gold)))
    run = Run.from_documents({f"q{at}": [f"정무기 {at}", f"다른 글 {at}"] for at in (0, 1)})

    def grade(request: Any) -> int:
        text = str(request.messages)
        return 3 if "갑을병" in text and "정무기" in text else 0

    judge = Judge(ScriptedClient(grade), store=tmp_path / "judged.sqlite", concurrency=1)
    evaluate(dataset, run, match={"method": "llm", "judge": judge, "mode": "support"})
    labels = read_labels(tmp_path / "judged.sqlite")
    assert len(labels) == 8
    # The same texts, decomposed and with more white space, are still the same.
    spread = Run.from_documents(
        {
            f"q{at}": [unicodedata.normalize("NFD", f"정무기  {at}"), f"다른\n글 {at}"]
            for at in (0, 1)
        }
    )
    for listed in (run, spread):
        found = calibrate(dataset, labels, listed, only=["rouge1"])
        assert (found.n_pairs, found.n_matches, found.n_unused) == (4, 2, 0)


def test_grades_of_several_judges_are_not_mixed(tmp_path: Path):
    """Two models in one store: refused, with how to take those of one."""
    dataset = GoldDataset.from_documents([["a b c"], ["d e f"]])
    run = Run.from_documents([["a b", "x y"], ["d e", "u v"]])
    path = tmp_path / "judged.sqlite"
    for model in ("small", "large"):
        judge = Judge(ScriptedClient([3, 0, 3, 0], model=model), store=path, concurrency=1)
        evaluate(dataset, run, match={"method": "llm", "judge": judge, "mode": "support"})
    with pytest.raises(UsageError, match=r"--model: .*several \(large, small\).*name one"):
        read_labels(path)
    assert len(read_labels(path, model="large")) == 4


def test_a_label_of_a_document_is_of_gold_that_is_relevant():
    """Gold of grade 0 is judged non-relevant: a document that matches it alone is no match."""
    dataset = GoldDataset(
        tuple(
            Query(f"q{at}", gold=(Gold(text=f"a b c {at}"), Gold(text=f"x y z {at}", grade=0)))
            for at in range(3)
        )
    )
    run = Run.from_documents({f"q{at}": [f"a b c {at}", f"x y z {at}"] for at in range(3)})
    labels = by_place({(f"q{at}", rank, None): rank == 1 for at in range(3) for rank in (1, 2)})
    found = calibrate(dataset, labels, run, only=["rouge1"])
    assert found.chosen.agreement.value == 1.0


@pytest.mark.integration
def test_intervals_hold_what_new_queries_give():
    """Of 300 labellings of 30 queries, 93 to 99 % of intervals hold what 20,000 new ones give.

    Of three kinds of matcher; plain percentiles of the same agreements do in 83 to 90 %.
    """
    of_kinds = [
        calibration_coverage(30, kind, by, count=100)
        for kind, by in (("clear", "kappa"), ("middling", "f1"), ("poor", "kappa"))
    ]
    for name in of_kinds[0]:
        assert 0.93 <= np.mean([shares[name] for shares in of_kinds]) <= 0.99


def test_an_interval_also_where_all_is_right():
    """30 queries that a matcher decides right have [.755, 1] for kappa; 28 labels have none."""
    for n, expected in ((10, 0.323), (30, 0.755)):
        query_of = np.repeat(np.arange(n), 3)
        truth = np.tile([True, False, False], n)
        trial = Trial({"method": "a"}, np.where(truth, 0.9, 0.1), 0.5)
        _, chosen, honest = Chooser([trial], truth, query_of, "kappa", 5, 0).result()
        assert chosen.agreement.value == honest.value == 1.0
        assert honest.low == pytest.approx(expected, abs=1e-3)  # 2 n / (n + t^2) - 1
        assert honest.high == 1.0
    few = slice(0, 28)
    _, chosen, honest = Chooser(
        [replace(trial, scores=trial.scores[few])], truth[few], query_of[few], "kappa", 5, 0
    ).result()
    assert (honest.low, honest.high, chosen.agreement.low) == (None, None, None)

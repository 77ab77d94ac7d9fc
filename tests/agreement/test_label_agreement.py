"""`agree`: what is compared, what is listed, and the JSON."""

from __future__ import annotations

import json
import unicodedata
from typing import ClassVar

import pytest

from kragx import Run
from kragx.agreement import Labels, agree
from kragx.data.formats.jsonl import to_json
from kragx.errors import DataError, UsageError

HUMAN = {
    "q1": {"a": 0, "b": 1, "c": 2, "only-human": 1},
    "q2": {"a": 3, "b": 0, "strange": 1.5},
    "q3": {"a": 2, "b": 2},
}
JUDGE = {
    "q1": {"a": 0, "b": 2, "c": 2, "only-judge": 0},
    "q2": {"a": 3, "b": 7, "strange": 1},
    "q3": {"a": 1, "b": 2},
}


def test_what_is_compared():
    """Pairs with a label on the scale from both sides; everything else is listed as it is."""
    found = agree(HUMAN, JUDGE, resamples=200)
    assert (found.pairs, found.queries) == (6, 3)
    assert found.missing == {
        "human": (("q1", "only-judge"),),
        "judge": (("q1", "only-human"),),
    }
    listed = {
        (each.side, each.query_id, each.document_id): each.grade for each in found.out_of_scale
    }
    assert listed == {("human", "q2", "strange"): 1.5, ("judge", "q2", "b"): 7}
    assert any("name it (--scale 0-3)" in note for note in found.notes)


@pytest.mark.parametrize(
    ("judge", "positive", "line"),
    [
        ({0: 0, 1: 1, 2: 2, 3: 3}, 2.0, "2 or more: 50.0% of the pairs by people, 47.9%"),
        ({0: 2, 1: 2, 2: 2, 3: 2}, 2.0, "2 or more: 50.0% of the pairs by people, 97.9%"),
        ({0: 0, 1: 0, 2: 1, 3: 3}, 3.0, "3 or more: 25.0% of the pairs by people, 22.9%"),
        ({0: 0, 1: 0, 2: 1, 3: 3}, None, None),
    ],
)
def test_at_the_cut(judge, positive, line):
    """How much both sides call relevant, and whether the same pairs, as the kappa at the cut says;
    nothing where nobody knows the cut.
    """
    people = {(f"q{n}", f"d{grade}"): float(grade) for n in range(12) for grade in range(4)}
    machine = {pair: float(judge[int(grade)]) for pair, grade in people.items()}
    machine["q0", "d3"] = 0.0  # one mistake of 48, as nothing that does not vary has an interval
    agreement = agree(Labels(people), Labels(machine, positive=positive), resamples=200)
    lines = [shown for shown in agreement.to_text().splitlines() if "of the pairs by" in shown]
    assert (agreement.settings["cut"], len(lines)) == (positive, line is not None)
    if line is not None:
        kappa = agreement[f"kappa_binary.{positive:g}"]
        assert kappa is not None
        assert line in lines[0]
        reading = (
            "no more often than chance" if kappa < 0.1 else f"chance would (kappa {kappa:.4f} ["
        )
        assert reading in lines[0]


def test_too_few_to_tell():
    """A kappa above 0 whose interval holds 0 is called neither chance nor better than it."""
    people = {f"q{n}": {"a": n % 2, "b": 1} for n in range(8)}
    judge = {
        query: {**labels, "a": int(query in ("q1", "q2", "q3"))} for query, labels in people.items()
    }
    judge |= {query: {**judge[query], "b": 0} for query in ("q5", "q6")}
    agreement = agree(people, judge, resamples=500)
    low, _ = agreement.intervals["kappa_binary.1"] or (1.0, 1.0)
    assert low <= 0 < (agreement["kappa_binary.1"] or 0)
    assert "too few to tell whether they pick the same pairs" in agreement.to_text()


def test_json():
    """The JSON has the fields of the documentation and is strict JSON."""
    plain = json.loads(to_json(agree(HUMAN, JUDGE, resamples=200).to_dict()))
    assert plain["pairs"] == 6
    for name in ("kappa", "kappa_linear", "kappa_quadratic", "alpha_ordinal", "accuracy"):
        assert isinstance(plain["values"][name], float)
        low, high = plain["intervals"][name]
        assert low <= plain["values"][name] <= high
    assert plain["intervals"].keys() == plain["values"].keys()
    assert {f"kappa_binary.{cut}" for cut in (1, 2, 3)} < plain["values"].keys()
    biases = [plain["values"][f"bias.{label}"] for label in range(4)]
    assert biases == pytest.approx([0.0, 1.0, -1 / 3, 0.0])
    assert plain["confusion"] == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 2, 0], [0, 0, 0, 1]]
    assert plain["scale"] == {"low": 0, "high": 3, "inferred": True}
    assert plain["missing"] == {"human": [["q1", "only-judge"]], "judge": [["q1", "only-human"]]}
    assert plain["out_of_scale"][1] == {
        "side": "judge",
        "query_id": "q2",
        "document_id": "b",
        "grade": 7.0,
    }
    assert plain["settings"]["unit"] == "query"
    assert plain["systems"] is None


def test_all_one_label():
    """One label throughout: kappa and alpha are null; accuracy is 1."""
    labels = {"q1": {"a": 2, "b": 2}, "q2": {"a": 2}}
    plain = agree(labels, labels, scale="0-3", resamples=50).to_dict()
    names = ("kappa", "kappa_quadratic", "alpha_ordinal")
    assert {plain["values"][name] for name in names} == {None}
    assert plain["values"]["kappa_binary.2"] is plain["values"]["bias.0"] is None
    assert plain["values"]["accuracy"] == 1
    assert plain["intervals"]["kappa"] is None


def test_people_gave_one_label(tmp_path):
    """That all of people's labels are one is said, as a table without grades says 1 of each."""
    path = tmp_path / "people.csv"
    path.write_text("query_id,doc_id,opinion\nq1,a,3\nq1,b,0\n", encoding="utf-8")
    judge = {"q1": {"a": 1, "b": 0}}
    (note,) = [note for note in agree(path, judge, resamples=50).notes if "every document" in note]
    assert "people gave every document the label 1" in note
    assert not any("every" in note for note in agree(judge, judge, resamples=50).notes)


def test_nothing_in_common():
    """Without a common pair the error shows how either side names its pairs."""
    with pytest.raises(DataError, match=r"query 'q1', document 'd1'.*query '1', document 'd1'"):
        agree({"q1": {"d1": 1, "d2": 0}}, {"1": {"d1": 1}})
    with pytest.raises(DataError, match="no pair has a label of the scale 0 to 1 from both sides"):
        agree({"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 9}})


def test_ids_in_two_unicode_forms():
    """Ids that look alike and differ in their form are not joined, and it is said why."""
    apart = unicodedata.normalize("NFD", "질의")
    with pytest.raises(DataError, match="differ by Unicode form, NFC and NFD alone"):
        agree({"질의": {"a": 1, "b": 0}}, {apart: {"a": 1, "b": 0}})
    some = agree({"질의": {"a": 1}, "q": {"b": 0}}, {apart: {"a": 1}, "q": {"b": 0}})
    assert some.pairs == 1
    assert any("Unicode form" in note for note in some.notes)
    assert not any("Unicode" in note for note in agree(HUMAN, JUDGE, resamples=50).notes)


def test_one_query_has_no_interval():
    """A single query cannot be resampled, which is said."""
    found = agree({"q": {"a": 0, "b": 1}}, {"q": {"a": 0, "b": 0}})
    assert set(found.intervals.values()) == {None}
    assert "too few to tell: fewer than 3 queries have no interval" in found.notes


def test_two_queries_are_too_few_for_an_interval():
    """Of two no interval is made, and that is said."""
    people, judge = {"a": 1, "b": 0}, {"a": 1, "b": 1}
    notes = agree({"q1": people, "q2": people}, {"q1": people, "q2": judge}).notes
    assert "too few to tell: fewer than 3 queries have no interval" in notes


def run_of(name, order):
    """A run that returns the documents of that order for every query."""
    lists = {query: [{"id": each} for each in order] for query in ("q1", "q2")}
    return Run.from_documents(lists, name=name)


class TestSystems:
    """Kendall's tau-b of systems under both label sets."""

    human: ClassVar = {query: {"a": 3, "b": 2, "c": 1, "d": 0} for query in ("q1", "q2")}
    judge: ClassVar = {query: {"a": 2, "b": 3, "c": 1, "d": 0} for query in ("q1", "q2")}
    runs: ClassVar = [run_of("abcd", "abcd"), run_of("bacd", "bacd"), run_of("dcab", "dcab")]

    def test_by_hand(self):
        """Of three pairs of systems the judge swaps one: tau (2 - 1) / 3; the top two: -1."""
        found = agree(self.human, self.judge, runs=self.runs, resamples=50).systems
        assert list(found.human) == ["abcd", "bacd", "dcab"]
        assert found.tau == pytest.approx(1 / 3)
        assert found.top == ("abcd", "bacd")
        assert found.tau_top == pytest.approx(-1)
        assert found.metric == "ndcg@10"
        assert found.human["abcd"] == pytest.approx(1)
        assert found.judge["bacd"] == pytest.approx(1)

    def test_another_metric(self):
        """The metric can be chosen; where all tie there is no tau, and a reason."""
        found = agree(
            self.human, self.judge, runs=self.runs, metric="precision@4", resamples=50
        ).systems
        assert found.tau is None
        assert "no tau-b where one side scores all systems the same" in found.to_text()

    def test_rounding_breaks_no_ties(self):
        """The same precisions in another order sum to other last digits; the systems still tie."""
        labels = {f"q{at}": {f"d{each}": int(each < 3) for each in range(10)} for at in range(3)}
        other = {**labels, "q0": {**labels["q0"], "d9": 1}}

        def run(name, found):
            ranked = {
                f"q{at}": [{"id": f"{'d' if each < n else 'x'}{each}"} for each in range(10)]
                for at, n in enumerate(found)
            }
            return Run.from_documents(ranked, name=name)

        runs = [run("up", (1, 2, 3)), run("down", (3, 2, 1)), run("best", (3, 3, 3))]
        found = agree(labels, other, runs=runs, metric="precision@10", resamples=50).systems
        assert found.human["up"] != found.human["down"]  # by their last digits, or this tests none
        assert found.top == ("best", "up", "down")
        assert found.tau == pytest.approx(1)
        two = agree(labels, other, runs=runs[:2], metric="precision@10", resamples=50).systems
        assert two.tau is None

    def test_tau_stands_beside_kappa(self, capsys):
        """What is printed never has a tau without a kappa on the same line."""
        agree(self.human, self.judge, runs=self.runs, resamples=50).print()
        out = capsys.readouterr().out
        lines = [line for line in out.splitlines() if "tau" in line]
        assert lines
        assert all("kappa" in line for line in lines)
        plain = agree(self.human, self.judge, runs=self.runs, resamples=50).to_dict()
        assert plain["systems"]["kappa"] == plain["values"]["kappa"]

    def test_scale_from_one_on(self):
        """On a scale of 1 to 4 the lowest label is no relevance."""
        shifted = [
            {query: {doc: grade + 1 for doc, grade in docs.items()} for query, docs in side.items()}
            for side in (self.human, self.judge)
        ]
        plain = agree(self.human, self.judge, runs=self.runs, resamples=50).systems
        assert agree(*shifted, runs=self.runs, resamples=50).systems == plain

    def test_ids_that_never_meet(self, recwarn):
        """A system none of whose documents has a label is an error, not a zero in a ranking; and
        nothing is said of matchers, which there are none of here.
        """
        chunked = run_of("chunked", ("x1", "x2"))
        with pytest.raises(DataError, match="chunked: none of its documents has a label of labels"):
            agree(self.human, self.judge, runs=[*self.runs, chunked], resamples=50)
        assert not recwarn.list

    def test_one_system(self):
        """One system has no ranking, two of one name no names."""
        with pytest.raises(UsageError, match="at least two"):
            agree(self.human, self.judge, runs=self.runs[:1])
        with pytest.raises(UsageError, match="same name"):
            agree(self.human, self.judge, runs=[self.runs[0], self.runs[0]])


@pytest.mark.parametrize("wrong", [0, 1.5, 10**7])
def test_drawing_that_cannot_be(wrong):
    """Wrong numbers of resamples are named, of a single query too."""
    with pytest.raises(UsageError, match="resamples: "):
        agree({"q": {"a": 1, "b": 0}}, {"q": {"a": 1, "b": 1}}, resamples=wrong)

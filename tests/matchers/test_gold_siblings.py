"""Gold of one template, which a matcher may take for each other: said with the numbers."""

import json
import random
import warnings

import pytest

from kragx import RAGEvaluator, RougeOfflineRetrievalEvaluators, evaluate, read_dataset
from kragx.evaluation.part_tables import evaluate_in_parts
from kragx.matchers import MatchWarning, matcher
from kragx.matchers.gold_siblings import MOST_TEXTS, GoldSample, gold_siblings
from tests.matchers.gold_of_templates import TEMPLATES, digit_en, siblings_of
from tests.thoroughness import all_cases

SAID = "gold of one template"


def results(golds, lists):
    """Rows of a results file."""
    return [
        {"query_id": f"q{at}", "gold": [{"text": gold}], "retrieved": [{"text": t} for t in texts]}
        for at, (gold, texts) in enumerate(zip(golds, lists))
    ]


def written(path, rows):
    """The rows as a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@all_cases("true", [0, 4])
@all_cases("template", TEMPLATES)
def test_siblings_alone(template, true):
    """What finds texts of the same template alone has mrr 1 by ROUGE, and it is said beside it."""
    golds = [*map(TEMPLATES[template], range(30))]
    with pytest.warns(MatchWarning, match=SAID):
        evaluation = evaluate(
            [[own] for own in golds],
            siblings_of(golds, true=true),
            match="rouge2",
            metrics=["mrr@5"],
        )
    assert evaluation["mrr@5"] == 1.0
    own = evaluation.counts["siblings"]
    assert (own["cause"], own["n"], own["of"], own["n_questions"]) == ("taken", 30, 30, 30)
    assert any(SAID in remark for remark in evaluation.remarks)
    assert SAID in str(evaluation)


@pytest.mark.integration
@pytest.mark.parametrize("n", [10, 100, 300])
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("match", ["rouge1", "rouge2", "rougeL"])
def test_any_number_of_items(match, template, n):
    """Of 10 to 300 items each is found to be taken for another one."""
    golds = [[TEMPLATES[template](at)] for at in range(n)]
    sample = GoldSample.of(read_dataset(golds))
    known = gold_siblings(sample, matcher(match)).at(0.5)["siblings"]
    assert known["n"] == known["of"] == n


def test_of_krag():
    """The K-RAG road warns, and its evaluators print it."""
    golds = [[digit_en(at)] for at in range(30)]
    lists = siblings_of([gold for (gold,) in golds])
    evaluator = RAGEvaluator(match_method="rouge2")
    with pytest.warns(MatchWarning, match=SAID):
        assert evaluator.evaluate_all(golds, lists, k=5)["mrr"] == {"mrr": 1.0}
    assert SAID in str(evaluator)
    with pytest.warns(MatchWarning, match=SAID):
        RougeOfflineRetrievalEvaluators(golds, lists).calculate_mrr(k=5)


@pytest.mark.integration
def test_before_anything_is_asked():
    """A retriever is asked after the warning, of several retrievers once."""
    golds, events = [[digit_en(at)] for at in range(10)], []

    def retrieve(question):
        events.append("asked")
        return [golds[0][0]]

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: events.append(str(message)[: len(SAID)])
        dataset = read_dataset(
            [
                {"query_id": f"q{at}", "query": "?", "gold": [{"text": own}]}
                for at, (own,) in enumerate(golds)
            ]
        )
        evaluate(dataset, {"one": retrieve, "two": retrieve}, match="rouge2", metrics=["mrr@5"])
    assert events == [SAID, *["asked"] * 20]


@pytest.mark.integration
def test_whatever_road(tmp_path):
    """Lists, a file, parts in processes and tables give the same record, in any order."""
    golds = [*map(digit_en, range(40))]
    rows = results(golds, siblings_of(golds))
    path = written(tmp_path / "results.jsonl", rows)
    other = written(tmp_path / "other.jsonl", random.Random(0).sample(rows, len(rows)))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)
        found += [
            evaluate(source, match="rouge2", metrics=["mrr@5"]) for source in (path, rows, other)
        ]
        for _ in range(2):  # the second time the tables stand there
            scored = evaluate_in_parts(path, tmp_path / "out", match="rouge2", metrics=["mrr@5"])
            found.append(scored.evaluation)
    assert all(own.counts["siblings"] == found[0].counts["siblings"] for own in found)
    assert found[0].counts["siblings"]["n"] == 40


@pytest.mark.integration
def test_sample():
    """Of many questions the same are looked at in whatever order and parts they come."""
    rows = [{"query_id": f"q{at}", "gold": [{"text": digit_en(at)}]} for at in range(5000)]
    whole = GoldSample.of(read_dataset(rows))
    random.Random(1).shuffle(rows)
    parts = [GoldSample.of(read_dataset(rows[at : at + 700])) for at in range(0, 5000, 700)]
    for later in parts[1:]:
        parts[0].merge(later)
    assert whole.looked_at() == parts[0].looked_at()
    assert len(whole.looked_at()) == MOST_TEXTS
    assert whole.n == parts[0].n == 5000


def known(golds, match="rouge1"):
    """What is recorded of gold, a list of texts a question."""
    return gold_siblings(GoldSample.of(read_dataset(golds)), matcher(match)).at(0.5).get("siblings")


WORDS = [*digit_en(1).lower().split(), "mill", "stone", "grain", "winter", "market", "flour"]


def test_no_siblings():
    """Equal texts, texts in each other, windows that overlap and gold of one question are none."""
    rng = random.Random(3)
    text = " ".join(rng.choice(WORDS) + str(rng.randint(0, 999)) for _ in range(600))
    windows = [text[at : at + 400] for at in range(0, 3200, 200)]
    assert known([[window] for window in windows]) is None
    assert known([[windows[0]], [windows[0].upper()], [f" {windows[0]}\n"]] * 3) is None
    assert known([[text[at : at + 150]] for at in range(0, 900, 50)] + [[text]]) is None
    assert known([[digit_en(0), digit_en(1), digit_en(2)]] * 5) is None
    assert known([[digit_en(0)]]) is None
    assert known([["1918"], ["1919"], ["1920"]]) is None


def test_a_number_cut_off():
    """A text whose number goes on in another one is no part of it."""
    assert (
        known([[f"The port that the service listens on is {n}"] for n in (80, 808, 8080)])["n"] == 3
    )


def test_few_are_no_caution():
    """Two of fifty questions turn no verdict."""
    rng = random.Random(5)
    golds = [[" ".join(rng.choices(WORDS, k=12)) + f" {at}"] for at in range(48)]
    assert known([*golds, [digit_en(1)], [digit_en(2)]], "rouge2") is None


@all_cases(
    ("match", "is_said"),
    [
        ("text", False),
        ("id", False),
        ({"any": ["exact", "rouge2"]}, True),
        ({"all": ["exact", "rouge2"]}, False),
        ({"all": ["rouge1", "rouge2"]}, True),
        ({"cascade": [{"method": "text", "accept": 1}, "rouge2"]}, True),
        ({"cascade": [{"method": "rouge1", "reject": 0.2}, "rouge2"]}, True),
        ({"cascade": [{"method": "rouge1", "reject": 0.99}, "rouge2"]}, False),
    ],
)
def test_by_the_matcher_that_decides(match, is_said):
    """Ids and texts as they are take none for another; a combination as its members decide."""
    golds = [[{"id": f"d{at}", "text": digit_en(at)}] for at in range(20)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        evaluation = evaluate(golds, [[{"id": "d", "text": "x"}]] * 20, match=match)
    assert (
        any(SAID in str(own.message) for own in said)
        == is_said
        == ("siblings" in evaluation.counts)
    )


def test_another_threshold():
    """At a threshold that no sibling reaches nothing is said."""
    golds = [*map(digit_en, range(20))]
    with pytest.warns(MatchWarning, match=SAID):
        evaluation = evaluate(
            [[own] for own in golds], siblings_of(golds), match="rouge2", metrics=["mrr@5"]
        )
    assert "siblings" not in evaluation.at_threshold(0.99).counts
    assert evaluation.at_threshold(0.99).at_threshold(0.5).counts == evaluation.counts


class Embeddings:
    """Counts characters."""

    def __init__(self):
        self.n = 0

    def embed_documents(self, texts):
        """How often each letter stands there."""
        self.n += len(texts)
        return [[text.count(own) for own in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def test_embedding():
    """Vectors of gold are those that are made anyway."""
    golds, embeddings = [*map(digit_en, range(20))], Embeddings()
    match = {"method": "embedding", "embeddings": embeddings, "threshold": 0.9}
    with pytest.warns(MatchWarning, match=SAID):
        evaluate([[own] for own in golds], siblings_of(golds), match=match, metrics=["mrr@5"])
    assert embeddings.n == 20

"""`kragx score`: each option does what it says, and is recorded in the settings."""

from __future__ import annotations

import shlex

import pytest

from tests.thoroughness import some

# Of the gold's 5 words and 4 pairs the document (10 words, 9 pairs) holds 4 and 2: ROUGE-2 recall
# 2/4, precision 2/9, F 4/13; ROUGE-1 and ROUGE-L recall 4/5, precision 4/10, F 8/15.
WIND = (
    "north wind and the sun",
    "north wind and a storm came over the quiet hill",
)
CASES = ("North Wind and Sun", "the NORTH WIND AND SUN met")
LONGER = ("north wind", "the north wind blew")
SHORTER = ("the north wind blew", "north wind")


def pair(gold, doc):
    """A results file's line: one gold text, one retrieved text."""
    return {"query_id": "q", "gold": [{"text": gold}], "retrieved": [{"text": doc}]}


def hit(kragx, path, *options):
    """Whether the only document matches, and the match settings."""
    result = kragx("score", path, *options, "-m", "hit_rate", "--format", "json").json()
    return result["mean"]["hit_rate"] == 1.0, result["settings"]["match"]


@pytest.mark.parametrize(
    ("options", "expected"),
    some(
        [
            ("", False),  # five words are looked for as a phrase
            ("--match overlap --threshold 0.51", False),
            ("--match rouge2", False),
            ("--match rouge2 --threshold 0.3", True),
            ("--match rouge2 --threshold 0.31", False),
            ("--match '{method: rouge2, measure: recall}'", True),
            ("--match '{method: rouge2, measure: precision}'", False),
            ("--match '{method: rouge2, measure: precision}' --threshold 0.2", True),
            ("--match '{method: rouge2, measure: overlap}'", True),
            ("--match rouge1", True),
            ("--match '{method: rouge1, measure: precision}'", False),
            ("--match '{method: rouge1, measure: recall}' --threshold 0.8", True),
            ("--match rougeL", True),
            ("--match rougeL --threshold 0.6", False),
            ("--match exact", False),
            ("--match text", False),
            ("--match contains", False),
        ],
        4,
    ),
)
def test_match_measure_and_threshold(kragx, jsonl, options, expected):
    """--match and --threshold decide as the hand-made scores say."""
    assert hit(kragx, jsonl(pair(*WIND)), *shlex.split(options))[0] is expected


@pytest.mark.parametrize(
    ("options", "recorded"),
    [
        ("--match '{method: rouge1, measure: recall}'", {"method": "rouge1", "measure": "recall"}),
        ("--threshold 0.25", {"method": "overlap", "short": 5, "threshold": 0.25}),
        ("--match '{method: exact, casefold: true}'", {"method": "exact", "casefold": True}),
        ("--match contains", {"direction": "either", "casefold": False}),
    ],
)
def test_options_are_recorded(kragx, jsonl, options, recorded):
    """The settings hold the method and each option, given or default."""
    settings = hit(kragx, jsonl(pair(*WIND)), *shlex.split(options))[1]
    assert settings | recorded == settings


@pytest.mark.parametrize(
    ("name", "expected"),
    [("unicode", True), ("rouge", True), ("char", True), ("whitespace", False)],
)
def test_tokenizer(kragx, jsonl, name, expected):
    """A tokenizer chooses what is compared: only whitespace minds case here."""
    path = jsonl(pair(*CASES))
    is_hit, settings = hit(kragx, path, "--match", f"{{method: rouge2, tokenizer: {name}}}")
    assert is_hit is expected
    assert settings["tokenizer"]["name"] == name
    assert settings["tokenizer"]["version"]


@pytest.mark.parametrize(
    ("texts", "direction", "expected"),
    [
        (LONGER, "gold_in_document", True),
        (LONGER, "document_in_gold", False),
        (LONGER, "either", True),
        (SHORTER, "gold_in_document", False),
        (SHORTER, "document_in_gold", True),
        (SHORTER, "either", True),
    ],
)
def test_direction(kragx, jsonl, texts, direction, expected):
    """Its direction says which text must contain the other."""
    path = jsonl(pair(*texts))
    assert (
        hit(kragx, path, "--match", f"{{method: contains, direction: {direction}}}")[0] is expected
    )


@pytest.mark.parametrize("method", ["text", "contains", "exact"])
def test_casefold(kragx, jsonl, method):
    """Casefold makes exact, text and contains ignore case."""
    gold, doc = CASES if method != "exact" else (CASES[0], CASES[0].upper())
    path = jsonl(pair(gold, doc))
    assert hit(kragx, path, "--match", method)[0] is False
    assert hit(kragx, path, "--match", f"{{method: {method}, casefold: true}}")[0] is True


PARENTS = {
    "query_id": "q",
    "gold": [{"id": "page-1", "metadata": {"page": "p1"}}],
    "retrieved": [{"id": "chunk-7", "text": "x", "metadata": {"parent_id": "page-1", "p": "p1"}}],
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--match id", False),
        ("--match '{method: id, id_key: parent_id}'", True),
        ("--match '{method: id, id_key: metadata.parent_id}'", True),
        ("--match '{method: id, id_key: p, gold_id_key: page}'", True),
        ("--match '{method: id, id_key: p, gold_id_key: id}'", False),
        ("--match '{method: id, gold_id_key: page}'", False),
    ],
)
def test_id_keys(kragx, jsonl, options, expected):
    """id_key and gold_id_key say where the ids to compare are kept."""
    assert hit(kragx, jsonl(PARENTS), *shlex.split(options))[0] is expected


ANSWERED = pair("north wind and the sun", "north wind and the sun")
EMPTY = {"query_id": "empty", "gold": [], "retrieved": []}
TALKATIVE = {"query_id": "talkative", "gold": [], "retrieved": [{"text": "some words at all"}]}


@pytest.mark.parametrize(
    ("policy", "mean", "n_scored"),
    [(None, 1.0, 1), ("skip", 1.0, 1), ("zero", 1 / 3, 3), ("abstain", 2 / 3, 3)],
)
def test_no_gold(kragx, jsonl, policy, mean, n_scored):
    """--no-gold leaves queries without gold out, scores them 0, or rewards an empty answer."""
    options = () if policy is None else ("--no-gold", policy)
    path = jsonl(ANSWERED, EMPTY, TALKATIVE)
    result = kragx("score", path, *options, "-m", "mrr@5", "--format", "json").json()
    assert result["mean"]["mrr@5"] == pytest.approx(mean, abs=1e-12)
    assert (result["counts"]["n_scored"], result["counts"]["n_no_gold"]) == (n_scored, 2)
    deviations = {} if policy in (None, "skip") else {"no_gold": policy}
    assert result["settings"]["deviations"] == deviations


def test_no_gold_error(kragx, jsonl):
    """--no-gold error refuses a query without gold as bad data."""
    code, out, err = kragx("score", jsonl(ANSWERED, EMPTY), "--no-gold", "error")
    assert (code, out) == (3, "")
    assert "no gold" in err


def test_profile(kragx, jsonl):
    """--profile is recorded whole, with what metric strings and --no-gold changed of it."""
    args = ("--profile", "kragx", "-m", "f1@5(over=retrieved)", "--no-gold", "zero")
    settings = kragx("score", jsonl(ANSWERED), *args, "--format", "json").json()["settings"]
    assert settings["profile"]["name"] == "kragx"
    assert settings["profile"]["over"] == "k"
    assert settings["deviations"] == {
        "f1@5(over=retrieved)": {"over": "retrieved"},
        "no_gold": "zero",
    }
    table = kragx("score", jsonl(ANSWERED), *args).out
    assert "profile: kragx, with" in table


TOY = '''
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Generous:
    """Matches everything."""
    level: float = 1.0
    name = "generous"

    @property
    def threshold(self):
        return 0.5

    def scores(self, items, notes):
        for item in items:
            yield np.full((len(item.docs), len(item.targets)), self.level)

def letters(text):
    return list(text)
'''


def test_own_matcher_from_the_current_folder(kragx, jsonl, module):
    """A matcher is found by import path in the folder where kragx is started."""
    module("toy_matchers", TOY)
    is_hit, settings = hit(kragx, jsonl(pair("one", "other")), "--match", "toy_matchers:Generous")
    assert is_hit is True
    assert settings["method"] == "generous"


def test_own_tokenizer_from_the_current_folder(kragx, jsonl, module):
    """A tokenizer is found by import path in the folder where kragx is started."""
    module("toy_tokenizers", TOY)
    path = jsonl(pair("north", "northern"))
    assert hit(kragx, path, "--match", "{method: rouge1, tokenizer: 'toy_tokenizers:letters'}")[0]


TEMPLATE = "{} is open from {} to {}, and tickets cost {} crowns at the northern gate of the park."


@pytest.mark.integration
def test_what_a_warning_names_can_be_said_on_the_command_line(kragx, jsonl):
    """`--match` of `score` and `match` takes mappings, as configs do."""
    gold, sibling = (TEMPLATE.format(*words.split()) for words in ("Elm 8 17 20", "Oak 9 18 30"))
    docs = [{"text": sibling}, {"text": f"{sibling} Dogs are welcome."}]
    record = {"query_id": "q", "gold": [{"text": gold}], "retrieved": docs}
    path = jsonl(record)
    together = "{method: overlap, siblings: together}"
    args = ("score", path, "-m", "mrr", "--format", "json")
    assert kragx(*args).json()["mean"] == {"mrr": 0.0}
    assert kragx(*args, "--match", together).json()["mean"] == {"mrr": 1.0}
    assert kragx("match", path, "--match", together).json()["matched"] == [[True], [True]]
    lost = record | {"retrieved": [{"text": gold.replace(" ", "")}]}
    path = jsonl(lost, name="lost.jsonl")
    args = ("score", path, "-m", "mrr", "--format", "json")
    ignored = ("--match", "{method: overlap, tokenizer: {name: char, n: 3, spaces: ignored}}")
    assert kragx(*args).json()["mean"] == {"mrr": 0.0}
    assert kragx(*args, *ignored).json()["mean"] == {"mrr": 1.0}
    code, _, err = kragx(*args, "--match", "{name: char")
    assert (code, "--match {name: char: not a mapping as in YAML" in err) == (2, True)

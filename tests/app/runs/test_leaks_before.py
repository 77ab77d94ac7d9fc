"""What is said of leaks before the first question is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from kragx import Forbidden, Gold, GoldDataset, Query, UsageError
from kragx.app.config.loading import load
from kragx.app.preflight import check_gold, undecidable_with
from kragx.data.rules import RuleSet
from kragx.evaluation.leaks import may_leak
from kragx.metrics import parse

LISTED = (Forbidden(id="other", why="tenant"),)


def question(name: str, **options) -> Query:
    """One with gold."""
    return Query(name, name, (Gold(id="a"),), **options)


def config(jsonl, metrics: str, gate: str = ""):
    """A config with these metrics and a gate."""
    jsonl({"query_id": "q", "query": "q", "gold": [{"id": "a"}]}, name="gold.jsonl")
    jsonl({"query_id": "q", "retrieved": []})
    Path("kragx.yaml").write_text(
        "dataset: gold.jsonl\nretrievers: {mine: {results: results.jsonl}}\nmatch: id\n"
        f"metrics: [{metrics}]\n" + (f"gates: {{{gate}}}\n" if gate else ""),
        encoding="utf-8",
    )
    return load(Path("kragx.yaml"))


def test_how_many_questions_a_gate_needs(here, jsonl):
    """Of those that could leak, of the metric's kind: 368 without any leak are below 1 %."""
    n_listed = [question(f"q{at}", forbidden=LISTED) for at in range(300)]
    others = [question(f"r{at}", forbidden=()) for at in range(100)]
    dataset = GoldDataset((*n_listed, *others))
    asked = config(jsonl, "recall@10, leak@10", "leak@10: surely < 0.01")
    assert [*undecidable_with(asked, dataset)] == [
        "gates.leak@10: 'surely < 0.01' cannot be decided with 300 questions: even 0.0000 on each "
        "would only be surely at most 1.3%; 368 questions can"
    ]
    enough = GoldDataset(tuple(question(f"q{at}", forbidden=LISTED) for at in range(368)))
    assert not [*undecidable_with(asked, enough)]
    of_kind = config(jsonl, '"leak@10(kind=other)"', "leak@10(kind=other): surely < 0.5")
    (line,) = undecidable_with(of_kind, dataset)
    assert "cannot be decided with 0 questions" in line


def test_nothing_forbidden_is_said_before(here, jsonl):
    """And a kind that nothing has, with those that there are."""
    dataset = GoldDataset((question("q"), question("r", forbidden=LISTED)))
    with pytest.raises(UsageError, match="nothing is forbidden, so nothing can leak"):
        check_gold(config(jsonl, "leak@10"), GoldDataset((question("q"),)), ())
    with pytest.raises(UsageError, match=r"nothing is forbidden as 'tenants'.*'tenant'"):
        check_gold(config(jsonl, '"leak@10(kind=tenants)"'), dataset, ())
    check_gold(config(jsonl, '"leak@10(kind=tenant)", stale_first@3'), dataset, ())


def test_a_path_that_no_question_has(here, jsonl):
    """A rule that asks questions for a misspelt field is refused, with the nearest one."""
    rules = {"stale": {"metadata.valid_until": {"before": {"query": "metadata.askd_at"}}}}
    dataset = GoldDataset((question("q", metadata={"asked_at": "2026-01-01"}),), forbidden=rules)
    with pytest.raises(UsageError, match=r"no question has 'metadata\.askd_at'.*asked_at"):
        check_gold(config(jsonl, "leak@10"), dataset, ())


def test_which_questions_may_leak():
    """Those that list something, and those in which a rule finds all that it asks for."""
    tenant = {"metadata.tenant": {"not": {"query": "metadata.tenant"}}}
    rules = RuleSet.of({"tenant": tenant, "timezone": "Asia/Seoul"})
    everywhere = RuleSet.of({"retracted": {"metadata.retracted": {"is": True}}})
    bare, north = question("q"), question("n", metadata={"tenant": "north"})
    any_leak, of_tenant = parse("leak@3"), parse("leak@3(kind=tenant)")
    assert [may_leak(own, rules, any_leak) for own in (bare, north)] == [False, True]
    assert may_leak(bare, everywhere, any_leak)
    assert not may_leak(bare, everywhere, of_tenant)
    assert may_leak(question("l", forbidden=LISTED), RuleSet(), of_tenant)
    assert not may_leak(question("l", forbidden=()), RuleSet(), any_leak)
    assert may_leak(bare, RuleSet(), parse("stale_first@3"))

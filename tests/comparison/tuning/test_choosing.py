"""Which setting is taken, and what is said of it."""

from math import sqrt

import numpy as np
import pytest

from kragx.comparison import Settings
from kragx.comparison.tuning import Setting, SettingResult, drawn, halved, settings, tuned
from kragx.ground.printing.localisation import speaking
from tests.thoroughness import all_cases

RULES = "ndcg@10", Settings(resamples=1_000)


def tried(means, n=80, *, tokens=None, seconds=None, noise=0.05, seed=0, failed=()):
    """Settings a[x=0], a[x=1], ... whose questions have values around these means."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.1, n)
    return [
        SettingResult(
            setting,
            setting.name,
            np.clip(mean + hard + rng.normal(0, noise, n), 0, 1),
            None if tokens is None else tokens[place],
            None if seconds is None else seconds[place],
            "failed on 3 of 80 questions" if place in failed else "",
        )
        for place, (setting, mean) in enumerate(
            zip(settings("a", {"x": [*range(len(means))]}), means)
        )
    ]


def test_the_simplest_of_those_that_cannot_be_told_from_the_best():
    """The third is as good as the best with half the context; the first is cheaper and worse."""
    result = tuned(tried([0.3, 0.6, 0.6], tokens=[100, 900, 450]), *RULES)
    assert (result.verdict, result.take) in {("simplest", "a[x=2]"), ("best", "a[x=2]")}
    assert [own.name for own in result.settings if own.told_apart] == ["a[x=0]"]
    assert result.n_candidates == 2
    assert result.sentence.startswith("Take a[x=2]: the ")
    assert "on the 40 questions that chose" in result.sentence
    assert "on the 40 held out" in result.sentence


@all_cases(
    ("tokens", "seconds", "taken"),
    [
        ([900, 450, 800], None, "a[x=1]"),  # less context
        ([450, 460, 455], [0.2, 0.1, 0.3], "a[x=1]"),  # about as much: less time
        ([450, 460, 455], [0.0102, 0.0100, 0.0101], "a[x=0]"),  # about as fast: the grid's order
        (None, [0.3, 0.2, 0.1], "a[x=2]"),  # texts are not known
        ([None, 2, 3], [None, 1.0, 1.0], "a[x=0]"),  # known of some alone: nothing follows
    ],
)
def test_simple_is_less_context_then_less_time_then_the_order(tokens, seconds, taken):
    """Five per cent, and a millisecond, are no difference."""
    result = tuned(tried([0.5] * 3, tokens=tokens, seconds=seconds), *RULES)
    assert result.take == taken


def test_nothing_told_apart_says_that_it_cannot_tell():
    """The simplest is named, with what it may cost."""
    result = tuned(tried([0.5] * 4, tokens=[4, 3, 2, 1]), *RULES)
    assert result.verdict == "open"
    assert result.sentence.startswith("Cannot tell: on 40 questions none of 4 settings")
    assert result.take == "a[x=3]"


def test_so_few_questions_choose_nothing():
    """Of eight questions, four to choose by, no difference could be told: nothing is taken."""
    result = tuned(tried([0.1, 0.9], n=8), *RULES)
    assert (result.verdict, result.take) == ("too_few", None)
    assert result.sentence == ("Cannot tell: too few questions to choose by for any difference, 4.")


def test_the_best_that_nothing_comes_near():
    """Told apart from every other, and said so."""
    result = tuned(tried([0.2, 0.3, 0.8], tokens=[1, 2, 3]), *RULES)
    assert (result.verdict, result.take) == ("best", "a[x=2]")
    assert "told apart from every other" in result.sentence


def test_what_failed_neither_wins_nor_vanishes():
    """The best one crashed: another is taken, and the crashed one stands in the table with why."""
    result = tuned(tried([0.3, 0.5, 0.9], tokens=[1, 2, 3], failed=[2]), *RULES)
    assert result.take == "a[x=1]"
    assert result.settings[-1].failed == "failed on 3 of 80 questions"
    assert result.settings[-1].mean is None
    assert "✗ failed" in str(result)
    assert tuned(tried([0.5, 0.6], failed=[0, 1]), *RULES).verdict == "none"


def test_what_failed_is_neither_told_apart_nor_counted():
    """Of those that did not fail none is told apart, or only one is left: the sentence says so."""
    result = tuned(tried([0.5] * 3, tokens=[3, 2, 1], failed=[2]), *RULES)
    assert (result.verdict, result.take) == ("open", "a[x=1]")
    assert "none of 2 settings is told from the best" in result.sentence
    assert result.sentence.endswith("1 setting failed, and is not compared.")
    result = tuned(tried([0.3, 0.5, 0.9], failed=[0, 2]), *RULES)
    assert (result.verdict, result.take) == ("only", "a[x=1]")
    assert result.sentence.startswith("Take a[x=1]: no other can be compared. ndcg@10: ")
    assert result.sentence.endswith("2 settings failed, and are not compared.")
    assert (result.n_settings, result.n_failed) == (3, 2)


@pytest.mark.parametrize(
    ("said", "shift"),
    [("the same mean as", 0.0), ("0.0100 behind", -0.01), ("0.0100 ahead of", 0.01)],
)
def test_what_the_other_half_says_of_the_simpler_one(said, shift):
    """That it is behind, ahead, or neither: equal means are no lead of anybody's."""
    best = np.tile([0.4, 0.6], 40)
    simple = best - np.tile([0.0, 0.0, 0.2, -0.19], 20)
    order = np.arange(80)
    halves = order[:40], order[40:]
    simple[40:] = best[40:] + shift + np.tile([0.2, -0.2], 20)
    one, other = settings("a", {"x": [0, 1]})
    pair = [SettingResult(one, one.name, simple, 10), SettingResult(other, other.name, best, 20)]
    result = tuned(pair, *RULES, halves=halves)
    assert (result.verdict, result.take, result.best) == ("open", "a[x=0]", "a[x=1]")
    assert f"There it {'has' if not shift else 'is'} {said} a[x=1]" in result.sentence


def test_one_setting():
    """Nothing to choose: it is taken, with its number on both halves."""
    result = tuned(tried([0.5]), *RULES)
    assert (result.verdict, result.take) == ("only", "a[x=0]")
    assert "no other can be compared" in result.sentence
    assert tuned([], *RULES).verdict == "none"


def test_ties_go_to_the_first_of_the_grid():
    """Settings with the same values, sizes and times: the grid's order decides."""
    same = np.tile([0.0, 1.0], 40)
    result = tuned(
        [SettingResult(own, own.name, same) for own in settings("a", {"x": [3, 1, 2]})], *RULES
    )
    assert result.take == "a[x=3]"


def test_a_simpler_one_that_the_other_half_refutes_is_not_taken():
    """As good on the half that chooses, far behind on the other: the best is taken, and why."""
    n = 80
    rng = np.random.default_rng(3)
    held = halved(drawn([None] * n, 0), [None] * n)[1]
    best = rng.random(n) * 0.2 + 0.6
    simple = best - 0.005 * rng.random(n) * rng.choice([-1, 1.2], n)
    simple[held] -= 0.4
    one, other = settings("a", {"x": [0, 1]})
    result = tuned(
        [SettingResult(one, one.name, simple, 10), SettingResult(other, other.name, best, 20)],
        *RULES,
    )
    assert (result.verdict, result.take) == ("refuted", "a[x=1]")
    assert "could not be told from it on the former" in result.sentence


def test_lower_may_be_better():
    """Of a metric that should be small the smallest value is the best."""
    result = tuned(tried([0.2, 0.6]), "redundancy@10", Settings(resamples=500))
    assert result.take == "a[x=0]"
    assert result.settings[0].name == "a[x=0]"


def test_the_front_is_what_nothing_beats_in_all():
    """A setting that is worse and costs more is off it; the cheapest and the best are on it."""
    result = tuned(tried([0.3, 0.8, 0.5, 0.25], tokens=[100, 900, 950, 300], noise=0.001), *RULES)
    assert {own.name for own in result.settings if own.on_front} == {"a[x=0]", "a[x=1]"}


def test_curves_are_means_over_the_rest_of_the_grid():
    """By hand: the effect of each axis alone."""
    effects = {(1, 5): 0.2, (1, 9): 0.4, (2, 5): 0.5, (2, 9): 0.9}
    own = [
        SettingResult(
            setting, setting.name, np.full(40, effects[setting.values["c"], setting.values["k"]])
        )
        for setting in settings("a", {"c": [1, 2], "k": [5, 9]})
    ]
    curves = {curve.label: curve for curve in tuned(own, *RULES).curves}
    assert [point.mean for point in curves["a: c"].points] == pytest.approx([0.3, 0.7])
    assert [point.n_settings for point in curves["a: c"].points] == [2, 2]
    assert [point.mean for point in curves["a: k"].points] == pytest.approx([0.35, 0.65])
    assert len(curves) == 2


def test_a_failed_setting_leaves_its_counterparts_out_of_the_curve():
    """Points of a curve differ by the axis alone: what has no counterpart takes no part."""
    grid = settings("a", {"c": [1, 2], "k": [5, 9]})
    own = [
        SettingResult(setting, setting.name, np.full(40, 0.5), failed="it" if place == 3 else "")
        for place, setting in enumerate(grid)
    ]
    curves = {curve.label: curve for curve in tuned(own, *RULES).curves}
    assert [point.n_settings for point in curves["a: c"].points] == [1, 1]


def test_questions_without_a_value_are_left_out_of_all():
    """A question that one setting has no value for decides nothing."""
    own = tried([0.5, 0.6])
    own[0].scores[:20] = np.nan
    result = tuned(own, *RULES)
    assert result.n_choosing + result.n_held_out == 60


def test_two_retrievers_share_one_family():
    """Grids of two retrievers, and one without a grid, are held against each other."""
    rng = np.random.default_rng(0)
    everyone = [*settings("a", {"x": [1, 2]}), *settings("b", {"y": [1, 2]}), Setting("plain")]
    own = [SettingResult(one, one.name, rng.random(60)) for one in everyone]
    result = tuned(own, *RULES)
    assert {one.of for one in result.settings} == {"a", "b", "plain"}
    assert {curve.of for curve in result.curves} == {"a", "b"}


@pytest.mark.parametrize("means", [[0.3, 0.6, 0.6], [0.5] * 4, [0.2, 0.3, 0.8], [0.5]])
def test_the_answer_is_said_in_korean(means):
    """The sentence and the table speak Korean where they are asked to, and JSON stays English."""
    result = tuned(tried(means, tokens=[3, 9, 4, 5]), *RULES)
    with speaking("ko"):
        said = str(result)
    assert "Take" not in said
    assert "Cannot tell" not in said
    assert "남겨 둔 질문" in said
    assert "questions that chose" in result.to_dict()["sentence"]


@pytest.mark.integration
def test_the_number_on_questions_held_out_is_not_too_good():
    """Of 20 equal settings the chosen one looks good where it was chosen, and not where it was not.

    The winner's curse is there to be seen on the one half, and gone on the other.
    """
    chosen, held = [], []
    for trial in range(150):
        rng = np.random.default_rng(trial)
        grid = settings("a", {"x": [*range(20)]})
        own = [
            SettingResult(one, one.name, rng.random(60), tokens=float(rng.random())) for one in grid
        ]
        result = tuned(own, "ndcg@10", Settings(resamples=200, seed=trial))
        best = result.settings[0]
        chosen.append(best.mean - 0.5)
        held.append(best.held_out - 0.5)
    noise = sqrt(1 / 12 / 30 / 150)
    assert np.mean(chosen) > 10 * noise
    assert abs(np.mean(held)) < 4 * noise

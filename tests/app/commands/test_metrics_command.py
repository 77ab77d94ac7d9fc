"""`kragx metrics`, `kragx --version`, `kragx --help`: what the command says about itself."""

from __future__ import annotations

import json
import re
from importlib.metadata import version

import pytest

from kragx.matchers import METHODS
from kragx.metrics import METRICS, PROFILES, parse
from kragx.metrics.profiles import NO_GOLD

FIELDS = {"name", "question", "options", "range", "direction"}


def test_json(kragx):
    """The JSON lists every metric with question, options, range and direction."""
    rows = kragx("metrics", "--format", "json").json()
    assert [row["name"] for row in rows] == list(METRICS)
    for row in rows:
        assert set(row) >= FIELDS
        assert row["question"].endswith("?")
        if METRICS[row["name"]].from_matches is not None:
            assert row["range"] == [0.0, None if row["name"] == "hits" else 1.0]
            directions = {"redundancy": "lower", "rbp_residual": "neither"}
            assert row["direction"] == directions.get(row["name"], "higher")
        else:
            assert row["range"][0] == 0.0
            assert row["direction"] in ("higher", "lower", "neither")


def test_listed_options_are_accepted(kragx):
    """Every option and value that the list shows can be written in a metric string."""
    written = [
        f"{row['name']}{cut}({option.split('=')[0]}={'2' if value == 'x' else value}"
        f"{', of=all' if value == 'chain' else ''})"  # an order is one of all searches
        for row in kragx("metrics", "--format", "json").json()
        for cut in ["@5" if METRICS[row["name"]].cuts else ""]
        for option in row["options"]
        for value in option.split("=")[1].split("|")
    ]
    assert len(written) > len(METRICS)
    for text in written:
        assert parse(text).name in METRICS


def names(table):
    """The first cells of a table's rows."""
    cells = [line.split("│")[1].strip() for line in table.splitlines() if line[:1] == "│"]
    return [cell for cell in cells if cell]


def test_table(kragx):
    """The table of all names every metric with its question and the better direction."""
    code, out, err = kragx("metrics", "--all")
    assert (code, err) == (0, "")
    assert names(out) == list(METRICS)
    for metric in METRICS.values():
        assert metric.question in out
    assert "better" in out


def test_in_korean(kragx):
    """In the language of results: questions, formulas and heads; names and options stay."""
    out = kragx("--language", "ko", "metrics", "--all").out
    assert names(out) == list(METRICS)
    assert "처음 찾은 답이 몇 위인가?" in out
    assert not [metric.name for metric in METRICS.values() if metric.question in out]


def test_the_common_ones(kragx):
    """By default the seven and a few others stand there, and how many there are besides."""
    out = kragx("metrics").out
    assert names(out)[:7] == ["hit_rate", "mrr", "precision", "recall", "f1", "map", "ndcg"]
    assert len(names(out)) < 12
    assert f"{len(METRICS) - len(names(out))} more metrics: kragx metrics --all" in out


def test_some_by_name(kragx):
    """However they are written; an unknown one is an error."""
    out = kragx("metrics", "nDCG@10", "recall").out
    assert names(out) == ["ndcg", "recall"]
    assert "more metrics" not in out
    plain = json.loads(kragx("metrics", "ndcg_cut_10", "--format", "json").out)
    assert [metric["name"] for metric in plain] == ["ndcg"]
    outcome = kragx("metrics", "foo")
    assert (outcome.code, outcome.out) == (2, "")
    assert "metric 'foo': unknown name 'foo'" in outcome.err


def test_what_few_need_stands_under_heads(kragx):
    """The help of `run` has the common options first, then those of CI and scale."""
    shown = kragx("run", "--help").out
    heads = ["Options:", "In CI:", "At scale:"]
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)
    for option, place in (("--set", 0), ("--junit", 1), ("--workers", 2)):
        end = [*places, len(shown)][place + 1]
        assert places[place] < shown.index(f"  {option} ") < end


def test_table_shows_how_to_write_a_metric(kragx):
    """The examples below the table are metrics that parse."""
    text = kragx("metrics").out.split("Write ", maxsplit=1)[1]
    examples = text.split(":", maxsplit=1)[1].split(".\n", maxsplit=1)[0].split(", ")
    assert len(examples) > 2
    assert [str(parse(example.strip())) for example in examples] == [e.strip() for e in examples]


def test_version(kragx):
    """--version prints the installed version."""
    assert kragx("--version") == (0, f"kragx {version('kragx')}\n", "")


@pytest.mark.parametrize("args", [(), ("--help",)])
def test_help(kragx, args):
    """`kragx` alone shows the help: every command with a line about it."""
    outcome = kragx(*args)
    assert outcome.code == (0 if args else 2)
    shown = outcome.out + outcome.err
    for command in ("run", "score", "match", "metrics"):
        assert f"\n  {command} " in shown


def test_help_is_a_road_on_one_screen(kragx):
    """The help names what one does first, then what that rests on, in one screen."""
    shown = kragx("--help").out
    assert len(shown.splitlines()) <= 32
    assert max(map(len, shown.splitlines())) <= 80
    heads = ["The road:", "What the numbers rest on:", "To look up:"]
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)
    road = [line.split()[0] for line in shown[places[0] : places[1]].splitlines()[1:] if line]
    assert road == ["init", "run", "score", "report", "explain", "compare", "diff", "history"]
    for group in ("gold", "threshold", "judge"):
        assert places[1] < shown.index(f"\n  {group} ") < places[2]


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        (("score",), "--match", METHODS),
        (("match",), "--match", METHODS),
        (("explain",), "--match", METHODS),
        (("threshold", "sweep"), "--match", METHODS),
        (("score",), "--profile", PROFILES),
        (("score",), "--no-gold", NO_GOLD),
    ],
)
def test_help_names_every_choice(kragx, command, option, names):
    """What an option takes stands in its help, as the registries have it."""
    shown = kragx(*command, "--help").out
    help_of_option = re.split(r"\n  (?=-)", shown[shown.index(f"  {option} ") :])[0]
    assert set(names) <= set(re.split(r"[^\w-]+", help_of_option))
    assert "$" not in shown


@pytest.mark.parametrize("command", ["run", "score", "match", "metrics"])
def test_help_of_a_command(kragx, command):
    """Each command explains itself and exits 0."""
    code, out, err = kragx(command, "--help")
    assert (code, err) == (0, "")
    assert f"kragx {command} [OPTIONS]" in out


def test_unknown_command(kragx):
    """An unknown command is wrong use, and the nearest command is named."""
    code, out, err = kragx("scores")
    assert (code, out) == (2, "")
    assert "'score'" in err
    assert "Traceback" not in err

"""`kragx.app.config.load`: every mistake at once, each with its YAML path and the remedy."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time

import pytest
import yaml
from hypothesis import given, strategies as st

from kragx.app.config import filled, load, match_spec
from kragx.errors import ConfigError, DataError, UsageError
from kragx.ground.plugins import data_alone, variables, with_variables
from kragx.metrics import DEFAULT_METRICS
from tests.thoroughness import some

GOOD = """
dataset: gold.jsonl
retrievers:
  mine: {results: results.jsonl}
"""


@pytest.fixture
def loaded(tmp_path):
    """Load a text as a config file in the test's own folder."""

    def call(text):
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return call


@pytest.fixture
def problems(loaded):
    """The problems of a config that must not load."""

    def call(text):
        with pytest.raises(ConfigError) as caught:
            loaded(text)
        for problem in caught.value.problems:
            assert problem in str(caught.value)
        return list(caught.value.problems)

    return call


@pytest.mark.parametrize(
    ("text", "path", "nearest"),
    [
        (GOOD + "metric: [mrr@5]", "metric", "'metrics'"),
        (GOOD + "matcher: id", "matcher", "'match"),
        (GOOD + "outptu: here", "outptu", "'output'"),
        (GOOD.replace("gold.jsonl", "{path: g, nmae: x}"), "dataset.nmae", "'name'"),
        (GOOD.replace("results:", "result:"), "retrievers.mine.result", "'results'"),
        (GOOD.replace("results:", "clas:"), "retrievers.mine.clas", "'class'"),
        (GOOD + "match: {method: overlap, treshold: 0.4}", "match.treshold", "'threshold'"),
        (GOOD + "match: {method: overlp}", "match", "'overlap'"),
        (GOOD + "match: rougeM", "match", "'rouge"),
        (GOOD + "match: {methd: id}", "match", "method"),
        (GOOD + "matchers: {a: {method: id, id_kye: x}}", "matchers.a.id_kye", "'id_key'"),
        (GOOD + "matchers: {a: exakt}", "matchers.a", "'exact'"),
        (GOOD + "metrics: [mrr@5, ndgc@5]", "metrics[1]", "'ndcg'"),
        (GOOD + "metrics: recal@5", "metrics[0]", "'recall'"),
        (GOOD + "metrics: ['ndcg(gain=exp)']", "metrics[0]", "'exp2'"),
        (GOOD + "profile: kragxx", "profile", "'kragx'"),
        (GOOD + "no_gold: skp", "no_gold", "'skip'"),
        (GOOD + "match: {method: id, threshold: 0.5}", "match.threshold", "rouge2"),
        (GOOD + "match: {method: rouge1, threshold: 2}", "match.threshold", "at most 1"),
    ],
)
def test_one_mistake(problems, text, path, nearest):
    """A mistake is named by its YAML path with the nearest valid name or the remedy."""
    hits = [p for p in problems(text) if p.startswith(f"{path}:") and nearest in p]
    assert len(hits) == 1, problems(text)


def test_tuning_without_a_grid(problems, loaded):
    """What is said of grids where there is none is a mistake; a grid of either kind is one."""
    (problem,) = problems(GOOD + "tuning: {metric: mrr@5}")
    assert problem.startswith("tuning: there is no grid")
    grid = "match: {method: overlap, grid: {threshold: [0.4, 0.5]}}"
    assert loaded(f"{GOOD}tuning: {{max_settings: 5}}\n{grid}").tuning.max_settings == 5


@pytest.mark.parametrize(
    ("retriever", "problem"),
    [
        ("{url: 'http://localhost/s'}", "url: unknown key; write it under 'http'"),
        ("{cwd: x}", "cwd: unknown key; write it under 'command'"),
    ],
)
def test_where_an_option_of_a_retriever_stands(problems, retriever, problem):
    """What is an option of a server or program says that it stands in that."""
    (text,) = problems(f"dataset: gold.jsonl\nretrievers: {{mine: {retriever}}}\n")
    assert text.startswith(f"retrievers.mine.{problem}")


def test_names_that_yaml_reads_as_numbers(loaded, problems):
    """A number may be the name of a retriever or matcher; nothing is no name."""
    text = "dataset: g.jsonl\nretrievers: {1: r.jsonl, 2: s.jsonl}\n"
    config = loaded(f"{text}baseline: 2\nmatchers: {{1: overlap, 2: exact}}\n")
    assert [*config.retrievers] == [*config.named_matchers] == ["1", "2"]
    assert config.baseline == "2"
    for name in ("retrievers", "matchers"):
        parts = {"retrievers": {"a": "r.jsonl"}, name: {" ": "exact"}}
        assert problems(yaml.safe_dump({"dataset": "g.jsonl", **parts})) == [
            f"{name}: a name is empty"
        ]


def test_all_mistakes_at_once(problems):
    """Mistakes at every level are all listed, each once."""
    lines = problems(
        """
        dataset: {path: gold.jsonl, nmae: x}
        retrievers:
          a: {clas: 'm:x'}
          b: {class: 'm:x', results: r.jsonl}
          c: {results: r.jsonl, args: {k: 1}}
          d: {results: r.jsonl, concurrency: 0}
        match: {method: overlap, treshold: 0.5}
        metrics: [mrr@5, ndgc@10, recall@0]
        profile: kragxx
        no_gold: never
        outptu: ${KRAGX_TEST_UNSET}
        """
    )
    paths = [problem.split(":", maxsplit=1)[0] for problem in lines]
    assert len(set(lines)) == len(lines)
    assert set(paths) == {
        "dataset.nmae",
        "retrievers.a.clas",
        "retrievers.b",
        "retrievers.c",
        "retrievers.d.concurrency",
        "match.treshold",
        "metrics[1]",
        "metrics[2]",
        "profile",
        "no_gold",
        "outptu",
    }


@pytest.mark.parametrize("key", ["match", "matchers.loose"])
@pytest.mark.parametrize(
    ("tokenizer", "hint"),
    [("unicod", "'unicode'"), ("{name: char, m: 2}", "valid: n"), ("{name: char, n: 0}", "0")],
)
def test_mistake_in_a_tokenizer(problems, key, tokenizer, hint):
    """A mistake in a matcher's tokenizer is named by a YAML path that reaches the tokenizer."""
    spec = f"{{method: rouge1, tokenizer: {tokenizer}}}"
    text = f"match: {spec}" if key == "match" else f"matchers: {{loose: {spec}}}"
    (problem,) = problems(GOOD + text)
    assert problem.startswith(f"{key}.tokenizer")
    assert hint in problem


def test_two_mistakes_in_one_match(problems):
    """Two unknown options of one match are both listed."""
    paths = {
        problem.split(":", maxsplit=1)[0]
        for problem in problems(GOOD + "match: {method: rouge2, treshold: 0.5, mesure: recall}")
    }
    assert paths == {"match.treshold", "match.mesure"}


@pytest.mark.parametrize("key", ["dataset", "retrievers"])
def test_what_is_required(problems, key):
    """A missing 'dataset' or 'retrievers' is named."""
    other = {"dataset": "retrievers: {a: {results: r}}", "retrievers": "dataset: g"}[key]
    assert problems(other) == [f"{key}: missing; it is required"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (GOOD.replace("results: results.jsonl", ""), "retrievers.mine"),
        (GOOD.replace("{results:", "{class: 'm:x', results:"), "retrievers.mine"),
        ("dataset: g\nretrievers: {}", "retrievers"),
        ("dataset: g\nretrievers: [a]", "retrievers"),
        ("dataset: g\nretrievers: {a: 5}", "retrievers.a"),
        ("dataset: 5\nretrievers: {a: {results: r}}", "dataset"),
        (GOOD + "metrics: []", "metrics"),
        (GOOD + "metrics: [5]", "metrics[0]"),
        (GOOD + "metrics: 5", "metrics"),
        (GOOD + "matchers: {}", "matchers"),
        (GOOD + "matchers: [id]", "matchers"),
        (GOOD + "match: 5", "match"),
        (GOOD + "match: [id]", "match"),
        (GOOD + "match: {method: [id]}", "match"),
        (GOOD + "metrcis:", "metrcis"),
        (GOOD + "5: x", "5"),
        (GOOD + "profile: [1]", "profile"),
        (GOOD + "profile: {a: 1}", "profile"),
        (GOOD + "output: [1]", "output"),
    ],
)
def test_wrong_shapes(problems, text, path):
    """A value of the wrong shape, an empty one, or two sources at once is one named problem."""
    lines = problems(text)
    assert {problem.split(":", maxsplit=1)[0] for problem in lines} == {path}


def test_match_and_matchers(problems):
    """`match` and `matchers` exclude one another, and the message names both."""
    (problem,) = problems(GOOD + "match: id\nmatchers: {a: id}")
    assert "'match'" in problem
    assert "'matchers'" in problem


# Twenty lines, each ten times the line before.
BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20)
)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "'dataset'"),
        ("# nothing\n", "'dataset'"),
        ("- a\n- b\n", "'dataset'"),
        ("just words", "'dataset'"),
        ("dataset: [1, 2", "not valid YAML"),
        ("dataset: g\n\tretrievers: {}", "not valid YAML"),
        ("dataset: !!python/name:os.system", "not valid YAML"),
        ("dataset: {path: g, version: 2026-13-01}", "column 29: '2026-13-01' is no timestamp"),
        ("dataset: !!int one", "line 1, column 10: 'one' is no int"),
        ("dataset: " + "[" * 1000, "nested too deeply"),
        ("- " * 5000 + "x", "nested too deeply"),
        ("dataset: &all [*all]", "with what aliases repeat"),
        (BOMB, "more than 100000 values, with what aliases repeat"),
        ("dataset: g\ndataset: h\n", "'dataset' stands twice"),
        ("dataset: g\nretrievers:\n  a: {results: r}\n  a: {results: s}\n", "'a' stands twice"),
        (GOOD + "match: {method: id, method: exact}", "'method' stands twice"),
    ],
)
def test_not_a_config(problems, text, hint):
    """What is no mapping, no YAML, or holds a key twice is one problem that says so."""
    (problem,) = problems(text)
    assert hint in problem


def test_line_of_a_duplicate_key(problems):
    """A duplicate key is shown with its line."""
    (problem,) = problems("dataset: g\nretrievers: {}\ndataset: h\n")
    assert "line 3" in problem


def test_yaml_merge_keys(loaded):
    """YAML's anchors and merge keys work, and a key beside a merge overrides it."""
    config = loaded(
        """
        dataset: gold.jsonl
        retrievers:
          a: &a {class: 'm:x', args: {k: 1}, concurrency: 3}
          b: {<<: *a, args: {k: 2}}
        """
    )
    assert config.retrievers["b"].class_ == "m:x"
    assert config.retrievers["b"].args == {"k": 2}
    assert config.retrievers["b"].options["concurrency"] == 3


def test_missing_file(tmp_path):
    """A config file that cannot be read is bad data, and is named."""
    with pytest.raises(DataError, match=re.escape("none.yaml: cannot be read")):
        load(tmp_path / "none.yaml")


def test_not_utf8(tmp_path):
    """A config file in a Korean code page is bad data with the remedy."""
    (tmp_path / "c.yaml").write_bytes("dataset: 정답.jsonl".encode("cp949"))
    with pytest.raises(DataError, match="not UTF-8"):
        load(tmp_path / "c.yaml")


def test_byte_order_mark(tmp_path):
    """A byte order mark, as Windows editors write it, is passed over."""
    (tmp_path / "c.yaml").write_text(GOOD, encoding="utf-8-sig")
    assert load(tmp_path / "c.yaml").dataset.path == tmp_path.resolve() / "gold.jsonl"


def test_relative_paths(loaded, tmp_path, monkeypatch):
    """Relative paths start at the config file's folder, wherever kragx is started."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    config = loaded(GOOD.replace("gold.jsonl", "../data/gold.jsonl") + "output: out")
    here = tmp_path.resolve()
    assert config.dataset.path == here.parent / "data" / "gold.jsonl"
    assert config.retrievers["mine"].results == here / "results.jsonl"
    assert config.output == here / "out"


def test_the_judges_files(loaded, tmp_path, monkeypatch):
    """The judge's store and rubric, too, start at the config file's folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    rubric = "{id: ours, asks: relevance, instruction: Grade., grades: {0: useless, 1: useful}}"
    (tmp_path / "ours.yaml").write_text(rubric, "utf-8")
    config = loaded(GOOD + "match: llm\njudge: {model: x, store: kept.db, rubric: ours.yaml}")
    here = tmp_path.resolve()
    assert config.judge["rubric"] == str(here / "ours.yaml")
    assert config.judge["store"] == str(here / "kept.db")


def test_a_header_whose_variable_is_empty(problems, monkeypatch):
    """It is set, and yet there is nothing to send: the variable is named, and not its value."""
    monkeypatch.setenv("KRAGX_TEAM", " ")
    (problem,) = problems(GOOD + 'judge: {model: m, headers: {X-Team: "${KRAGX_TEAM}"}}')
    assert problem == (
        "judge.headers.X-Team: no text of printable ASCII; set the environment variable: "
        "${KRAGX_TEAM} is empty"
    )


def test_absolute_paths(loaded, tmp_path):
    """An absolute path stays as it is."""
    absolute = (tmp_path / "x" / "gold.jsonl").as_posix()
    assert loaded(GOOD.replace("gold.jsonl", absolute)).dataset.path == Path(absolute)


def test_home(loaded, monkeypatch, tmp_path):
    """`~` is the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    config = loaded(GOOD.replace("gold.jsonl", "~/gold.jsonl"))
    assert config.dataset.path == tmp_path / "home" / "gold.jsonl"


def test_here_and_variables(loaded, tmp_path, monkeypatch):
    """${here} is the config file's folder and ${NAME} an environment variable, at any depth.

    Variables in `args` are put in only when the retriever is made.
    """
    monkeypatch.setenv("KRAGX_TEST_MODEL", "small")
    config = loaded(
        """
        dataset: gold.jsonl
        retrievers:
          a:
            class: m:x
            args:
              corpus: ${here}/corpus.jsonl
              deep: [{model: "${KRAGX_TEST_MODEL}-v${KRAGX_TEST_MODEL}"}]
              price: 5$ {plain}
        """
    )
    assert filled(config.retrievers["a"].args) == {
        "corpus": f"{tmp_path.resolve()}/corpus.jsonl",
        "deep": [{"model": "small-vsmall"}],
        "price": "5$ {plain}",
    }


NOT_SET = "{}: the environment variable 'KRAGX_NOT_SET' is not set"


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("judge: {model: m, headers: {X-Title: VALUE}}", "judge.headers.X-Title"),
        ("judge: {model: VALUE}", "judge.model"),
        ("judge: {model: m, temperature: VALUE}", "judge.temperature"),
        ("match: {method: llm, judge: {model: VALUE}}", "match.judge.model"),
        ("match: {method: llm, judge: {model: m, base_url: VALUE}}", "match.judge.base_url"),
        ("match: VALUE", "match"),
        ("match: {method: overlap, threshold: VALUE}", "match.threshold"),
        ("matchers: {one: VALUE, two: id}", "matchers.one"),
        ("metrics: [mrr@5, VALUE]", "metrics[1]"),
        ("metrics: ['mrr@5(rel=VALUE)']", "metrics[0]"),
        ("profile: VALUE", "profile"),
        ("baseline: VALUE", "baseline"),
        ("budget_tokenizer: VALUE", "budget_tokenizer"),
        ("max_failed: VALUE", "max_failed"),
    ],
)
def test_a_variable_that_is_not_set(problems, line, field):
    """It is named with its place; whatever else is wrong is said as before."""
    text = GOOD + line.replace("VALUE", '"${KRAGX_NOT_SET}"')
    if "rel=" in line:
        text = GOOD + line.replace("VALUE", "${KRAGX_NOT_SET}")
    assert NOT_SET.format(field) in problems(text)
    assert NOT_SET.format(field) in (
        others := problems(text + "\ngates: {mrrr@5: '> 0'}\nwrong: 1")
    )
    assert any(own.startswith("wrong: unknown key") for own in others)


def test_a_neighbour_of_a_variable_that_is_not_set(problems):
    """What is wrong beside it, or in what holds it, is said at the same time."""
    assert problems(GOOD + 'judge: {model: "${KRAGX_NOT_SET}", modle: m}') == [
        NOT_SET.format("judge.model"),
        "judge.modle: unknown option; perhaps you meant 'model'?",
    ]


def test_a_match_with_a_variable_that_is_not_set(tmp_path):
    """On the command line and in its file it is named; it is not taken for an empty text."""
    with pytest.raises(UsageError, match=re.escape(NOT_SET.format("--match.args.n"))):
        match_spec("{method: 'm:X', args: {n: '${KRAGX_NOT_SET}'}}")
    (tmp_path / "match.yaml").write_text("match: ${KRAGX_NOT_SET}", encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(NOT_SET.format("--match"))):
        match_spec(str(tmp_path / "match.yaml"))


@pytest.mark.parametrize("name", ["match", "facts_match", "relevance_match"])
def test_a_judge_of_its_own(loaded, name):
    """A matcher names its judge itself, where the config has none."""
    spec = f"{name}: {{method: llm, judge: {{model: m}}, threshold: 3}}"
    assert loaded(GOOD + spec).judge is None


@given(st.text("${}ab", max_size=12))
def test_what_is_a_variable(text):
    """The names are those between each `${` and the next `}`, and all else stays as it is."""
    pattern = re.compile(r"\$\{([^}]*)\}")
    assert variables(text) == pattern.findall(text)
    assert with_variables(text, lambda name: f"<{name[1]}>") == pattern.sub(r"<\1>", text)


@pytest.mark.parametrize("part", some(["${", "a", "a1.", "://a:", "m.", "1"], 3))
def test_long_words(loaded, monkeypatch, part):
    """A long value takes time in proportion to its length, and stays as it is."""
    text = part * (60_000 // len(part))
    monkeypatch.setenv("KRAGX_LONG", text)
    started = process_time()
    config = loaded(
        f"""
        dataset: gold.jsonl
        retrievers:
          a: {{class: "m:x", args: {{text: "{text}", key: "${{KRAGX_LONG}}"}}}}
        """
    )
    with data_alone(text):
        pass
    assert process_time() - started < 3
    assert filled(config.retrievers["a"].args) == {"text": text, "key": text}


def test_secrets_stay_variables(loaded, monkeypatch):
    """A variable in `args` is never written out: the resolved config holds its name."""
    monkeypatch.setenv("KRAGX_TEST_KEY", "not-for-files")
    config = loaded(
        """
        dataset: gold.jsonl
        retrievers: {a: {class: "m:x", args: {key: "${KRAGX_TEST_KEY}"}}}
        """
    )
    assert config.resolved()["retrievers"]["a"]["args"] == {"key": "${KRAGX_TEST_KEY}"}


def test_unset_variable(problems, monkeypatch):
    """Every unset variable is named with its YAML path."""
    monkeypatch.delenv("KRAGX_TEST_NONE", raising=False)
    lines = problems(
        """
        dataset: gold.jsonl
        retrievers:
          a: {class: 'm:x', args: {keys: [ok, "${KRAGX_TEST_NONE}"]}}
        output: ${KRAGX_TEST_NONE}/out
        """
    )
    assert [problem.split(":")[0] for problem in lines] == ["retrievers.a.args.keys[1]", "output"]
    assert all("'KRAGX_TEST_NONE'" in problem for problem in lines)


def test_resolved_holds_every_default(loaded, tmp_path):
    """`resolved` spells out what the shortest config leaves open."""
    assert loaded(GOOD).resolved() == {
        "dataset": {"path": str(tmp_path.resolve() / "gold.jsonl")},
        "retrievers": {"mine": {"results": str(tmp_path.resolve() / "results.jsonl")}},
        "match": "overlap",
        "metrics": list(DEFAULT_METRICS),
        "html": True,
        "max_failed": 0.0,
        "stages": False,
        "statistics": {
            "confidence": 0.95,
            "resamples": 10_000,
            "seed": 0,
            "correction": "family",
        },
        "profile": "kragx",
    }


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("dataset: g.jsonl", "dataset: {path: g.jsonl}"),
        ("dataset: g.jsonl\nmetrics: mrr@5", "dataset: g.jsonl\nmetrics: [mrr@5]"),
        ("dataset: g.jsonl", "dataset: g.jsonl\nmatch: overlap"),
        ("dataset: g.jsonl", "dataset: g.jsonl\nprofile: kragx"),
    ],
)
def test_short_forms(loaded, short, long):
    """A short form or a default means the same as what is written out."""
    retrievers = "\nretrievers: {a: {results: r.jsonl}}\n"
    assert loaded(short + retrievers).resolved() == loaded(long + retrievers).resolved()


@pytest.mark.parametrize(
    ("short", "long"), [("r.jsonl", "{results: r.jsonl}"), ('"m.n:x"', '{class: "m.n:x"}')]
)
def test_short_forms_of_a_retriever(loaded, short, long):
    """A retriever may be just an import path, or just the path of a results file."""
    text = "dataset: g.jsonl\nretrievers: {a: %s}\n"
    assert loaded(text % short).resolved() == loaded(text % long).resolved()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("runs: ${V}", "3"),
        ("workers: ${V}", "2"),
        ("html: ${V}", "false"),
        ("max_failed: ${V}", ".5"),
    ],
)
def test_a_variable_that_is_no_text(loaded, problems, line, value, monkeypatch):
    """A variable's text means what it would in YAML, and is read as strictly."""
    monkeypatch.setenv("V", value)
    name = line.partition(":")[0]
    assert str(getattr(loaded(GOOD + line), name)).lower() == {".5": "0.5"}.get(value, value)
    for wrong in ("x", "[", "1e999"):
        monkeypatch.setenv("V", wrong)
        (problem,) = problems(GOOD + line)
        assert problem.startswith(f"{name}: {wrong!r} is ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD.replace("results.jsonl", "{a: b}"), "retrievers.mine.results: a path is expected"),
        (GOOD.replace("results.jsonl", "[a.jsonl, 5]"), "retrievers.mine.results[1]: a path is"),
        (GOOD.replace("gold.jsonl", "{path: g, columns: {query: 5}}"), "dataset.columns.query: a "),
        (GOOD + "html: 0", "html: 0 is neither true nor false"),
        (GOOD + "'a.b[0]': 1", "a.b[0]: unknown key; "),
        (GOOD + "seed: 5", "seed: unknown key; write it under 'statistics'"),
        (GOOD + "gold: g.jsonl", "gold: unknown key; perhaps you meant 'dataset'?"),
        (GOOD + "tokenizer: kiwi", "tokenizer: unknown key; write it under 'match'"),
        (GOOD + "k: 5", "k: unknown key; write it behind a metric: metrics: [ndcg@5]"),
        (
            GOOD.replace("results:", "grid: {k: [1, 2]}, results:"),
            "retrievers.mine.grid: unknown key; what the class takes stands under 'args'; valid: ",
        ),
        (
            GOOD.replace("results:", "'results.x': 1, results:"),
            "retrievers.mine.results.x: unknown",
        ),
        (GOOD + "max_failed: true", "max_failed: True is not a number from 0 to 1"),
        (GOOD + "match: {method: rouge2, measure: x, tokenizer: y, threshold: 9}", ""),
    ],
)
def test_what_is_wrong_stands_once(problems, text, problem):
    """A mistake is said once, with its whole path; several options of a match each."""
    lines = problems(text)
    if problem:
        assert [line.startswith(problem) for line in lines] == [True]
    else:
        paths = sorted(line.partition(":")[0] for line in lines)
        assert paths == ["match.measure", "match.threshold", "match.tokenizer"]

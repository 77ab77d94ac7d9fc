"""Results in Korean: every sentence has one, and numbers and names stay what they are."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from hypothesis import given, strategies as st
from typer import Context
from typer.main import get_command

import kragx
from kragx import (
    Gold,
    GoldDataset,
    Query,
    Run,
    UsageError,
    compare,
    evaluate,
    explain,
    sweep,
)
from kragx.app.commands.root import SECTIONS, app
from kragx.ground import errors
from kragx.ground.messages import LANGUAGES, catalogue
from kragx.ground.printing import in_language, joined, language, listed, message, plural, speaking
from kragx.metrics import METRICS
from kragx.report.html_page.page import page_words
from tests.thoroughness import all_cases, examples

SENTENCES = catalogue("ko")
OTHERS = [language for language in LANGUAGES if language != "en"]


ERRORS = {
    *({*errors.__all__} - {"ConfigError", "MissingExtraError"}),
    "BatchRefusedError",
    "LackingError",
    "NoStoreError",
    "NotReadyError",
    "StoreFailedError",
    "TextlessError",
}
"""Errors whose sentences are literals with values; the others put theirs together."""


def literals(node: ast.expr) -> list[str]:
    """The texts that an argument may be: a literal, or one of two."""
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    assert isinstance(node, ast.Constant), ast.unparse(node)
    assert isinstance(node.value, str)
    return [node.value]


def constants(node: ast.expr) -> list[str]:
    """The texts among what an argument may be."""
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls of functions and classes in the source, each with its place."""
    for path in Path(kragx.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names:
                yield f"{path.name}:{node.lineno}", node


def sentences_of(call: ast.Call) -> list[ast.expr]:
    """What an error says: its problem, and its remedy."""
    remedies = [keyword.value for keyword in call.keywords if keyword.arg == "remedy"]
    return [*call.args[:1], *remedies]


def has_values(call: ast.Call) -> bool:
    """Whether something stands in the braces of an error's sentences."""
    return not {keyword.arg for keyword in call.keywords} <= {"path", "field", "remedy"}


def templates() -> set[str]:
    """Each template in the source, of phrases and of errors."""
    of_phrases = {text for _, call in calls("message") for text in literals(call.args[0])}
    of_phrases |= {text for _, call in calls("plural") for text in literals(call.args[2])}
    readers = [call.args[-1] for _, call in calls("fitting", "number") if call.args]
    of_phrases |= {text for node in readers for text in constants(node) if " " in text}
    of_errors: set[str] = set()
    for _, call in calls(*ERRORS):
        for node in sentences_of(call):
            texts = constants(node)
            # Without values braces stand for themselves
            escaped = (text.replace("{", "{{").replace("}", "}}") for text in texts)
            of_errors |= {*(texts if has_values(call) else escaped)}
    return (of_phrases | of_errors) - {""}


def help_texts() -> set[str]:
    """What the help of any command says: of commands, options and the panels of these."""
    texts = {"Usage", "Commands", "Options", "Arguments", "default", "required"}
    texts |= {*SECTIONS, "Of installed packages"}
    commands = [get_command(app)]
    while commands:
        command: Any = commands.pop()
        texts.add(command.help)
        for option in command.get_params(Context(command)):
            texts |= {option.help, getattr(option, "rich_help_panel", None)}
        commands += [command.commands[name] for name in getattr(command, "commands", ())]
    return texts - {None}


def metric_texts() -> set[str]:
    """What `kragx metrics` says of each."""
    return {text for metric in METRICS.values() for text in (metric.question, metric.formula)}


def places(template: str) -> set[str]:
    """The names in braces, each with its form."""
    return {
        f"{name}:{form}:{conversion}"
        for _, name, form, conversion in Formatter().parse(template)
        if name is not None
    }


@pytest.mark.integration
@pytest.mark.parametrize("language", OTHERS)
def test_the_catalogue_has_what_the_source_says(language):
    """A language has each sentence of source, help and metrics, each word of the page, no other."""
    words = page_words()["en"].values()
    english = {*templates(), *help_texts(), *metric_texts(), *words}
    sentences = catalogue(language)
    assert {
        "lacks": sorted(english - sentences.keys()),
        "has for nothing": sorted(sentences.keys() - english),
    } == {"lacks": [], "has for nothing": []}


@pytest.mark.integration
def test_what_errors_say_can_be_said():
    """No error's sentence is put together on the spot; with values each is a literal."""
    found = [*calls(*ERRORS)]
    assert len(found) > 400
    together = ast.JoinedStr, ast.BinOp
    literal = ast.Constant, ast.IfExp, ast.Call
    for place, call in found:
        sentences = sentences_of(call)
        assert not any(isinstance(node, together) for node in sentences), place
        assert not has_values(call) or all(isinstance(node, literal) for node in sentences), place


def is_bare(node: ast.expr | None) -> bool:
    """Whether a value is a sentence of the source that no catalogue can have."""
    if isinstance(node, ast.IfExp):
        return is_bare(node.body) or is_bare(node.orelse)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.count(" ") > 1
    return isinstance(node, ast.JoinedStr) and ast.unparse(node).count(" ") > 1


def said(call: ast.Call) -> list[ast.expr]:
    """What a call says of a mistake: an error's sentences, or a problem's of a file."""
    match ast.unparse(call.func).rpartition(".")[2]:
        case "report":
            return call.args[1:2]
        case "add":
            return call.args[2:3]
        case name:
            return sentences_of(call) if name in ERRORS else []


@pytest.mark.integration
def test_no_sentence_waits_in_a_variable():
    """What an error or a problem of a file says is a message also where a variable holds it."""
    bare: list[str] = []
    for path in Path(kragx.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            nodes = [*ast.walk(function)]
            held = {
                target.id
                for node in nodes
                if isinstance(node, ast.Assign) and is_bare(node.value)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            bare += [
                f"{path.name}:{node.lineno}"
                for node in nodes
                if isinstance(node, ast.Call)
                for text in said(node)
                if (isinstance(text, ast.Name) and text.id in held)
                or isinstance(text, ast.JoinedStr)
            ]
    assert bare == []


def test_an_exception_speaks_the_language_of_results(monkeypatch):
    """With KRAGX_LANG=ko str(error) is Korean, and its English stays at hand for files."""
    error = UsageError("{value!r} is out of range", field="threshold", remedy="name llm", value=2)
    assert str(error) == error.text == "threshold: 2 is out of range; name llm"
    monkeypatch.setenv("KRAGX_LANG", "ko")
    assert str(error) == "threshold: 2: 범위를 벗어났습니다; llm이라고 적으세요"
    assert str(error.within("match")) == f"match.{error}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert error.text == "threshold: 2 is out of range; name llm"
    monkeypatch.setenv("KRAGX_LANG", "xx")
    assert str(error) == error.text


def test_braces_without_values_stand_for_themselves():
    """What holds somebody's data is not read as a template."""
    assert str(UsageError("write {name: 1}", remedy="or {}")) == "write {name: 1}; or {}"


@pytest.mark.integration
def test_what_is_warned_of_can_be_said():
    """No warning is a text put together on the spot, which no catalogue could have."""
    texts = {place: call.args[0] for place, call in calls("warn") if call.args}
    assert len(texts) > 10
    plain = ast.JoinedStr, ast.Constant, ast.BinOp
    assert [place for place, text in texts.items() if isinstance(text, plain)] == []


def test_one_and_several():
    """English tells one thing from several, Korean has a sentence for both."""
    texts = [plural(n, "1 error", "{n} errors") for n in (0, 1, 2)]
    assert texts == ["0 errors", "1 error", "2 errors"]
    assert [in_language(text, "ko") for text in texts] == ["오류 0개", "오류 1개", "오류 2개"]
    of_file = UsageError(plural(1, "1 error", "{n} errors"), path="gold.jsonl")
    assert of_file.problem.template == pickle.loads(pickle.dumps(of_file)).problem.template


@pytest.mark.parametrize("language", OTHERS)
def test_a_sentence_fills_in_the_same(language):
    """A sentence names what it names in English; only its form may be left out."""
    assert [english for english, own in catalogue(language).items() if not fits(english, own)] == []


def fits(english: str, other: str) -> bool:
    """Whether a sentence of another language names what the English one does."""
    names = {place.split(":")[0] for place in places(english)}
    return (
        places(other) <= places(english)
        and {place.split(":")[0] for place in places(other)} == names
        and other.strip() == other != ""
    )


def test_by_hand():
    """A phrase is its English text, and says the same in Korean; what is in it does too."""
    text = message("{n} of {of} queries scored", n=3, of=5)
    assert text == "3 of 5 queries scored"
    assert json.dumps([text]) == '["3 of 5 queries scored"]'
    assert in_language(text, "ko") == "질문 5개 중 3개 채점"
    both = joined("; ", [text, "", "recall@5", message("left out")])
    assert both == "3 of 5 queries scored; recall@5; left out"
    assert in_language(both, "ko") == "질문 5개 중 3개 채점; recall@5; 제외"
    inside = message("facts: {line}", line=text)
    assert in_language(inside, "ko") == "사실: 질문 5개 중 3개 채점"
    assert in_language(pickle.loads(pickle.dumps(inside)), "ko") == in_language(inside, "ko")
    assert in_language("{n} of them", "ko") == "{n} of them"


@all_cases(
    ("names", "english", "korean"),
    [
        ([], "", ""),
        (["a"], "a", "a"),
        (["a", "b"], "a and b", "a, b"),
        (["a", "b", "c"], "a, b and c", "a, b, c"),
        (list("abcd"), "a, b, c and 1 more", "a, b, c 외 1개"),
    ],
)
def test_lists(names, english, korean):
    """Names in a sentence, in either language."""
    assert listed(names, 3) == english
    assert in_language(listed(names, 3), "ko") == korean


@examples(50)
@given(st.text(max_size=8), st.text(max_size=8))
def test_names_are_data(one, other):
    """Braces, percent signs and line ends in names are no templates, in neither language."""
    text = message("{names}: {remark}", names=one, remark=other)
    assert text == in_language(text, "ko") == f"{one}: {other}"


def test_unanswerable_questions_in_korean():
    """How many are left out and what is retrieved for them, as a sentence says it."""
    queries = tuple(Query(f"q{i}", "?", gold=(), answerable=False) for i in range(3))
    dataset = GoldDataset((*queries, Query("q3", "?", gold=(Gold(id="a"),))))
    lists = {query.id: [{"id": "a"}, {"id": "b"}] for query in dataset}
    metrics = ["hit_rate@2(need=all)"]
    found = evaluate(dataset, Run.from_documents(lists), match="id", metrics=metrics)
    shown = found.to_text(language="ko")
    assert "답이 없는 질문 3개는 채점에서 뺐습니다(" in shown
    assert "질문 3개에서 문서 6개를 가져옴" in shown
    assert "kragx(hit_rate@2(need=all) 변경)" in shown


def test_which_language(monkeypatch):
    """What is named wins over `speaking`, which wins over the variable; else it is English."""
    monkeypatch.delenv("KRAGX_LANG", raising=False)
    assert language() == "en"
    for value in ("ko", "ko_KR.UTF-8", "KO-kr"):
        monkeypatch.setenv("KRAGX_LANG", value)
        assert language() == "ko"
    assert language("en") == "en"
    with speaking("en"):
        assert language() == "en"
        assert language("ko") == "ko"
        with speaking(None):
            assert language() == "en"
    assert language() == "ko"
    monkeypatch.setenv("KRAGX_LANG", "kr")
    with pytest.raises(UsageError, match=r"^KRAGX_LANG: unknown value 'kr'; valid: en, ko"):
        language()
    with pytest.raises(UsageError, match=r"^language: unknown value 'korean'"):
        language("korean")


def compared(monkeypatch):
    """Two retrievers of which one is better, and one that failed."""
    monkeypatch.delenv("KRAGX_LANG", raising=False)
    gold = GoldDataset.from_documents([[f"answer {i}"] for i in range(20)])
    lists = {
        name: [["x"] * at + [f"answer {i}"] for i in range(20)]
        for name, at in (("좋은 것", 0), ("other", 1))
    }
    return {
        name: evaluate(gold, Run.from_documents(of), match="exact", metrics=["mrr@5"], name=name)
        for name, of in lists.items()
    }


def test_every_form_of_a_result(monkeypatch):
    """Terminal, notebook, Markdown and plain text say the same sentences; JSON stays English."""
    comparison = compare(compared(monkeypatch))
    english, plain = str(comparison), comparison.to_dict()
    korean = "좋은 것 사용을 권합니다. mrr@5 기준으로 다른 모든 검색기보다 낫습니다(1.0000"
    assert korean in comparison.to_text(language="ko")
    assert korean in comparison.to_markdown(language="ko").replace("\\", "")
    monkeypatch.setenv("KRAGX_LANG", "ko")
    assert korean in str(comparison)
    assert korean in comparison._repr_html_()
    assert korean in comparison._repr_markdown_().replace("\\", "")
    assert comparison.to_dict() == plain
    assert comparison.to_text(language="en") == english


def test_no_english_sentence_is_left(monkeypatch):
    """Of an evaluation and a comparison in Korean nothing is English but names and options."""
    evaluations = compared(monkeypatch)
    text = compare(evaluations).to_text(language="ko")
    text += next(iter(evaluations.values())).to_text(language="ko")
    for word in (" the ", " with ", "better", "queries", "interval", "match:", "metric"):
        assert word not in text


def test_thresholds_and_explanations(monkeypatch):
    """A sweep with its plateau and an explanation in Korean leave nothing in English but names."""
    monkeypatch.delenv("KRAGX_LANG", raising=False)
    gold = GoldDataset.from_documents([["a b c d e f"], []], queries=["무엇?", "누구?"])
    lists = [["a b c d x y", "a b c d e f"], ["y z"]], [["a b c d e f"], []]
    match = {"method": "rouge2", "threshold": 0.7}
    runs = [Run.from_documents(own, name=name) for own, name in zip(lists, ("하나", "둘"))]
    swept = sweep([evaluate(gold, run, match=match, metrics=["mrr@5"]) for run in runs])
    explained = [explain(gold, runs[0], query_id=own, match=match) for own in ("q1", "q2")]
    text = "\n".join(own.to_text(language="ko") for own in (swept, *explained))
    assert "안정 구간: " in text
    assert "임계값" in text
    assert "정답 1: 2위에서 찾음" in text
    assert "이 질문에는 정답이 없습니다" in text
    without_options = re.sub(r"rouge2 \(.*\)", "", text)
    for word in ("threshold", "chosen", "gold", "rank", "query", "the ", "matches", "plateau"):
        assert word not in without_options

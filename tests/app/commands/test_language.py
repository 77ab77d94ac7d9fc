"""`--language` and KRAGX_LANG: what commands say in Korean, and JSON in English."""

from __future__ import annotations

import re
import unicodedata

import pytest

ROW = {"query_id": "q1", "gold": [{"text": "가 나 다"}], "retrieved": [{"text": "가 나 다"}]}


@pytest.mark.parametrize("way", ["before", "variable"])
def test_a_command_in_korean(kragx, jsonl, monkeypatch, way):
    """The option before the command, or the variable; a later one is English again."""
    path = jsonl(ROW)
    monkeypatch.setenv("KRAGX_LANG", "ko" if way == "variable" else "en")
    before = [*("--language", "ko") * (way == "before")]
    assert "질문 1개 중 1개 채점" in kragx(*before, "score", path).out
    monkeypatch.setenv("KRAGX_LANG", "")
    assert "1 of 1 queries scored" in kragx("score", path).out


@pytest.mark.parametrize(("said", "begins"), [([], ""), (["--language", "en"], "en")])
def test_a_page_begins_in_the_browsers_language(kragx, jsonl, here, monkeypatch, said, begins):
    """Where nobody names a language, a command writes none into a page either."""
    monkeypatch.delenv("KRAGX_LANG", raising=False)
    jsonl(ROW)
    config = "dataset: results.jsonl\nretrievers: {a: results.jsonl}\noutput: out\n"
    (here / "run.yaml").write_text(config)
    assert kragx(*said, "run", "run.yaml").code == 0
    html = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert f'<html lang="en" data-language="{begins}">' in html


def test_what_stays_english(kragx, jsonl, monkeypatch):
    """JSON does not depend on the language."""
    path = jsonl(ROW)
    plain = kragx("score", path, "--format", "json").out
    monkeypatch.setenv("KRAGX_LANG", "ko")
    assert kragx("score", path, "--format", "json").out == plain


MISTAKES = {
    "score nowhere.jsonl": "nowhere.jsonl: 읽을 수 없습니다: 그런 파일이 없습니다",
    "score results.jsonl --metric recal@5": "알 수 없는 이름 'recal'; 혹시 'recall'인가요?",
    "score results.jsonl --match overlp": "match: 알 수 없는 방법 'overlp'; 혹시 'overlap'인가요?",
    "explain results.jsonl --query q9": "query: results에 'q9' 질문이 없습니다; 혹시 'q1'인가요?",
    "score wrong.jsonl": "gold[0].txt: 알 수 없는 필드입니다; 혹시 'text'인가요? (나머지는 모두",
    "run broken.yaml": "broken.yaml: 문제 1개\n  match.treshold: ",
    "report nowhere": "nowhere: manifest.json 파일이 없어 결과 폴더가 아닙니다",
}


@pytest.mark.parametrize("command", MISTAKES)
@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_common_mistake(kragx, jsonl, here, monkeypatch, command, way):
    """What goes wrong often is said in the language of the command, by option or variable."""
    jsonl(ROW)
    jsonl({**ROW, "gold": [{"txt": "가 나 다"}]}, name="wrong.jsonl")
    text = "dataset: results.jsonl\nretrievers: {a: results.jsonl}\n"
    (here / "broken.yaml").write_text(f"{text}match: {{method: overlap, treshold: 1}}\n")
    monkeypatch.setenv("KRAGX_LANG", "ko" if way == "variable" else "en")
    code, _, err = kragx(*["--language", "ko"] * (way == "option"), *command.split())
    assert code in (2, 3)
    assert MISTAKES[command] in err


def test_every_command_is_described_in_korean(kragx):
    """The list of commands has a Korean line for each."""
    rows = re.findall(r"^  ([a-z]+) {2,}(.*)$", kragx("--language", "ko", "--help").out, re.M)
    assert len(rows) > 15
    assert [name for name, about in rows if not re.search("[가-힣]", about)] == []


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("init", "init [OPTIONS] [FOLDER]"),
        ("run", "run [OPTIONS] CONFIG.yaml"),
        ("score", "score [OPTIONS] [FILE]..."),
        ("compare", "compare [OPTIONS] FOLDER..."),
    ],
)
def test_usage_as_it_is_written(kragx, command, usage):
    """Brackets stand around what may be left out alone, and what is repeated is no list."""
    out = kragx(command, "--help").out
    assert out.partition("\n")[0].endswith(f"kragx {usage}")
    assert "list[" not in out


def test_usage_above_an_error(kragx, monkeypatch):
    """What is wrong with arguments stands below the same line."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    code, _, err = kragx("run", "--nowhere")
    assert code == 2
    assert re.match(r"사용법: .*kragx run \[OPTIONS\] CONFIG.yaml\n", err)


@pytest.mark.parametrize(
    ("command", "wording"),
    [
        ("run --outptu x", "--outptu: 알 수 없는 옵션입니다; 혹시 '--output'인가요?"),
        ("run", "CONFIG.yaml: 꼭 필요한데 없습니다"),
        ("run a b", "b: 이 명령이 받는 인자보다 많습니다"),
        ("score a --format jsn", "--format: 알 수 없는 값 'jsn'; 혹시 'json'인가요?"),
        ("score a --workers x", "--workers: 'x': 정수가 아닙니다"),
        ("score a --workers 0", "--workers: 0: 1보다 작습니다"),
        ("score a --max-failed x", "--max-failed: 'x': 수가 아닙니다"),
        ("score a --max-failed 2", "--max-failed: 2: 1.0보다 큽니다"),
        ("score a --gold", "--gold: 뒤에 값을 적어야 합니다"),
        ("run a --full=3", "--full: 값을 받지 않는 옵션입니다"),
        ("nothing", "nothing: 그런 명령이 없습니다; 쓸 수 있는 값: init, run"),
        ("judge lable x", "lable: 그런 명령이 없습니다; 혹시 'label'인가요?"),
    ],
)
def test_wrong_arguments(kragx, monkeypatch, command, wording):
    """What typer and pydantic find wrong with arguments is said in Korean alone."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    code, out, err = kragx(*command.split())
    assert (code, out) == (2, "")
    usage, _, said = err.rpartition("kragx: ")
    assert said.startswith(wording)
    assert ENGLISH.findall(err) == []
    assert usage == "" or usage.startswith("사용법: ")


def test_language_and_no_command(kragx):
    """With no command behind it the help is shown in that language."""
    assert "설정 파일의 검색기를 평가하고 비교합니다." in kragx("--language", "ko").out


REFUSED = {
    "retrievers.a.warmup=1" + "0" * 30: f"retrievers.a.warmup: {10**30}: 999999999보다",
    "retrievers.a.repeat=0": "retrievers.a.repeat: 0: 1 이상의 정수가 아닙니다",
    "retrievers.a.timeout=0": "retrievers.a.timeout: 0: 0보다 큰 초 단위 시간이 아닙니다",
    "retrievers.a.args={1: 2}": "알 수 없는 인자 1; 쓸 수 있는 값",
    "runs=1001": "runs: 1001: 1000보다 큽니다",
    "html=maybe": "html: 'maybe': true나 false가 아닙니다",
    "max_failed=2": "max_failed: 2: 0에서 1 사이의 수가 아닙니다",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_is_wrong_with_an_option(kragx, jsonl, here, monkeypatch, setting):
    """A value that an option does not take is refused in Korean, however large or odd it is."""
    jsonl({**ROW, "query": "가"})
    (here / "asked.yaml").write_text(
        "dataset: results.jsonl\nretrievers: {a: {class: 'shutil:which'}}\n"
    )
    monkeypatch.setenv("KRAGX_LANG", "ko")
    code, _, err = kragx("run", "asked.yaml", "--set", setting)
    assert code == 2
    assert REFUSED[setting] in err


@pytest.mark.parametrize("way", ["before", "variable"])
def test_an_unknown_language(kragx, jsonl, monkeypatch, way):
    """It is an error that names the option or the variable, and what there is."""
    before = [*("--language", "kr") * (way == "before")]
    monkeypatch.setenv("KRAGX_LANG", "kr" if way == "variable" else "")
    code, _, err = kragx(*before, "score", jsonl(ROW))
    assert code == 2
    field = "KRAGX_LANG" if way == "variable" else "language"
    assert err == f"kragx: {field}: unknown value 'kr'; valid: en, ko\n"


ENGLISH = re.compile(
    r"\b[a-z]+ (?:the|of|to|with|are|is|by|as|and|no|than|in|on)\b|\b[a-z]{3,} [a-z]{3,} [a-z]{3,}"
)
"""Two words of which the second is a common one, or three in a row."""


NFD = unicodedata.normalize("NFD", "문서")
PROSE = " goods that were damaged on their way are sent back to the shop free of charge"
RULE = "호 상품은 산 날부터 칠 일 안에 매장에 영수증을 들고 오시면 전액 환불해 드립니다"
DISTANCES = [{"id": "g", "score": 0.1}, {"id": "x", "score": 0.5}]

WARNINGS = {
    "ids that only look equal": (
        "--match id",
        {"gold": [{"id": "문서"}], "retrieved": [{"id": NFD}]},
        "id가 겉보기에만 같은 질문 12개: 'q0' 질문에서",
    ),
    "ids that never meet": (
        "--match id",
        {"gold": [{"id": "g"}], "retrieved": [{"id": "x"}]},
        "검색된 id 가운데 정답 id가 하나도 없습니다",
    ),
    "texts that can match nothing": (
        "--match rouge2",
        {"gold": [{"text": "1919"}, {"text": "가 나 다"}], "retrieved": [{"text": "..."}]},
        "어떤 것과도 매치될 수 없는 정답: 질문 12개, 예: 'q0' 질문의 '1919': 단어가",
    ),
    "broken texts": (
        "--match overlap",
        {"gold": [{"text": PROSE * 3}], "retrieved": [{"text": PROSE.replace(" ", "") * 3}]},
        "텍스트가 깨진 듯합니다",
    ),
    "metrics above 1": (
        "--match text --profile krag",
        {"gold": [{"text": "가 나"}], "retrieved": [{"text": "가 나"}, {"text": "가 나 다"}]},
        "값이 1을 넘습니다",
    ),
    "sources of two kinds": (
        "--match exact --metric coverage@100chars",
        {
            "gold": [{"text": "가 나", "metadata": {"source": "a", "start_index": 0}}],
            "retrieved": [{"text": "가 나", "metadata": {"source": "b", "start_index": 0}}],
        },
        "출처와 같은 출처의 문서가 없어 아무것도 덮이지 않습니다",
    ),
}


@pytest.mark.filterwarnings("always::kragx.metrics.MetricWarning")
@pytest.mark.parametrize("warned", WARNINGS)
def test_warnings(kragx, jsonl, monkeypatch, warned):
    """What is warned of is said in Korean, example and remedy too; elsewhere in English."""
    options, row, said = WARNINGS[warned]
    path = jsonl(*({**row, "query_id": f"q{n}"} for n in range(12)))
    monkeypatch.setenv("KRAGX_LANG", "ko")
    korean = kragx("score", path, *options.split())
    assert said in korean.err
    assert ENGLISH.findall(korean.err) == []
    monkeypatch.setenv("KRAGX_LANG", "en")
    assert (
        re.search("[가-힣]{2} [가-힣]+(니다|세요)[.:]", kragx("score", path, *options.split()).err)
        is None
    )


def test_what_keeps_results_apart(kragx, jsonl, here, monkeypatch):
    """Why two folders cannot be compared, and how they can be all the same."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    jsonl(*({**ROW, "query_id": f"q{n}"} for n in range(12)))
    for match in ("overlap", "exact"):
        config = f"dataset: results.jsonl\nretrievers: {{a: results.jsonl}}\nmatch: {match}\n"
        (here / "c.yaml").write_text(f"{config}html: false\n")
        assert kragx("run", "c.yaml", "-o", match).code == 0
    code, _, err = kragx("compare", "overlap", "exact")
    assert code == 2
    assert "매처가 다릅니다(casefold: None, False, method: 'overlap', 'exact'" in err
    assert "그래도 비교하려면 anyway=True 또는 --anyway" in err
    assert "그래도 비교함: 매처가 다릅니다" in kragx("compare", "overlap", "exact", "--anyway").out


@pytest.mark.integration
def test_commands_on_small_data(kragx, jsonl, here, monkeypatch):
    """What commands say of small data in Korean has no English in it but names and options."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    results = jsonl(*({**ROW, "query_id": f"q{n}", "query": "무엇?"} for n in range(12)))
    config = "dataset: results.jsonl\nretrievers: {하나: results.jsonl}\nmatch: overlap\n"
    (here / "c.yaml").write_text(config, encoding="utf-8")
    (here / "labels.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n")
    said = {
        command: kragx(*command.split())
        for command in (
            "run c.yaml -o results/a",
            "run c.yaml -o results/b --save-baseline baseline.json",
            "report results/a --full",
            "explain results/a --query q1",
            "compare results/a results/b",
            "history results",
            "threshold sweep results/a",
            "agree labels.qrels labels.qrels",
            f"convert {results} out.parquet",
            f"score {results}",
        )
    }
    assert {command: (own.code, own.err) for command, own in said.items() if own.code} == {}
    for command, own in said.items():
        text = own.out + own.err
        assert ENGLISH.findall(text.replace("expanded percentile bootstrap", "")) == [], command
        assert re.search("[가-힣]", text) or command.startswith("convert"), command
    assert "results/a에 저장" in said["run c.yaml -o results/a"].err


@pytest.mark.integration
def test_commands_of_gold_sets(kragx, jsonl, here, monkeypatch):
    """The life of a gold set from the first file to the next release, said in Korean."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    texts = {"d1": "환불은 칠 일 안에 해야 합니다.", "d2": "배송은 보통 이틀이 걸립니다."}
    (here / "corpus.jsonl").write_text(
        "".join(f'{{"id": "{key}", "text": "{text}"}}\n' for key, text in texts.items()), "utf-8"
    )
    rows = [
        {"query_id": "q1", "query": "환불은?", "gold": [{"id": "d1", "text": texts["d1"]}]},
        {"query_id": "q2", "query": "배송은?", "gold": [{"id": "d2", "grade": 2}]},
    ]
    jsonl(*rows, name="old.jsonl")
    rows[1] |= {"query": "배송 기간은?", "gold": [{"id": "d1"}], "query_type": "delivery"}
    jsonl(*rows, {"query_id": "q3", "query": "환불은?"}, name="new.jsonl")
    said = {
        command: kragx(*command.split())
        for command in (
            "gold diff old.jsonl new.jsonl",
            "gold validate new.jsonl --corpus corpus.jsonl",
            "gold start shop --corpus corpus.jsonl --gold old.jsonl",
            "gold release shop",
            "gold release shop --note again",
            "gold export shop --out shop.csv",
            "gold export shop --out shop.qrels --form qrels",
            "gold import shop shop.csv",
            "gold move old.jsonl --from corpus.jsonl --to corpus.jsonl --out moved.jsonl",
            "gold questions --corpus corpus.jsonl --out questions.jsonl",
        )
    }
    for command, own in said.items():
        assert own.code in (0, 3), own.err
        text = re.sub("kragx [a-z]+ [a-z]+", "", own.out + own.err)  # what to run next
        assert ENGLISH.findall(text) == [], command
        assert re.search("[가-힣]{2}", text), command
    diff = said["gold diff old.jsonl new.jsonl"].out.splitlines()[1]
    assert diff == (
        "질문 3개 중 2개가 다름(바뀜 1개, 추가 1개); 나머지 1개에서는 두 결과를 비교할 수 있습니다"
    )
    assert "다음: shop/guidelines.md 파일을 읽고" in next(
        own.out for command, own in said.items() if command.startswith("gold start")
    )


@pytest.mark.parametrize("way", ["before", "variable"])
def test_help_in_korean(kragx, monkeypatch, way):
    """Heads, texts and what stands in brackets, of `kragx` as well; then English again."""
    monkeypatch.setenv("KRAGX_LANG", "ko" if way == "variable" else "en")
    before = [*("--language", "ko") * (way == "before")]
    run = kragx(*before, "run", "--help").out
    assert "설정 파일의 검색기를 평가하고 비교합니다." in run
    assert "CONFIG.yaml <path>  설정 파일.  [필수]" in run
    assert re.findall(r"^(\w+):", run, re.MULTILINE)[:3] == ["사용법", "인자", "옵션"]
    assert "  run      설정 파일의 검색기를 평가하고 비교합니다." in kragx(*before, "--help").out
    monkeypatch.setenv("KRAGX_LANG", "")
    assert "Evaluate and compare the retrievers" in kragx("run", "--help").out


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("group", ["", "gold", "judge", "judge store", "threshold"])
def test_lists_of_commands_are_whole(kragx, monkeypatch, group, language):
    """Each command is described in the language, in a line that ends where its sentence does."""
    monkeypatch.setenv("KRAGX_LANG", language)
    monkeypatch.setenv("COLUMNS", "80")
    commands = kragx(*group.split(), "--help").out.partition("[ARGS]...")[2]
    assert "..." not in commands
    rows = re.findall(r"^  [a-z][\w-]*  +(\S.*)$", commands, re.MULTILINE)
    assert len(rows) >= 2
    assert all(bool(re.search("[가-힣]", row)) == (language == "ko") for row in rows)


@pytest.mark.parametrize(
    "command", ["", "run", "score", "gold", "gold questions", "judge label", "judge store export"]
)
def test_korean_help_fits_the_terminal(kragx, monkeypatch, command):
    """A syllable takes two columns: no line is longer than 80 of them, and nothing is English."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    monkeypatch.setenv("COLUMNS", "80")
    out = kragx(*command.split(), "--help").out
    widths = [
        sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)
        for line in out.splitlines()
    ]
    assert max(widths) <= 80
    assert not re.search(r"\b(the|this|where|file of|[Ss]how)\b", out)

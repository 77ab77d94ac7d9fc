"""The documents are true: their code runs, their numbers come out, their links lead somewhere."""

from __future__ import annotations

import doctest
import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from kragx import read_dataset, validate
from kragx.metrics import METRICS, PROFILES
from tests.thoroughness import all_cases

from .support import DOCUMENTS, ROOT, TWINS, Document

PAIRS = [(Document(english), Document(korean)) for english, korean in TWINS.items()]
PACKAGE = ROOT / "kragx"
FOREIGN = ("datasets", "haystack", "llama_index", "polars")
"""Packages that load long, or may not be there."""


def _marks(code: str) -> list[pytest.MarkDecorator]:
    """Those of a block that uses such a package."""
    used = [name for name in FOREIGN if re.search(rf"^(from|import) {name}\b", code, re.M)]
    missing = [name for name in used if find_spec(name) is None]
    if not used:
        return []
    return [
        pytest.mark.integration,
        pytest.mark.filterwarnings("default"),  # theirs
        pytest.mark.skipif(bool(missing), reason=f"without {', '.join(missing)}"),
    ]


def _marks_of(document: Document) -> list[pytest.MarkDecorator]:
    """Korean documents have the code of the English ones, which the default tests try."""
    return [pytest.mark.integration] if document.name in TWINS.values() else []


SCRIPTS = [
    pytest.param(
        block.text,
        id=f"{document.name}:{block.line}",
        marks=[*_marks(block.text), *_marks_of(document)],
    )
    for document in DOCUMENTS
    for block in document.blocks
    if block.language == "python" and not block.name
]
each_document = all_cases("document", DOCUMENTS)
each_pair = all_cases(("english", "korean"), PAIRS)


@pytest.mark.parametrize("code", SCRIPTS)
def test_every_python_block_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block of Python runs by itself, as a module in an empty folder."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)  # dataclasses look themselves up there
    exec(compile(code, "<document>", "exec"), vars(module))


TABLES = [
    pytest.param(block.text, id=f"{document.name}:{block.line}")
    for document in DOCUMENTS
    for block in document.blocks
    if block.language == "csv" and not block.name
]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_a_gold_set(table: str, tmp_path: Path) -> None:
    """Each table in CSV is read as it stands: a question a row, with gold, and nothing to mend."""
    path = tmp_path / "gold.csv"
    path.write_text(table, encoding="utf-8")
    dataset = read_dataset(path)
    assert len(dataset) == len(table.splitlines()) - 1
    assert all(query.text and query.gold for query in dataset)
    assert not validate(str(path)).problems


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(document, id=document.name, marks=_marks_of(document))
        for document in DOCUMENTS
        if any(block.language == "pycon" for block in document.blocks)
    ],
)
def test_every_session_gives_the_numbers_it_shows(document: Document) -> None:
    """The `>>>` examples of a document, one session from top to bottom, give what is printed."""
    # Blank lines in the place of everything else, so that a failure names the document's line.
    lines = [""] * (document.text.count("\n") + 1)
    for block in document.blocks:
        if block.language == "pycon":
            code = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(code)] = code
    session = doctest.DocTestParser().get_doctest(
        "\n".join(lines), {}, document.name, str(document.path), 0
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(session, out=report.append)
    assert not report, "".join(report)


def test_the_metrics_page_works_through_examples() -> None:
    """Each metric has a heading and an example with its value."""
    page = Document("docs/metrics.md")
    shown = "".join(block.text for block in page.blocks if block.language == "pycon")
    titles = [title for _, title in page.headings]
    assert [name for name in METRICS if name not in shown] == []
    assert [name for name in METRICS if not any(name in title for title in titles)] == []


def test_the_profile_table_names_every_profile() -> None:
    """docs/metrics.md and its Korean twin have a column for each profile."""
    for name in ("docs/metrics.md", "docs/metrics.ko.md"):
        row = "| " + " | ".join(f"`{profile}`" for profile in PROFILES) + " |"
        assert row in Document(name).text


@each_document
def test_every_link_leads_somewhere(document: Document) -> None:
    """Relative links point at a file, and their anchors at one of its headings."""
    for link in document.links:
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (document.path.parent / file).resolve() if file else document.path
        assert target.is_file(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in Document(str(target.relative_to(ROOT))).anchors, link


def test_every_page_is_there_in_korean() -> None:
    """Each page of docs/ has a Korean twin; the house's plan, for who works on kragx, has none."""
    found = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/evidence/*.md")]
    pages = {path.relative_to(ROOT).as_posix() for path in found}
    assert pages - {*TWINS, *TWINS.values()} == {"docs/architecture.md"}


BESIDE = {
    *("docs/agents.md", "docs/install.md", "docs/leaks.md", "docs/peers.md", "docs/ragas.md"),
    "docs/traffic.md",
}
LONG = {"docs/metrics.md"}
"""With an example worked by hand for each metric."""


def words(text: str) -> int:
    """How many words a text has, as `wc -w` counts them."""
    return len(text.split())


def test_what_there_is_can_be_read() -> None:
    """The README's road has at most 700 words; 18 pages for users have 32,000, none of them more
    than 2,500; the evidence has 12,000, the page of what must not be found 1,200, that of agents
    950, that of logs 1,100.
    """
    assert words(Document("README.md").text.split("\n## Where to go on\n")[0]) <= 700
    pages = {name: words(Document(name).text) for name in TWINS if name not in BESIDE}
    evidence = {name: pages.pop(name) for name in [*pages] if "/evidence/" in name}
    del pages["README.md"]
    assert len(pages) == 18
    assert sum(pages.values()) <= 32_000
    assert [name for name, n in pages.items() if n > 2_500 and name not in LONG] == []
    assert sum(evidence.values()) <= 12_000
    assert words(Document("docs/leaks.md").text) <= 1_200
    assert words(Document("docs/agents.md").text) <= 950
    assert words(Document("docs/traffic.md").text) <= 1_100


@each_pair
def test_twins_have_the_same_sections(english: Document, korean: Document) -> None:
    """A document and its Korean twin have the same headings, level by level."""
    assert [level for level, _ in korean.headings] == [level for level, _ in english.headings]


@each_pair
def test_twins_have_the_same_code(english: Document, korean: Document) -> None:
    """The code of twins differs in comments alone; the README's notebook speaks Korean.

    What a command prints may stand in Korean: then its numbers are the same.
    """
    assert [(block.language, block.name) for block in korean.blocks] == [
        (block.language, block.name) for block in english.blocks
    ]
    for ours, theirs in zip(english.blocks, korean.blocks, strict=True):
        if (english.name, ours.language) == ("README.md", "python"):
            continue
        if ours.language == "text" and re.search("[가-힣]", theirs.text):
            assert theirs.numbers == ours.numbers
        else:
            assert theirs.bare == ours.bare


@each_pair
def test_twins_have_tables_of_the_same_size(english: Document, korean: Document) -> None:
    """No row or column of a table is left out in Korean."""

    def shape(document: Document) -> list[int]:
        return [line.count("|") for line in document.prose.splitlines() if line.startswith("|")]

    assert shape(korean) == shape(english)


@each_pair
def test_korean_documents_link_to_each_other(english: Document, korean: Document) -> None:
    """The first links of a Korean document: its English twin, then Korean documents."""
    first, *others = korean.links
    assert first == Path(english.name).name
    english_names = {Path(name).name for name in TWINS}
    assert not [link for link in others if Path(link.partition("#")[0]).name in english_names]


def test_install_commands_are_equal() -> None:
    """Both commands stand in both READMEs, each on its own line, to the character."""
    commands = [
        [line for line in Document(name).text.splitlines() if line.startswith("python3 -m venv ")]
        for name in ("README.md", "README.ko.md")
    ]
    assert commands[0] == commands[1]
    assert len(commands[0]) == 2


@pytest.fixture(scope="module")
def extras() -> set[str]:
    """The names of what is installed only when it is asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {*project["optional-dependencies"]}


@each_document
def test_extras_are_added_in_one_way(document: Document, extras: set[str]) -> None:
    """A clone's environment has no pip of its own, so every page installs into it from outside, and
    names extras that there are; on Windows, in the READMEs, it has one.
    """
    for command, named in re.findall(r'([^`\n]*) install -e "\.\[([\w,]+)\]"', document.text):
        assert command.endswith(("python3 -m pip --python .venv", r".venv\Scripts\pip"))
        assert set(named.split(",")) <= extras
    assert not re.findall(r"install -e (?!\"\.\[)", document.prose)
    if not document.name.startswith("README"):
        assert "install 'kragx[" not in document.text
        assert 'install "kragx[' not in document.text


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_files_that_are_named_exist(name: str) -> None:
    """Every file or folder that these pages name stands where they say."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.M | re.S)
    paths = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", text)
    missing = [path for path in paths if not any((top / path).exists() for top in (ROOT, PACKAGE))]
    assert missing == []

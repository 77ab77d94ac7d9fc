"""Folders of Markdown, text and HTML as corpora."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from kragx import DataError, MissingExtraError, evaluate, read_corpus
from kragx.data.problems import DataWarning

PAGE = """<html><head><title>The page</title><style>x {}</style></head><body><nav>Home</nav>
<div><p>A <b>bold</b>
word, 5 < 6.</p>tail</div><h2>First &amp; <i>only</i></h2>
<table><tr><td>1</td><td>2</td></tr></table><pre>a
b</pre><!-- no --><script>var x</script><ul><li>x<li>y</ul>one<br>two</body></html>
"""


@pytest.fixture
def write(tmp_path: Path):
    """Write a file of the folder `docs`, with other folders as needed."""

    def call(name: str, text: str | bytes) -> Path:
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return call


def test_ids_titles_and_texts(write, tmp_path):
    """The id is the path within the folder, with slashes; the text is as it stands."""
    write("setup/환불.md", "\ufeffIntro\r\n\r\n## Refunds ##\r\nWithin 14 days.\r\n")
    write("a.txt", "# no heading here\n")
    docs = read_corpus(tmp_path / "docs")
    assert [(doc.id, doc.text, doc.metadata) for doc in docs] == [
        ("a.txt", "# no heading here\n", {}),
        ("setup/환불.md", "Intro\n\n## Refunds ##\nWithin 14 days.\n", {"title": "Refunds"}),
    ]
    (doc,) = read_corpus(tmp_path / "docs" / "a.txt")  # a file alone
    assert doc.id == "a.txt"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("text\n# One #\n## Two", "One"),
        ("---\ntitle: front\n---\n# Real", "Real"),
        ("#hashtag\n- item\n---\n", None),
        ("C# in .NET\n# C#", "C#"),
        ("", None),
    ],
)
def test_first_heading(write, tmp_path, text, title):
    """A heading of Markdown begins with #."""
    write("x.md", text + "\nend")
    (doc,) = read_corpus(tmp_path / "docs")
    assert doc.metadata.get("title") == title


def test_what_is_left_out(write, tmp_path):
    """Hidden files are passed over; what else is left out is counted in one line."""
    write("a.md", "here")
    write(".git/b.md", "hidden")
    write(".c.md", "hidden")
    write("empty.md", " \n")
    write("slides.PDF", b"%PDF")
    write("k.txt", "한글 문서".encode("cp949"))
    folder = tmp_path / "docs"
    (tmp_path / "outside.md").write_text("outside")
    for name, target in {
        "out.md": tmp_path / "outside.md",
        "loop": folder,
        "in.md": "a.md",
    }.items():
        (folder / name).symlink_to(target)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        docs = read_corpus(folder)
    assert [(doc.id, doc.text) for doc in docs] == [
        ("a.md", "here"),
        ("k.txt", "한글 문서"),
    ]
    (warning,) = noted
    assert warning.category is DataWarning
    assert str(warning.message) == (
        f"{folder}: files left out (links, or other kinds than .md .txt .html .htm): 3; "
        "not UTF-8, so read as cp949: 1"
    )


def test_mistakes(write, tmp_path, monkeypatch):
    """A file that is no text is named, a folder without any, and what a page needs."""
    monkeypatch.setitem(sys.modules, "bs4", None)
    with pytest.raises(MissingExtraError, match=r"reading HTML needs .*html"):
        read_corpus(write("../page.html", "<p>text"))
    write("a.txt", b"\xff\xfe\xfd\x00\x81")
    with pytest.raises(DataError, match=r"a\.txt: "):
        read_corpus(tmp_path / "docs")
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"the folder holds no corpus; .* \.md, \.txt, \.html"):
        read_corpus(tmp_path / "none")


def test_texts_of_ids(write, tmp_path):
    """Gold by path gets its text from the folder, by stretches too."""
    write("faq/cards.md", "# Cards\n\nGift cards do not expire.\n")
    gold = {"q": {"faq/cards.md:9-34": 1}}
    found = {"q": [{"id": "new", "text": "Gift cards do not expire."}]}
    result = evaluate(gold, found, corpus=tmp_path / "docs", match="exact", metrics=["recall@1"])
    assert result["recall@1"] == 1


@pytest.mark.integration
def test_html(write, tmp_path):
    """A page is what is seen of it, a line a block; words within a line stay together."""
    pytest.importorskip("bs4")
    write("p.html", PAGE)
    euc_kr = '<meta charset="euc-kr"><title>제목</title><p>본문'.encode("cp949")
    write("k.htm", euc_kr)
    with pytest.warns(DataWarning, match="not UTF-8, so read as cp949: 1"):
        korean, page = read_corpus(tmp_path / "docs")
    assert (korean.text, korean.metadata) == ("본문", {"title": "제목"})
    assert (page.text, page.metadata) == (
        "Home\nA bold word, 5 < 6.\ntail\nFirst & only\n1 2\na\nb\nx\ny\none\ntwo",
        {"title": "First & only"},
    )

"""One description is printed, shown as HTML and written as Markdown; no text is obeyed."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import kragx
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Table,
    as_html,
    as_markdown,
    as_text,
    say,
    warning,
)
from tests.thoroughness import all_cases

HOSTILE = "<script>x</script> | *bold* `code` [a](http://b) @me $1$ \u202e\x1b[31m"
PARTS = (
    Heading("Numbers", level=2),
    Line("first"),
    warning("beware"),
    Line("known", item="-"),
    Line("open", item="?"),
    Table(
        ["metric", "one"],
        [[Cell("hit_rate@5", code=True), Cell("0.5 *", "bold green", "[0.4, 0.6]")]],
        note="* best",
    ),
)


def test_markdown_has_headings_lists_and_tables():
    """Warnings and items are one list; bold, code and what stands below a cell are kept."""
    assert as_markdown(PARTS) == (
        "## Numbers\n\nfirst\n\n- beware\n- known\n- **?** open\n\n"
        "| metric | one |\n| --- | ---: |\n"
        "| `hit_rate@5` | **0.5 \\*** \\[0.4, 0.6\\] |\n\n\\* best\n"
    )
    assert as_markdown([Heading("Numbers", level=4)]) == "#### Numbers\n"


def test_text_says_the_same():
    """Items have their mark, notes stand below, and a heading is a line."""
    lines = as_text(PARTS).splitlines()
    assert lines[:5] == ["Numbers", "first", "beware", "- known", "? open"]
    assert lines[-1] == "* best"


@pytest.mark.parametrize("render", [as_markdown, as_html, as_text])
def test_hostile_texts_are_inert(render):
    """Wherever a text from data stands, it shows its characters and steers nothing."""
    cells = [[HOSTILE, Cell(HOSTILE, below=HOSTILE)]]
    table = Table([HOSTILE, "b"], cells, note=HOSTILE)
    parts = [Heading(HOSTILE), Line(HOSTILE, item="?"), table, Line(HOSTILE)]
    shown = render(parts)
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    if render is as_text:
        return
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == 8
    if render is as_markdown:
        escaped = (
            "\\| \\*bold\\* \\`code\\` \\[a\\](http:\\//b) @&#8203;me \\$1\\$ ‹U+202E›‹U+001B›"
        )
        assert shown.count(escaped) == 8


def test_a_list_marker_from_data_begins_no_list():
    """What begins like a list, a heading or a rule is shown as it stands."""
    for text, shown in {"- a": "\\- a", "1. a": "&#49;. a", "# a": "\\# a", "+ a": "\\+ a"}.items():
        assert as_markdown([Line(text)]) == f"{shown}\n"


@all_cases(
    ("text", "shown"),
    {
        "see www.a.org, WWW.a.org": "see www\\.a.org, WWW\\.a.org",
        "https://a.b ftp://a.b": "https:\\//a.b ftp:\\//a.b",
        "mailto:a.b+c@d.org": "mailto:a.b+c@&#8203;d.org",
        "@me (@me) a@b": "@&#8203;me (@&#8203;me) a@b",
        "ndcg@10, 0.5": "ndcg@10, 0.5",
        "me/it#12 #1 GH-3 C#": "me/it#&#8203;12 #&#8203;1 GH&#8203;-3 C#",
        ":+1: :tada: 14:05:33": ":&#8203;+1: :&#8203;tada: 14:05:33",
        "![a](b) <img src=x>": "!\\[a\\](b) &lt;img src=x&gt;",
        "a | b `c` &amp;": "a \\| b \\`c\\` &amp;amp;",
        "/close": "\\/close",
    }.items(),
)
def test_markdown_links_nothing(text, shown):
    """Addresses, mentions, issues, emojis, images and commands are texts, and look as they did."""
    assert as_markdown([Line(text)]) == f"{shown}\n"
    (token,) = [one for one in MarkdownIt("commonmark").parse(shown) if one.type == "inline"]
    assert not {one.type for one in token.children} & {"link_open", "image", "html_inline"}
    assert "".join(one.content for one in token.children).replace("\u200b", "") == text


@pytest.mark.parametrize("text", ["a@" * 50_000, ":" + "a" * 100_000], ids=["mail", "emoji"])
def test_long_words_in_markdown(text):
    """What begins like mail or an emoji takes time in proportion: here the square is 30 s."""
    start = time.process_time()
    assert as_markdown([Line(text)]).rstrip() == text
    assert time.process_time() - start < 3


def test_a_name_begins_no_line(capsys):
    """What follows a line end in a text from data is set in: it passes for no line of kragx."""
    put, name = [Line(f"{HOSTILE}\nevery gate passed"), warning("a\nb")], "run\nkragx: fine"
    assert as_text(put).splitlines()[1:] == ["  every gate passed", "a", "  b"]
    say(f"kragx: {name}:\n  1 problem")
    assert capsys.readouterr().err == "kragx: run\n  kragx: fine:\n  1 problem\n"


@pytest.mark.integration
def test_one_door():
    """Nothing is printed but by `kragx.ground.printing`; a docstring's example may print."""
    package = Path(kragx.__file__).parent
    door = re.compile(r"typer\.s?echo|(?<![\w.])(?<!def )print\(|std(out|err)\.write|pprint")
    others = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.lstrip().startswith((">>>", "...")) and door.search(line)
    }
    assert others == {"ground/printing/terminal.py"}

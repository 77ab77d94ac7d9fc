"""The page's files, read without a browser."""

import re
from importlib.resources import files
from pathlib import Path

from kragx.workshop.releases.contents import REASONS
from tests.thoroughness import all_cases

STATIC = files("kragx.workshop.web") / "static"
SCRIPTS = {
    file.name: file.read_text("utf-8") for file in STATIC.iterdir() if file.name.endswith(".js")
}


def words(language):
    """The words of a language by their names."""
    block = SCRIPTS["words.js"].split(f"\n  {language}: {{")[1].split("\n  },")[0]
    return dict(re.findall(r'(\w+): "((?:[^"\\]|\\.)*)"', block))


def test_every_word_stands_in_both_languages_with_the_same_places():
    """What is filled in is filled in everywhere, so that no number is lost in one language."""
    english, korean = words("en"), words("ko")
    assert english.keys() == korean.keys()
    for key, text in english.items():
        places = set(re.findall(r"\{\d\}", text))
        singular = f"{key}1" in english and key != f"{key}1"
        assert places == set(re.findall(r"\{\d\}", korean[key])), (key, singular)


def test_every_word_that_a_script_names_exists():
    """A name that is written out beside `t(` or chosen between two is one of the words."""
    known = words("en").keys()
    for name, script in SCRIPTS.items():
        for inside in re.findall(r"\bt\(([^()`]*)", script):
            for key in re.findall(r'"(\w+)"', inside.split(",")[0]):
                if name != "words.js" and not re.search(rf'=== "{key}"', inside):
                    assert key in known, (name, key)


def test_every_code_that_the_server_sends_has_a_sentence():
    """What a release lacks, what decides, and errors that have a code."""
    known = words("en").keys()
    codes = {f"lack_{what.replace(' ', '_')}" for what in (*REASONS, "moved", "missing")}
    outcomes = {"decided", "open", "retrievers", "answers", "questions", "pairs"}
    outcomes.add("equal")
    codes |= {f"outcome_{outcome}" for outcome in outcomes}
    for source in Path(str(files("kragx.workshop"))).rglob("*.py"):
        text = source.read_text("utf-8")
        codes |= {f"error_{code}" for code in re.findall(r'\bcode ?= ?"(\w+)"', text)}
    assert len([code for code in codes if code.startswith("error_")]) == 22
    assert codes <= known


@all_cases("name", sorted(SCRIPTS))
def test_no_text_becomes_markup_and_no_address_leaves_the_machine(name):
    """No script writes HTML, evaluates text, sets a style by text, or names a foreign host."""
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc"
        r"|setAttribute\(\"style\"|cssText|https?://|\bimport\("
    )
    assert re.findall(forbidden, SCRIPTS[name]) == []

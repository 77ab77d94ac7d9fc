"""The samples of guidelines that a new workshop begins with."""

import re
from importlib.resources import files

import pytest
from markdown_it import MarkdownIt

SAMPLES = files("kragx.workshop") / "guidelines"

BUTTONS = {
    "en": ("Later", "Unusable", "Odd question"),
    "ko": ("나중에", "사용 불가", "질문이 이상함"),
}


def headings(text: str) -> list[str]:
    """The levels of its headings."""
    return re.findall(r"^#+(?= )", text, re.M)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_sample_is_a_page_that_explains_every_grade(language):
    """It is shipped, fits on a page, explains 0 to 3, names the buttons, and holds no HTML."""
    text = (SAMPLES / f"{language}.md").read_text(encoding="utf-8")
    assert [f"| **{grade}** |" in text for grade in range(4)] == [True] * 4
    assert [name for name in BUTTONS[language] if f"**{name}**" not in text] == []
    assert len(text) < 3500
    tokens = MarkdownIt("js-default", {"html": True}).parse(text)
    assert not any(token.type.startswith("html") for token in tokens)


def test_the_samples_have_the_same_sections():
    """Nothing is left out in either language."""
    ko, en = ((SAMPLES / f"{name}.md").read_text(encoding="utf-8") for name in ("ko", "en"))
    assert headings(ko) == headings(en)

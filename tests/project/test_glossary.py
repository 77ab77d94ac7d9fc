"""Korean has one word for one thing: the glossary of CONTRIBUTING.md holds in docs and results."""

from __future__ import annotations

import re

from tests.docs.support import TWINS, Document
from tests.thoroughness import all_cases

RESULTS = [
    "kragx/ground/printing/ko.json",
    "kragx/report/figures/comparison.py",
    "kragx/report/html_page/english.json",
    "kragx/workshop/web/static/words.js",
    "kragx/workshop/guidelines/ko.md",
]
"""Where the Korean words of results and pages are."""


@all_cases("name", [*TWINS.values(), *RESULTS])
def test_korean_has_one_word_for_one_thing(name: str) -> None:
    """Nothing Korean has a word of the last column of the glossary in CONTRIBUTING.md."""
    glossary = Document("CONTRIBUTING.md").text.partition("| English | Korean | not |")[2]
    rows = re.findall(r"^\|[^|]*\|[^|]*\|([^|]*)\|$", glossary.partition("\n\n")[0], re.MULTILINE)
    words = [word.strip() for row in rows[1:] for word in row.split(",") if word.strip()]
    assert {"심판", "낱말"} <= set(words)
    text = Document(name).text.replace("질의응답", "").replace("정답 글자", "")
    assert [word for word in words if word in text] == []

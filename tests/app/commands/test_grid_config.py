"""configs/grid.yaml: the grid that docs/comparing.md shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFIG = Path(__file__).parents[3] / "configs" / "grid.yaml"
PAGES = [CONFIG.parents[1] / "docs" / name for name in ("comparing.md", "comparing.ko.md")]


@pytest.mark.integration
def test_the_answer_is_the_one_that_the_docs_show(kragx, here):
    """Twelve settings; the sentence stands in both pages, word for word, each in its language."""
    outcome = kragx("run", CONFIG, "-o", "out")
    assert outcome.code == 0, outcome.err
    assert "12 settings (chunk_size 3 x tokenizer 2 x k 2): " in outcome.err
    (tuning,) = json.loads((here / "out/report.json").read_text(encoding="utf-8"))["tunings"]
    korean = kragx("--language", "ko", "run", CONFIG, "-o", "ko").out.splitlines()
    chosen = f"{tuning['sentence'].removeprefix('Take ').partition(': the best')[0]} 설정을 쓰세요."
    (in_korean,) = [line for line in korean if line.startswith(chosen)]
    for page, sentence in zip(PAGES, (tuning["sentence"], in_korean)):
        assert sentence in " ".join(page.read_text(encoding="utf-8").split())
    assert len(tuning["settings"]) == 12
    assert {curve["axis"] for curve in tuning["curves"]} == {"chunk_size", "tokenizer", "k"}

"""The pictures of docs/workshop.md: ``python -m tests.workshop.browser.pictures [FOLDER]``.

Makes a workshop of the consumer corpus and its questions, has two people grade passages that its
gold set names (the second differs here and there), and writes workshop.png, workshop-conflicts.png
and workshop-progress.png (1366 x 768) to docs/images. Needs the extras ``browser`` and
``workshop``, Chromium, and a Hangul font.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

from kragx.workshop.folder import FILE, start
from kragx.workshop.records import Judgement
from tests.workshop.serving import Served, serving

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "examples" / "data" / "consumer_ko"
NAMES = ("판정자 1", "판정자 2")


def main() -> None:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "gold"
        start(folder, corpus=DATA / "corpus.jsonl", gold=DATA / "goldset.jsonl", name="소비자 상담")
        _with_targets(folder / FILE)
        with serving(folder) as served, sync_playwright() as playwright:
            people = [served.desk.annotator(one).uid for one in NAMES]
            _judge(served, people)
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu"],
            )
            third = served.annotator("판정자 3")
            for file, token, view in (
                ("workshop.png", third, ""),
                ("workshop-conflicts.png", served.token, "conflicts"),
                ("workshop-progress.png", served.token, "progress"),
            ):
                page = browser.new_page(
                    viewport={"width": 1366, "height": 768}, locale="ko-KR", color_scheme="light"
                )
                page.goto(f"http://127.0.0.1:{served.port}/#{token}")
                page.wait_for_selector("html[data-ready]")
                if view:
                    page.click(f"nav a[href$='{view}']")
                page.wait_for_timeout(1000)  # what is slid in stands still
                page.screenshot(path=out / file)
                print(f"{out / file}: {(out / file).stat().st_size / 1000:.0f} kB")
            browser.close()


def _with_targets(file: Path) -> None:
    settings = yaml.safe_load(file.read_text("utf-8"))
    settings["targets"] = {
        "query_type": {"general_inquiry": 0.5, "legal_interpretation": 0.25, "similar_case": 0.25},
        "difficulty": {"easy": 0.4, "medium": 0.4, "hard": 0.2},
    }
    file.write_text(yaml.safe_dump(settings, allow_unicode=True, sort_keys=False), "utf-8")


def _judge(served: Served, people: list[str]) -> None:
    """Both say what the gold set says of the first pairs; of every sixth the second says less."""
    state = served.desk.state
    pairs = list(state.judgements.items())[:36]
    rows = []
    for number, ((question, document), said) in enumerate(pairs):
        grade = next(iter(said.values()))[-1].grade or 0
        text = served.desk.documents[document].text or ""
        spans = ((0, text.find(".") + 1),) if grade > 1 and "." in text else ()
        own = {"question": question, "document": document, "spans": spans}
        rows.append(Judgement(person=people[0], grade=grade, **own))
        other = max(0, grade - 1) if number % 6 == 3 else grade
        rows.append(Judgement(person=people[1], grade=other, **own))
    state.add(rows)


if __name__ == "__main__":
    main()

"""The pictures of docs/workshop.md: ``python -m tests.workshop.browser.pictures [FOLDER]``.

Goes through the page's tour: a workshop of the consumer corpus, whose retrievers suggest passages.
Two people grade the same ones as the gold set has them (the second differs here and there), and
workshop.png, workshop-conflicts.png and workshop-progress.png (1366 x 768) are written to
docs/images, with the page in English, and workshop.ko.png and so on in Korean. Needs the extras
``browser`` and ``workshop``, Chromium, and a Hangul font.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import yaml

from kragx.data import read_dataset
from kragx.workshop.folder.folder import FILE, Workshop
from kragx.workshop.folder.starting import start
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import State

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "examples" / "data" / "consumer_ko"
CONFIG = ROOT / "configs"
NAMES = ("판정자 1", "판정자 2", "판정자 3")
LANGUAGES = {".png": "en", ".ko.png": "ko"}
"""By the ending of a picture, the page's language; a Korean browser begins in Korean."""


def main() -> None:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "gold"
        start(
            folder,
            corpus=DATA / "corpus.jsonl",
            questions=DATA / "goldset.jsonl",
            config=CONFIG / "workshop.yaml",
            name="소비자 상담",
        )
        settings = yaml.safe_load((folder / FILE).read_text("utf-8"))
        consumer = yaml.safe_load((CONFIG / "consumer.yaml").read_text("utf-8"))
        settings["targets"] = consumer["dataset"]["targets"]
        (folder / FILE).write_text(
            yaml.safe_dump(settings, allow_unicode=True, sort_keys=False), "utf-8"
        )
        with _links(folder) as links, sync_playwright() as playwright:
            _judge(folder)
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu"],
            )
            pictures = (
                ("workshop", NAMES[2], ""),
                ("workshop-conflicts", "owner", "conflicts"),
                ("workshop-progress", "owner", "progress"),
            )
            for (name, person, view), (ending, language) in product(pictures, LANGUAGES.items()):
                file = f"{name}{ending}"
                page = browser.new_page(
                    viewport={"width": 1366, "height": 768}, locale="ko-KR", color_scheme="light"
                )
                page.goto(links[person])
                page.wait_for_selector("html[data-ready]")
                if language != "ko":
                    page.click(f"button[lang={language}]")
                if view:
                    page.click(f"nav a[href$='{view}']")
                page.wait_for_timeout(2000)  # what is slid in stands still
                page.screenshot(path=out / file)
                print(f"{out / file}: {(out / file).stat().st_size / 1000:.0f} kB")
            browser.close()


@contextmanager
def _links(folder: Path) -> Iterator[dict[str, str]]:
    """The links that `kragx workshop` prints, while it runs."""
    people = [word for name in NAMES for word in ("--annotator", name)]
    command = [sys.executable, "-m", "kragx", "workshop", str(folder), "--no-browser", *people]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        links: dict[str, str] = {}
        for line in running.stdout or ():
            if link := re.match(r"(.+): (http\S+)", line):
                links[link[1]] = link[2]
            elif line.startswith("Ctrl-C"):
                break
        try:
            yield links
        finally:
            running.terminate()


def _judge(folder: Path) -> None:
    """Once every retriever has answered: what the gold set says of every other question."""
    gold = read_dataset(DATA / "goldset.jsonl")
    workshop = Workshop.open(folder)
    with workshop.store() as store:
        state = State(store)
        while not all(_is_asked(state, question.id) for question in gold):
            time.sleep(1)
            state.refresh()
        people = {person.name: person.uid for person in state.people.values()}
        rows = []
        for question in list(gold)[::2]:
            answers = {
                doc.id: 3 if item.grade > 1 else 2
                for item in question.gold
                if item.grade > 0
                for doc in (item, *item.alternatives)
            }
            for number, document in enumerate(sorted(state.candidates[question.id])[:5]):
                grade = answers.get(document, number % 2)
                sentence = (workshop.documents[document].text or "").find(".") + 1
                spans = ((0, sentence),) if grade > 1 and sentence else ()
                own = {"question": question.id, "document": document, "spans": spans}
                rows.append(Judgement(person=people[NAMES[0]], grade=grade, **own))
                other = max(0, grade - 1) if len(rows) % 14 == 1 else grade
                rows.append(Judgement(person=people[NAMES[1]], grade=other, **own))
        state.add(rows)


def _is_asked(state: State, question: str) -> bool:
    rows = (row for of_doc in state.candidates.get(question, {}).values() for row in of_doc)
    return len({row.detail for row in rows if row.origin == "retriever"}) == 3


if __name__ == "__main__":
    main()

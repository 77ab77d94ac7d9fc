"""How large and fast a report of 10,000 queries is: ``python -m tests.report.browser.large``.

Three retrievers, ten documents a list, from a corpus of as many distinct passages as queries.
Prints the seconds to write the file, its size, and in Chromium, as the best of three: from the
start of loading to the table being there, sorting by a column, a filter, and opening a question.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from kragx import Gold, GoldDataset, Query, Run, evaluate
from kragx.report.html_page.page import write_html

_SYLLABLES = "가나다라마바사아자차카타파하고노도로모보소오조초코토포호구누두루무부수우주추쿠투푸후"


def passages(n: int, rng: random.Random) -> list[str]:
    """Distinct Korean-looking passages of about 60 words."""
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(20_000)]
    return [" ".join(rng.choices(words, k=rng.randint(40, 80))) + "." for _ in range(n)]


def write(path: Path, n: int) -> float:
    """Write the report of n queries; seconds it took, evaluation not counted."""
    rng = random.Random(0)
    texts = passages(n, rng)
    kinds = ("lookup", "reasoning", "comparison", "other")
    dataset = GoldDataset(
        tuple(
            Query(
                f"q{at}",
                text[:40],
                gold=(Gold(id=f"d{at}", text=text),),
                query_type=rng.choice(kinds),
            )
            for at, text in enumerate(texts)
        )
    )
    runs = {}
    for name, skill in {"bm25": 0.5, "dense": 0.6, "hybrid": 0.65}.items():
        lists = {}
        for at in range(n):
            found = [rng.randrange(n) for _ in range(10)]
            if rng.random() < skill:
                found[rng.randrange(10)] = at
            lists[f"q{at}"] = [{"id": f"d{each}", "text": texts[each]} for each in found]
        runs[name] = Run.from_documents(lists, name=name)
    metrics = ["ndcg@10", "recall@5", "mrr@10", "hit_rate@1", "map@10"]
    evaluations = [
        evaluate(dataset, run, match="overlap", metrics=metrics) for run in runs.values()
    ]
    begun = time.perf_counter()
    write_html(evaluations, path, runs=runs)
    return time.perf_counter() - begun


def main() -> None:
    """Measure, and print a line for each figure."""
    from playwright.sync_api import sync_playwright

    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        print(f"write: {write(path, n):.1f} s")
        print(f"size: {path.stat().st_size / 1e6:.1f} MB")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        taken: dict[str, list[float]] = {}
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            paint = page.evaluate(
                "new Promise(done => new PerformanceObserver(list => list"
                ".getEntriesByName('first-contentful-paint').forEach(each => done(each.startTime)))"
                ".observe({type: 'paint', buffered: true}))"
            )
            taken.setdefault("first paint", []).append(paint)
            taken.setdefault("ready", []).append(page.evaluate("window.kragxReady"))
            clock = (
                "async action => { const begun = performance.now(); action();"
                " await new Promise(done => requestAnimationFrame(() => setTimeout(done)));"
                " return performance.now() - begun; }"
            )
            for name, action in {
                "sort": "() => document.querySelector('[data-sort=\"1\"]').click()",
                "search": "() => { const box = document.getElementById('search');"
                " box.value = '가'; box.dispatchEvent(new Event('input')); }",
            }.items():
                taken.setdefault(name, []).append(page.evaluate(f"({clock})({action})"))
            begun = time.perf_counter()
            page.click("#rows tr[data-at='0']")
            page.wait_for_selector("dialog .card")
            taken.setdefault("open a question", []).append(1000 * (time.perf_counter() - begun))
            page.close()
        browser.close()
    for name, values in taken.items():
        print(f"{name}: {min(values):.0f} ms")


if __name__ == "__main__":
    main()

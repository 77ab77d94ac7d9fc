"""The pictures of the HTML report: ``python -m tests.report.browser.picture [FOLDER]``.

Opens reports in Chromium as somebody with an English or a Korean browser in the light theme sees
them, and writes to docs/images: report.png and report.ko.png, how the report of
configs/consumer.yaml begins; question.png and question.ko.png, a question of the quickstart with
its gold and both lists. Needs the extras ``browser`` and ``bm25``, Chromium, and a Hangul font.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from kragx.app import config, pipeline

ROOT = Path(__file__).resolve().parents[3]

PICTURES = {
    "report.png": ("consumer.yaml", "en-US", ""),
    "report.ko.png": ("consumer.yaml", "ko-KR", ""),
    "question.png": ("quickstart-en.yaml", "en-US", "#q=en-q63&a=words&b=rechunked"),
    "question.ko.png": ("quickstart.yaml", "ko-KR", "#q=ko-q34&a=words&b=rechunked"),
}
"""By the picture: which config's report, whose browser it is, and what is chosen on the page."""


def main() -> None:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    sys.path.insert(0, str(ROOT))  # a config names examples.retrievers
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name in sorted({name for name, *_ in PICTURES.values()}):
            report = pipeline.run(config.load(ROOT / "configs" / name))
            report.to_html(Path(folder) / f"{name}.html")
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for picture, (name, locale, chosen) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": 1400, "height": 900}, locale=locale, color_scheme="light"
            )
            page.goto((Path(folder) / f"{name}.html").as_uri() + chosen)
            page.wait_for_selector("html[data-ready]")
            page.screenshot(path=out / picture)
            print(f"{out / picture}: {(out / picture).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()

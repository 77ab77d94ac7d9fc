"""The READMEs' pictures of the HTML report: ``python -m tests.report.browser.picture [FOLDER]``.

Runs configs/consumer.yaml, opens its report in Chromium as somebody with an English or a Korean
browser in the light theme sees it first, and writes report.png and report.ko.png (1400 x 900) to
docs/images. Needs the extras ``browser`` and ``bm25``, Chromium, and a Hangul font.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from kragx.app import config, pipeline

ROOT = Path(__file__).resolve().parents[3]


PICTURES = {"report.png": "en-US", "report.ko.png": "ko-KR"}
"""By the picture, whose browser it is."""


def main() -> None:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    sys.path.insert(0, str(ROOT))  # the config names examples.retrievers
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        pipeline.run(config.load(ROOT / "configs" / "consumer.yaml")).to_html(path)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for name, locale in PICTURES.items():
            page = browser.new_page(
                viewport={"width": 1400, "height": 900}, locale=locale, color_scheme="light"
            )
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.screenshot(path=out / name)
            print(f"{out / name}: {(out / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()

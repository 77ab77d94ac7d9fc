"""The README's picture of the HTML report: ``python -m tests.report.browser.picture [FILE]``.

Runs configs/consumer.yaml, opens its report in Chromium as somebody with an English browser in the
light theme sees it first, and writes docs/images/report.png (1400 x 900). Needs the extras
``browser`` and ``retrieval``, Chromium, and a Hangul font.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from kragx.app import config, pipeline

ROOT = Path(__file__).resolve().parents[3]


def main() -> None:
    """Write the picture."""
    from playwright.sync_api import sync_playwright

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "report.png"
    out.parent.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT))  # the config names examples.retrievers
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        pipeline.run(config.load(ROOT / "configs" / "consumer.yaml")).to_html(path)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(
            viewport={"width": 1400, "height": 900}, locale="en-US", color_scheme="light"
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=out)
        browser.close()
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

"""How long from a key to the next pair: ``python -m tests.workshop.browser.speed [--chunks N]``.

A person judges in Chromium, over a workshop of so many chunks (`tests.workshop.load`), a pair every
so many milliseconds. Printed is the time from the key's event until the next pair is drawn (the
second frame after it), and how often the page had to wait for the server.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from tests.workshop.load import made
from tests.workshop.serving import serving

_MEASURE = """
(key) => new Promise((done) => {
  const shown = () => document.querySelector("#question").innerText
    + document.querySelector(".passage .text").innerText;
  const before = shown(), start = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", {key, code: `Digit${key}`, bubbles: true}));
  const waits = shown() === before;
  const look = () => shown() === before ? requestAnimationFrame(look)
    : requestAnimationFrame(() => done([performance.now() - start, waits]));
  requestAnimationFrame(look);
})
"""


def main() -> None:
    """Print the figures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--pause", type=int, default=700, help="milliseconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = made(Path(name), options.chunks)
        with serving(folder) as served, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu"],
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="ko-KR")
            page.goto(f"http://127.0.0.1:{served.port}/#{served.annotator('judge')}")
            page.wait_for_selector(".passage .text", timeout=120_000)
            times, waits = [], 0
            for number in range(options.pairs):
                page.wait_for_timeout(options.pause)
                time, has_waited = page.evaluate(_MEASURE, str(number % 4))
                times.append(time)
                waits += has_waited
            browser.close()
    times.sort()
    print(
        f"{len(times)} pairs of {options.chunks} chunks, one every {options.pause} ms: median "
        f"{statistics.median(times):.0f} ms, nine of ten within {times[int(0.9 * len(times))]:.0f} "
        f"ms, most {times[-1]:.0f} ms; waited for the server: {waits}"
    )


if __name__ == "__main__":
    main()

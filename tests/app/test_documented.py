"""docs/command.md names every command, every key of a config, every exit code."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

from kragx import errors
from kragx.app.commands.root import app
from kragx.app.config.models import KEYS
from tests.docs.support import Document

PAGES = [Document("docs/command.md"), Document("docs/command.ko.md")]


def commands(group, *names):
    """The full name of every command below a group; `judge store` stands for its own."""
    for name, command in group.commands.items():
        if hasattr(command, "commands") and (*names, name) != ("judge", "store"):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name))


def first_cells(page):
    """What stands in the first column of the page's tables, as code."""
    return [
        cell for row in re.findall(r"^\| (.*?) \|", page.text, re.M) for cell in row.split(", ")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command(page):
    """The tables of commands hold those that there are, and no others."""
    listed = [cell[7:-1] for cell in first_cells(page) if cell.startswith("`kragx ")]
    assert sorted(listed) == sorted(commands(get_command(app)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_key(page):
    """The table of the config holds all of its keys."""
    cells = [cell.strip("`") for cell in first_cells(page)]
    assert set(KEYS) <= set(cells)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_exit_code(page):
    """The table of exit codes holds that of every error."""
    codes = {cell for cell in first_cells(page) if cell.isdecimal()}
    kinds = (
        *(errors.KragxError, errors.UsageError, errors.DataError),
        *(errors.RetrieverError, errors.JudgingError),
    )
    assert {str(kind.exit_code) for kind in kinds} | {"0", "1", "130"} == codes

"""Docstrings: everything public has one, and the examples in them are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import kragx
from tests.thoroughness import all_cases

MODULES = ["kragx", *(found.name for found in pkgutil.walk_packages(kragx.__path__, "kragx."))]
MODULES.remove("kragx.__main__")  # importing it runs the command


def has_examples(name):
    """Whether a module's source shows a session, told without importing it."""
    path = Path(kragx.__file__).parents[1].joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return re.search(r"^ *>>> ", file.read_text(encoding="utf-8"), re.MULTILINE) is not None


WITH_EXAMPLES = [name for name in MODULES if has_examples(name)]


def public(owner, module):
    """The public classes and functions that a module or class defines, with their names."""
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(value, (classmethod, staticmethod)):
            value = value.__func__  # noqa: PLW2901
        if isinstance(value, property):
            value = value.fget  # noqa: PLW2901
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if value.__module__ != module or value.__name__ != name:
            continue
        yield f"{owner.__name__}.{name}", value
        if inspect.isclass(value):
            yield from public(value, module)


@all_cases("name", MODULES)
def test_everything_public_has_a_docstring(name):
    """A module and every public class, function, method and property in it has a docstring."""
    module = importlib.import_module(name)
    assert module.__doc__
    without = [where for where, value in public(module, name) if not value.__doc__]
    assert without == []


def test_the_walk_finds_what_is_public():
    """The check above sees classes, functions, methods and properties, so it can fail."""
    module = importlib.import_module("kragx.evaluation.evaluation")
    names = {where for where, _ in public(module, "kragx.evaluation.evaluation")}
    assert {
        "Evaluation.with_metrics",
        "kragx.evaluation.evaluation.Evaluation",
        "Evaluation.at_threshold",
    } <= names
    assert len(MODULES) > 20


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name, tmp_path, monkeypatch):
    """Every example in a docstring gives what it says; what it writes goes to an empty folder."""
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted > 0


@all_cases("name", kragx.__all__)
def test_every_public_name_has_an_example(name):
    """What `kragx` itself gives shows how it is used."""
    assert doctest.DocTestFinder(recurse=False).find(getattr(kragx, name))[0].examples


def test_modules_known_to_have_examples():
    """The doors' examples are among those that are tried."""
    assert {
        "kragx.ground.errors",
        "kragx.matchers.registry",
        "kragx.metrics.registry",
        "kragx.data.tokenizers",
    } <= {*WITH_EXAMPLES}

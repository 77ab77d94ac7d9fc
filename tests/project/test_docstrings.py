"""Docstrings: everything public has one, and the examples in them are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import kragx

MODULES = ["kragx", *(found.name for found in pkgutil.walk_packages(kragx.__path__, "kragx."))]
MODULES.remove("kragx.__main__")  # importing it runs the command
WITH_EXAMPLES = (
    "kragx.errors",
    "kragx.matchers.registry",
    "kragx.metrics.registry",
    "kragx.data.tokenizers",
)


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


@pytest.mark.parametrize("name", MODULES)
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


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    """Every example in a docstring gives what it says; the modules known to have some do."""
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    if name in WITH_EXAMPLES:
        assert result.attempted > 0

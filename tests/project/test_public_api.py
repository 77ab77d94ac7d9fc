"""The public names are those that `public_api.txt` lists, with the signatures it has."""

from __future__ import annotations

import ast
import difflib

import pytest

from tests.project import public_api


@pytest.mark.integration  # imports every public module
def test_the_list_is_what_kragx_has():
    """A name or signature that changes shows as a difference, with the command that keeps it."""
    kept = public_api.FILE.read_text(encoding="utf-8").splitlines()
    now = "\n".join(public_api.listing()).rstrip().splitlines()
    difference = "\n".join(difflib.unified_diff(kept, now, "kept", "now", lineterm="", n=1))
    assert kept == now, (
        f"the public API differs:\n{difference}\n"
        "If that is meant (CONTRIBUTING.md, Public API), write the list anew:\n"
        f"python -m tests.project.public_api > tests/project/{public_api.FILE.name}"
    )


def test_a_change_shows():
    """An argument, a default, a type, a decorator: each is part of a line."""
    lines = {
        public_api.signature("f", ast.parse(f"{text}: ...").body[0])
        for text in (
            *("def f(a)", "def f(a, b=1)", "def f(a, b=2)", "def f(a, *, b=1)", "async def f(a)"),
            *("def f(a: int)", "def f(a) -> int", "@property\ndef f(a)"),
        )
    }
    assert len(lines) == 8


def test_what_the_list_holds():
    """Functions, fields, methods of base classes within kragx, doors, rooms and adapters."""
    text = public_api.FILE.read_text(encoding="utf-8")
    for part in (
        *("\nkragx.evaluate(", "\nclass kragx.Evaluation(", "    at_threshold(", "    n_queries"),
        *("    to_dict(", "\nkragx.evaluators.RAGEvaluator = kragx.RAGEvaluator\n"),
        *("\nclass kragx.judging.Judge(", "# kragx.adapters.junit\n", "property "),
    ):
        assert part in text, part

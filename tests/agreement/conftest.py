"""What these tests share: the command, and a writer of label files."""

from __future__ import annotations

import pytest

from tests.app.commands.conftest import here, jsonl, kragx, module
from tests.judging.conftest import store, tape

__all__ = ["here", "jsonl", "kragx", "module", "qrels", "store", "tape"]


@pytest.fixture
def qrels(tmp_path):
    """Write qrels from ``{query: {document: grade}}``; gives the path."""

    def write(name, labels, separator=" "):
        path = tmp_path / name
        lines = [
            separator.join((query, "0", document, str(grade))) + "\n"
            for query, of_query in labels.items()
            for document, grade in of_query.items()
        ]
        path.write_text("".join(lines), encoding="utf-8")
        return path

    return write

"""The documents of tools' answers, as they stand there or where a user says that they stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kragx.data import Doc, Mender
from kragx.errors import DataError, UsageError, nearest
from kragx.evaluation.calls.tool_answers import documents_of_tool
from kragx.evaluation.services.answer_path import AnswerPaths
from kragx.plugins import check_options


@dataclass(frozen=True)
class ToolDocuments(AnswerPaths):
    """Reads the documents of tools' answers; see `documents_in` for what is read without paths."""

    _problems: list[DataError] = field(default_factory=list, init=False, repr=False)
    _fitting: list[bool] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def settings(self) -> dict[str, Any]:
        """What results record of how answers are read."""
        return {"answer": self.paths} if self.paths else {}

    def of(self, content: Any, artifact: Any, mender: Mender) -> tuple[Doc, ...] | None:
        """The documents of an answer; None where it has none, so that nobody knows.

        Args:
            content: what the tool answered with.
            artifact: what it gave beside.
            mender: mends texts.
        """
        if not self.paths:
            return documents_of_tool(content, artifact)
        try:
            docs = self.read(_parsed(content), mender)
        except DataError as problem:
            self._problems.append(problem)
            return None
        self._fitting.append(True)
        return docs

    def check(self) -> None:
        """See to it that the paths led somewhere, once at least.

        Raises:
            DataError: they did not.
        """
        if self._problems and not self._fitting:
            raise self._problems[0]


def tool_documents(answer: Mapping[str, str] | None) -> ToolDocuments:
    """Reads the documents of tools' answers by some paths.

    Raises:
        UsageError: one is no path, or is called something else.
    """
    options = dict(answer or {})
    names = [option.name for option in fields(AnswerPaths)]
    if unknown := [name for name in options if name not in names]:
        raise UsageError(f"unknown: {nearest(unknown[0], names)}", field=f"answer.{unknown[0]}")
    try:
        return ToolDocuments(**options)
    except UsageError as error:
        raise error.within("answer") from None


def _parsed(content: Any) -> Any:
    """What stands in JSON in an answer, or in its blocks of text."""
    if isinstance(content, (list, tuple)):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        if texts and len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            content = "".join(map(str, texts))
    if isinstance(content, str):
        try:
            return json.loads(content)
        except ValueError:
            return content
    return content

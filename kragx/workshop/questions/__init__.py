"""Questions for a gold set, made from a corpus, with how much they copy from it.

See docs/questions.md.
"""

import importlib
from typing import TYPE_CHECKING, Any

from kragx.workshop.questions.leak import leak, mean_leak
from kragx.workshop.questions.making import make_questions
from kragx.workshop.questions.measured import WordLeak, word_leak
from kragx.workshop.questions.probing import ProbeSet, make_probes
from kragx.workshop.questions.question import NewQuestion, QuestionSet
from kragx.workshop.questions.templates import Template, own_templates, read_templates

if TYPE_CHECKING:
    from kragx.workshop.questions.generated import write_questions
    from kragx.workshop.questions.written import WrittenQuestions

__all__ = [
    "NewQuestion",
    "ProbeSet",
    "QuestionSet",
    "Template",
    "WordLeak",
    "WrittenQuestions",
    "leak",
    "make_probes",
    "make_questions",
    "mean_leak",
    "own_templates",
    "read_templates",
    "word_leak",
    "write_questions",
]


def __getattr__(name: str) -> Any:
    if name in __all__:  # judging takes longer to import than all the rest
        return getattr(importlib.import_module("kragx.workshop.questions.generated"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

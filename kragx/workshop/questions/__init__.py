"""Questions for a gold set, made from a corpus, with how much they copy from it.

One road leads to them: documents, what can be asked about them (`documents`), drafts, a sieve of
rules, questions that are kept (`question`). Drafts come from templates (`templates`), from a model
(`generated`), or from whose documents there are (`probing`); which kind is wanted next, `targets`
says. See docs/questions.md.
"""

from kragx.workshop.questions.generated import write_questions
from kragx.workshop.questions.probing import ProbeSet, make_probes
from kragx.workshop.questions.question import NewQuestion, QuestionSet, WrittenQuestions
from kragx.workshop.questions.templates import (
    Template,
    make_questions,
    own_templates,
    read_templates,
)
from kragx.workshop.questions.words import leak, mean_leak

__all__ = [
    "NewQuestion",
    "ProbeSet",
    "QuestionSet",
    "Template",
    "WrittenQuestions",
    "leak",
    "make_probes",
    "make_questions",
    "mean_leak",
    "own_templates",
    "read_templates",
    "write_questions",
]

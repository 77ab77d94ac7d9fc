"""Questions for a gold set, made from a corpus, with how much they copy from it.

See docs/questions.md.
"""

from kragx.workshop.questions.leak import leak, mean_leak
from kragx.workshop.questions.making import make_questions
from kragx.workshop.questions.measured import WordLeak, word_leak
from kragx.workshop.questions.question import NewQuestion, Questions
from kragx.workshop.questions.templates import Template, own_templates, read_templates

__all__ = [
    "NewQuestion",
    "Questions",
    "Template",
    "WordLeak",
    "leak",
    "make_questions",
    "mean_leak",
    "own_templates",
    "read_templates",
    "word_leak",
]

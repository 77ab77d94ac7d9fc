"""Judging: graded relevance by an LLM, stored, priced, resumable, and never a silent zero.

    from kragx.judging import Judge

    judge = Judge("gpt-4.1-mini", budget={"calls": 2000})
    evaluate(gold, retriever, match={"method": "llm", "judge": judge})

See docs/judge.md.
"""

from kragx.judging.budget import Budget, Price
from kragx.judging.client import Answer, Client, Failure, Request, Usage
from kragx.judging.clients.langchain import LangChainClient
from kragx.judging.clients.openai import OpenAIClient
from kragx.judging.examples import Examples
from kragx.judging.judge import Grader, Judge, Judged
from kragx.judging.judgement_counts import Spent, Tally
from kragx.judging.panel import Panel
from kragx.judging.question import Example, Judgement, Question
from kragx.judging.reading import read_judge
from kragx.judging.rubric import RUBRICS, Rubric, read_rubric
from kragx.judging.settings import DEFAULT_STORE as DEFAULT_STORE
from kragx.judging.store import Store

__all__ = [
    "RUBRICS",
    "Answer",
    "Budget",
    "Client",
    "Example",
    "Examples",
    "Failure",
    "Grader",
    "Judge",
    "Judged",
    "Judgement",
    "LangChainClient",
    "OpenAIClient",
    "Panel",
    "Price",
    "Question",
    "Request",
    "Rubric",
    "Spent",
    "Store",
    "Tally",
    "Usage",
    "read_judge",
    "read_rubric",
]

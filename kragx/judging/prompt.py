"""From a question to its messages, and from the answer to what it says.

Everything retrieved is data. It stands between fences that carry a token derived from the
question's key, so that a text cannot know the fence that will close it; should the token, or
anything that looks like a fence or like a chat template's control token, stand in a text all the
same, it is broken up first. No grade is ever read out of prose: the answer is a JSON object that
fits the schema, or the judgement failed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kragx.data.formats.jsonl import foreign_json
from kragx.judging.client import Failure, Message, Request, Token
from kragx.judging.forms import FORMS, AnswerReading
from kragx.judging.neutralise import neutralise
from kragx.judging.question import Example, Question, digest_of_example
from kragx.judging.rubric import key_of, words_around
from kragx.judging.template import parts

_LEAST = 0.5  # of all probability; where less of it is on grades, they say too little


def request_for(question: Question, key: str, timeout: float) -> Request:
    """The request with which a question is asked, at once or in a batch."""
    form = FORMS[question.rubric.asks]
    return Request(messages(question, key), form.schema(question), timeout, form.about_output)


def messages(question: Question, key: str) -> tuple[Message, ...]:
    """The system message (rubric and rules) and the user message (the fenced texts).

    Under a prompt of the user's own that is the user message, and the rules are the system's.
    """
    rubric, token = question.rubric, key[:16]
    words, rubric_words = words_around(rubric), rubric.words
    rules = words["rules_with_examples" if question.examples else "rules"]
    rules = rules.format(token=token, most=question.most, kind=question.kind)
    blocks = {name: fenced(name, text, token) for name, text in question.texts.items()}
    if rubric.prompt is None:
        system = "\n\n".join(
            (rubric_words["instruction"], f"{words['grades']}\n{rubric_words['grades']}", rules)
        )
        user = "\n\n".join(f"{words[name]}:\n{block}" for name, block in blocks.items())
    else:
        system = rules
        user = _on_lines(parts(rubric.prompt, tuple(rubric_words.items()), tuple(blocks)), blocks)
    if question.examples:
        # What is the same for all questions comes first: providers charge less for it, or nothing.
        mark = words["to_grade"].format(token=token)
        around = tuple((name, words[name]) for name in _AROUND)
        user = "\n\n".join((_graded(question.examples, around), mark, user))
    return ("system", system), ("user", user)


def _on_lines(pieces: Iterable[tuple[str, str]], blocks: Mapping[str, str]) -> str:
    """Words with the blocks that come after them, each block on lines of its own."""
    written = ""
    for words, name in pieces:
        # What touches a block, but for spaces, goes to a line of its own.
        after_block = words.lstrip(" ") if written else words
        written += f"\n{after_block}" if written and after_block[:1] not in "\n" else after_block
        if name:
            written = written.rstrip(" ")
            written += f"\n{blocks[name]}" if written[-1:] not in "\n" else blocks[name]
    return written.strip()


_AROUND = ("examples", "example", "query", "gold", "reference", "example_document", "example_grade")


@lru_cache(maxsize=64)  # the same few for thousands of questions
def _graded(examples: tuple[Example, ...], around: tuple[tuple[str, str], ...]) -> str:
    """Pairs with the grades that people gave them, their texts as data like any others."""
    words = dict(around)
    token = key_of("\n".join(map(digest_of_example, examples)))[:16]
    lines = [words["examples"].format(token=token)]
    for number, example in enumerate(examples, start=1):
        lines.append(words["example"].format(number=number))
        for name, text in example.texts.items():
            called = words["example_document" if name == "document" else name]
            lines.append(f"{called}:\n{fenced(name, text, token)}")
        lines.append(f"{words['example_grade']}: {example.grade}")
    return "\n\n".join(lines)


def fenced(name: str, text: str, token: str) -> str:
    """A text as data: between two lines that carry the token, and unable to close them."""
    return f"<<<{name} {token}>>>\n{neutralise(text, token)}\n<<<end {token}>>>"


def read_answer(text: str, question: Question) -> AnswerReading | Failure:
    """What an answer says that is the JSON object asked for, and nothing else."""
    form = FORMS[question.rubric.asks]
    answer = answer_object(text, form.schema(question)["required"])
    return answer if isinstance(answer, Failure) else form.read(answer, question)


def answer_object(text: str, names: Collection[str]) -> Mapping[str, Any] | Failure:
    """The object with just these names that an answer is.

    A byte order mark, and a code fence around the whole of it, are no part of the answer.
    """
    bare = text.strip().removeprefix("\ufeff").strip()
    first, _, rest = bare.partition("\n")
    if first.strip().lower() in ("```", "```json") and rest.endswith("```"):
        bare = rest.removesuffix("```")
    try:
        answer = foreign_json(bare, strict=True)
    except ValueError as error:
        return Failure("invalid_json", f"not the JSON object asked for ({error}): {bare}")
    if not isinstance(answer, dict) or set(answer) != set(names):
        problem = f"not an object with {' and '.join(map(repr, names))} alone"
        return Failure("invalid_json", f"{problem}: {bare}")
    return answer


def expected_grade(
    reading: AnswerReading, tokens: Sequence[Token], question: Question
) -> float | None:
    """The mean of a rubric's grades by the model's probabilities at the place of the grade.

    A judge that says 2 may have been as near to 3 as to 1. The token that is the grade is found by
    trying: what stands for it must make the same answer with another grade of the rubric, so no
    text is searched. After Y. Liu et al., G-Eval: NLG evaluation using GPT-4 with better human
    alignment, 2023.

    None without probabilities; where they are not of this answer, or less than half of them is on
    grades; for a scale beyond 9, whose grades may be several tokens; and for lists.

    Args:
        reading: what the answer says.
        tokens: that it is made of.
        question: what was asked.
    """
    grades = sorted(question.rubric.grades)
    # Some servers take a code fence off the text, and not off its tokens.
    whole = b"".join(token.text for token in tokens)
    is_one = tokens and reading.entries is None and grades[-1:] <= [9]
    if not is_one or _grade_with((whole, b""), b"", reading, question) is None:
        return None
    end = len(whole)
    for token in reversed(tokens):  # the grade is mostly the last of an answer
        start = end - len(token.text)
        place = whole[:start], whole[end:]
        end = start
        digits = str(reading.grade).encode()
        if digits not in token.text:
            continue
        alternatives = [token.text.replace(digits, str(grade).encode()) for grade in grades]
        if [_grade_with(place, spelling, reading, question) for spelling in alternatives] != grades:
            continue
        graded = [
            (grade, chance)
            for spelling, chance in token.chances.items()
            if (grade := _grade_with(place, spelling, reading, question)) is not None
        ]
        total = sum(chance for _, chance in graded)
        return sum(grade * chance for grade, chance in graded) / total if total >= _LEAST else None
    return None


def _grade_with(
    place: tuple[bytes, bytes], token: bytes, reading: AnswerReading, question: Question
) -> float | None:
    """The grade of the answer with a token at this place, if only the grade is another one."""
    answer = read_answer(token.join(place).decode("utf-8", "replace"), question)
    if isinstance(answer, Failure) or answer.reason != reading.reason:
        return None
    return answer.grade

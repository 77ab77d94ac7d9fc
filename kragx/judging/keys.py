"""A question's key: a hash of everything that the judgement depends on."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from kragx.ground.secrets import BareUrl
from kragx.judging.question import Example, Question
from kragx.judging.rubric import RUBRICS, Rubric, read_rubric

PROMPT_VERSION = 1
"""Part of every key; counts up with any change of words.yaml, or of the fences or the schema.

Not with what `neutralise` breaks up: keys hold texts as they were retrieved, and a grade that was
given before a token's family was known stays the grade of its text; `repeat` asks anew.
"""

EXAMPLES_VERSION = 1
"""The same for the words around examples; a part of the keys of questions that come with some."""

_OF_LISTS = ("facts", "most", "kind")  # in keys only where they are asked for
_TEXTS = ("query", "document", "gold", "reference")
_LIMITS = frozenset(
    {
        *("max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens"),
        *("max_tokens_to_sample", "num_predict", "n_predict"),
    }
)
"""What clients and servers call the most tokens that an answer may have."""
_NO_MATTER = _LIMITS | {"timeout", "request_timeout"}
"""Settings that only say when to give up: an answer that is complete does not depend on them."""
_NESTED = frozenset({"args", "extra_body", "model_kwargs", "generation_config", "options"})
"""Settings that hold others; deeper ones (``reasoning: {max_tokens: ...}``) steer the model."""


def essential(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A client's settings without what only bounds an answer, or logs in: what keys know of it."""
    bare: dict[str, Any] = {}
    for name, value in settings.items():
        if name in _NESTED and isinstance(value, Mapping):
            if inner := essential(value):
                bare[name] = inner
        elif name == "base_url" and isinstance(value, str):
            bare[name] = BareUrl(value)
        elif name not in _NO_MATTER:
            bare[name] = value
    return bare


def output_limit(settings: Mapping[str, Any]) -> int | None:
    """The most tokens that an answer may have under a client's settings; None if they do not say.

    Of several limits the highest: which of them a server keeps to is its own affair.
    """
    limits = [value for name, value in settings.items() if name in _LIMITS and _is_limit(value)]
    nested = (settings[name] for name in _NESTED & settings.keys())
    limits += filter(None, (output_limit(inner) for inner in nested if isinstance(inner, Mapping)))
    return max(limits, default=None)


def _is_limit(value: object) -> bool:
    # Ollama's -1 and -2 are no limits.
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def digest(rubric: Rubric) -> dict[str, str]:
    """A rubric as it enters the key: its id, and a digest of its words.

    A user may change a rubric's words and forget its id; the digest does not.
    """
    prompt = [] if rubric.prompt is None else [rubric.prompt]
    content = canonical_json([rubric.instruction, sorted(rubric.grades.items()), *prompt])
    return {"id": rubric.id, "language": rubric.language, "digest": key_of(content)[:16]}


def material(
    question: Question, client: Mapping[str, Any], repeat: int, rubric: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that a judgement depends on, and nothing else (no rank, retriever or id).

    Args:
        question: what is judged.
        client: what is `essential` of the client's settings.
        repeat: which repeat it is.
        rubric: the `digest` of the question's rubric.
    """
    about = {
        "asks": question.rubric.asks,
        **{name: getattr(question, name) for name in _TEXTS},
        **{name: value for name in _OF_LISTS if (value := getattr(question, name))},
        "rubric": dict(rubric),
        "prompt": PROMPT_VERSION,
        "client": client,
        "repeat": repeat,
    }
    # What is new enters only where it is used, so that earlier keys stay what they are.
    if question.examples:
        digests = [digest_of_example(example) for example in question.examples]
        name = question.examples_name
        about["examples"] = {"name": name, "prompt": EXAMPLES_VERSION, "shown": digests}
    return about


@lru_cache(maxsize=4096)  # a few examples stand in every question
def digest_of_example(example: Example) -> str:
    """What the key of a question knows of an example: a digest of its texts and grade."""
    texts = (example.query, example.gold, example.reference, example.document)
    return key_of(canonical_json([*texts, example.grade]))[:16]


def question_of(about: Mapping[str, Any], rubric: Rubric) -> Question:
    """The question that has this material, but for where it came from.

    Args:
        about: as `material` gives it.
        rubric: the question's, of which the material only has a digest.
    """
    texts: dict[str, Any] = {name: about.get(name) for name in _TEXTS}
    fields = {name: about[name] for name in _OF_LISTS if name in about}
    return Question(rubric, **texts, **{**fields, "facts": tuple(about.get("facts", ()))})


def key_of(canonical: str) -> str:
    """The key of a question's canonical JSON: its SHA-256 in hexadecimal."""
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON in one form: keys sorted, no white space, Unicode as it is."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


# -- in which words a stored question was asked --------------------------------------------------

# A rubric's id is its user's to give, and words are changed without a new one: what was asked in
# other words is other grades all the same, and never mixed with them.
Wording = tuple[str, str]
"""A rubric's id, and the start of the digest of its words."""
_SHOWN = 8  # characters of a digest


def wording_of(question: Mapping[str, Any]) -> Wording:
    """The wording of a question as a store keeps it."""
    rubric = question.get("rubric", {})
    return str(rubric.get("id", "?")), str(rubric.get("digest", ""))[:_SHOWN]


def name_of_rubric(rubric: str) -> str:
    """What names a rubric: its id; of its file, the id with the words that it has now.

    Raises:
        DataError, UsageError: the file cannot be read, or holds no rubric.
    """
    if not is_file(rubric):
        return rubric
    identity = digest(read_rubric(rubric))
    return f"{identity['id']}@{identity['digest'][:_SHOWN]}"


def is_file(rubric: str) -> bool:
    """Whether a rubric is named by its file."""
    return rubric.endswith((".yaml", ".yml"))


def built_in_of(rubric: str) -> Rubric | None:
    """The built-in rubric whose words an id stands for, under whatever prompt; None for another."""
    return RUBRICS.get(rubric.partition("+")[0])


def is_named(wording: Wording, name: str) -> bool:
    """Whether a name is a wording's: its rubric's id, or ``ID@DIGEST``."""
    return name in (wording[0], "@".join(wording))


def names_of(wordings: Iterable[Wording]) -> dict[Wording, str]:
    """What each wording is called: its rubric's id, with the digest where several share that."""
    distinct = set(wordings)
    sharing = Counter(rubric for rubric, _ in distinct)
    return {
        identity: identity[0] if sharing[identity[0]] == 1 else "@".join(identity)
        for identity in distinct
    }

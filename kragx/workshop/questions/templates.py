"""Templates of questions: YAML with Jinja2 patterns, our own sets or somebody's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

from kragx.data.formats.jsonl import read_text
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.ground.errors import DataError, UsageError, inside, nearest
from kragx.ground.plugins import check_options, fitting, from_options, is_text, one_of, optional
from kragx.judging.template import environment
from kragx.workshop.questions.grammar import josa

Language = Literal["ko", "en"]

LONGEST = 500
"""Characters of a question; what a template makes longer is none."""

_needed_text = fitting(is_text, "{!r} is no text; write one")


@dataclass(frozen=True)
class Template:
    """One pattern of questions.

    Attributes:
        id: names it in the questions made from it.
        query_type: of these questions.
        difficulty: the same.
        text: the pattern, in Jinja2: ``heading``, ``noun`` and ``nouns`` of a document, its
            ``metadata`` and each field of that by its name. ``{{ noun | josa("은/는") }}`` adds the
            particle that grammar asks for. What it leaves empty is no question.
        language: of the documents that it is for; None for any.

    Raises:
        UsageError: a field is wrong; of a pattern, that it is no Jinja2.
    """

    id: Annotated[str, _needed_text]
    query_type: Annotated[str, _needed_text]
    difficulty: Annotated[str, _needed_text]
    text: Annotated[str, _needed_text]
    language: Annotated[Language | None, optional(one_of("ko", "en"))] = None

    def __post_init__(self) -> None:
        check_options(self)
        with inside("text"):
            _compiled(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """What a document must have for it: what its pattern shows."""
        return _compiled(self.text)[1] - {"metadata"}

    def render(self, values: Mapping[str, Any]) -> str | None:
        """The question that it makes of some values; None if it makes none of them.

        Args:
            values: by name; they stay text, whatever they hold.
        """
        from jinja2 import UndefinedError

        try:
            text = _compiled(self.text)[0].render(values)
        except UndefinedError:
            return None
        except Exception as error:  # whatever the expressions of a template may raise
            raise UsageError(f"{self.id!r} cannot be filled: {error}", field="templates") from None
        question = " ".join(str(text).split())
        return question if question and len(question) <= LONGEST else None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[Any, frozenset[str]]:
    """A pattern that can be rendered, and the names that it takes from outside."""
    from jinja2 import TemplateError, meta

    jinja = environment()
    jinja.filters["josa"] = josa
    try:
        names = meta.find_undeclared_variables(jinja.parse(pattern))
        return jinja.from_string(pattern), frozenset(names - jinja.globals.keys())
    except TemplateError as error:
        raise UsageError(f"no Jinja2: {error}") from None


def read_templates(source: object) -> tuple[Template, ...]:
    """Templates from a YAML file, or from what such a file holds.

    It holds ``templates``, a list of the fields of `Template`, and maybe ``language``, which is
    that of those that name none.

    Raises:
        DataError: the file cannot be read.
        UsageError: what it says are no templates.
    """
    path = str(source) if isinstance(source, str | Path) else ""
    if path:
        try:
            source = yaml.load(read_text(path), Loader)
        except yaml.YAMLError as error:
            raise DataError(yaml_problem(error), path=path) from None
    with inside(path=path):
        if not isinstance(source, Mapping) or not isinstance(source.get("templates"), list):
            remedy = "write 'templates:' and a list below it (docs/questions.md)"
            raise UsageError("holds no templates", remedy=remedy)
        if unknown := source.keys() - {"templates", "language"}:
            name = min(map(str, unknown))
            raise UsageError(
                "unknown field", field=name, remedy=nearest(name, ("templates", "language"))
            )
        shared = {"language": source["language"]} if source.get("language") else {}
        templates: list[Template] = []
        for number, entry in enumerate(source["templates"]):
            with inside(f"templates[{number}]"):
                if not isinstance(entry, Mapping):
                    raise UsageError("a mapping with id, query_type, difficulty and text is needed")
                templates.append(from_options(Template, {**shared, **entry}))
        check_ids(templates)
    return tuple(templates)


def check_ids(templates: Sequence[Template]) -> None:
    """Raise a `UsageError` unless there are templates, each with an id of its own."""
    if not templates:
        raise UsageError("there is none; write at least one", field="templates")
    ids = [template.id for template in templates]
    for number, name in enumerate(ids):
        if name in ids[:number]:
            raise UsageError(f"{name!r} stands twice", field=f"templates[{number}].id")


@lru_cache
def own_templates(language: Language) -> tuple[Template, ...]:
    """The set of kragx for a language: three types of questions, each easy, medium and hard."""
    return read_templates(Path(__file__).parent / "sets" / f"{language}.yaml")

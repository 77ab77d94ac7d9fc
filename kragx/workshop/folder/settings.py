"""What stands in the workshop.yaml of a workshop's folder."""

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo

from kragx.data.rules import RuleSet
from kragx.data.validation import target_problems
from kragx.data.yaml_text import yaml_mapping
from kragx.ground.errors import ConfigError, UsageError, nearest
from kragx.ground.plugins import with_variables
from kragx.workshop.state.tables import USUAL

Language = Literal["ko", "en"]


def _anchored(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {})["here"]
    return Path(os.path.normpath(folder / path.expanduser()))


_LocalPath = Annotated[Path, AfterValidator(_anchored)]


def _real_targets(value: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    if problems := "; ".join(target_problems(value)):
        raise ValueError(problems)
    return value


def _real_rules(value: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(RuleSet.of(value).source or {}) if value else {}
    except UsageError as error:
        raise ValueError(str(error)) from None


def _real_scale(value: dict[int, str]) -> dict[int, str]:
    if sorted(value) != list(range(len(value))) or not 2 <= len(value) <= 10:
        raise ValueError("grades are 0, 1, 2, ..., 2 to 10 of them, each with its words")
    return value


class WorkshopSettings(BaseModel):
    """What stands in workshop.yaml; relative paths start at its folder.

    Attributes:
        name: of the gold set.
        language: of the guidelines' sample, and of the page in a browser of another language.
        corpus: file or folder with the documents.
        config: of `kragx run`, whose retrievers suggest documents; None for none.
        database: the URL of a PostgreSQL database; None for the file beside it.
        database_schema: of that database (``schema`` in the file).
        scale: what each grade means.
        targets: shares to be reached, by query_type and difficulty.
        leak_target: the most that the set's mean word leak should be.
        k: how many documents each retriever suggests.
        twice: the share of pairs that go to a second person as well; 1 for all.
        forbidden: the rules of the gold set; releases have them.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=200)]
    language: Language = "en"
    corpus: _LocalPath
    config: _LocalPath | None = None
    database: str | None = None
    database_schema: str = Field(default=USUAL, alias="schema", pattern="^[a-z_][a-z0-9_]{0,62}$")
    scale: Annotated[dict[int, str], AfterValidator(_real_scale)]
    targets: Annotated[dict[str, dict[str, float]], AfterValidator(_real_targets)] = Field(
        default_factory=dict
    )
    leak_target: float | None = Field(default=None, ge=0, le=1)
    k: int = Field(default=10, ge=1, le=1000)
    twice: float = Field(default=0.2, ge=0, le=1)
    forbidden: Annotated[dict[str, Any], AfterValidator(_real_rules)] = Field(default_factory=dict)


def settings_of(text: str, name: str, folder: Path) -> WorkshopSettings:
    """The settings in a YAML text.

    Raises:
        ConfigError: all that is wrong with it.
    """
    raw = yaml_mapping(text, name, "a mapping with 'name', 'corpus' and 'scale' is expected")
    raw = {str(key): value for key, value in raw.items() if value is not None}
    problems: list[str] = []
    if isinstance(database := raw.get("database"), str):
        raw["database"] = with_variables(database, lambda match: _variable(match[1], problems))
    valid = [field.alias or key for key, field in WorkshopSettings.model_fields.items()]
    problems += [f"{key}: unknown key; {nearest(key, valid)}" for key in raw if key not in valid]
    known = {key: value for key, value in raw.items() if key in valid}
    try:
        settings = WorkshopSettings.model_validate(known, context={"here": folder})
    except ValidationError as error:
        from kragx.app.config.problems import readable  # a config's machinery takes long to load

        raise ConfigError(name, [*problems, *readable(error, known)]) from None
    if problems:
        raise ConfigError(name, problems)
    return settings


def _variable(name: str, problems: list[str]) -> str:
    if name not in os.environ:
        problems.append(f"database: the environment variable {name!r} is not set")
    return os.environ.get(name, "")

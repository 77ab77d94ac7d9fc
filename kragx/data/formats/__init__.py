"""Every format of gold sets and results, a line each, in order of recognition."""

from collections.abc import Iterator, Mapping

from kragx.data.formats.format import Format
from kragx.data.formats.gold import GOLD, GOLDSET
from kragx.data.formats.other_tools import (
    AUTORAG,
    DEEPEVAL,
    LLAMAINDEX,
    PASSAGES,
    RAGAS,
    SCIENCE_QA,
)
from kragx.data.formats.trec import QRELS
from kragx.ground.entry_points import plugins
from kragx.ground.errors import UsageError, nearest
from kragx.ground.plugins import load
from kragx.ground.printing import message

FORMATS: Mapping[str, Format] = {
    reader.name: reader
    for reader in (
        *(AUTORAG, RAGAS, DEEPEVAL, LLAMAINDEX, PASSAGES, GOLDSET, GOLD, QRELS, SCIENCE_QA),
    )
}


def format_names() -> list[str]:
    """Every format by name: kragx's own, and those that installed packages add."""
    return [*FORMATS, *plugins("formats")]


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        UsageError: there is none, or what a package adds under the name is no format.
    """
    if name in FORMATS:
        return FORMATS[name]
    if name not in plugins("formats"):
        problem = message("unknown value {value!r}", value=name)
        raise UsageError(problem, field="format", remedy=nearest(name, format_names()))
    plugin = plugins("formats")[name]
    added = load(plugin.path)
    if not isinstance(added, Format):
        raise UsageError(
            "{place} of the package {package} is no format",
            place=plugin.path,
            package=plugin.package,
        )
    return added


def every_format() -> Iterator[Format]:
    """All of them, in order of recognition; what packages add is loaded once it is reached."""
    yield from FORMATS.values()
    yield from map(format_named, plugins("formats"))

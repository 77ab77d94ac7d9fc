"""YAML as kragx reads it: configs, match specs, rubrics. Whatever is wrong is a `YAMLError`."""

from itertools import chain
from typing import Any

import yaml

from kragx.ground.errors import ConfigError, shorten
from kragx.ground.printing import message

MOST_PARTS = 100_000
"""Of a YAML text, with what its aliases (``*name``) repeat: a few lines can stand for billions."""


class Loader(yaml.SafeLoader):
    """SafeLoader, but a key that stands twice is an error instead of silently the last one.

    Whatever is wrong is a `yaml.YAMLError`, and what aliases make too large is, too.
    """

    def get_single_node(self) -> yaml.Node | None:
        """The whole text; an error where it is nested too deeply, or too much by its aliases."""
        try:
            node: yaml.Node | None = super().get_single_node()
            if node is not None:
                _count_parts(node, {})
        except RecursionError:
            raise yaml.YAMLError("nested too deeply") from None
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value; an error with its place where it is not what its tag or its looks say."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            kind = node.tag.rpartition(":")[2]
            problem = message(
                "{value} is no {kind} ({error}); a text needs quotes",
                value=shorten(node.value),
                kind=kind,
                error=error,
            )
            raise _refused(problem, node) from None


def _count_parts(node: yaml.Node, counts: dict[yaml.Node, int]) -> int:
    """How many values a node stands for, itself included.

    Raises:
        yaml.YAMLError: it stands within itself, or for more than `MOST_PARTS`; a key of it stands
            twice; or it holds NUL, which neither files nor databases take.
    """
    if node not in counts:
        counts[node] = MOST_PARTS + 1  # until it is known: what stands within itself has no end
        if isinstance(node, yaml.ScalarNode) and "\0" in node.value:
            value = shorten(node.value)
            problem = message("{value} holds the character NUL; remove it", value=value)
            raise _refused(problem, node)
        keys: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            # `<<` takes over what others hold, and may stand more than once.
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in keys:
                    raise _refused(message("the key {key!r} stands twice", key=key.value), key)
                keys.add(key.value)
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        nodes = chain.from_iterable(parts) if isinstance(node, yaml.MappingNode) else parts
        counts[node] = 1 + sum(_count_parts(part, counts) for part in nodes)
    if counts[node] > MOST_PARTS:
        problem = message("more than {n} values, with what aliases repeat", n=MOST_PARTS)
        raise _refused(problem, node)
    return counts[node]


def _refused(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(None, None, problem, node.start_mark)


_MAPPING = message("a mapping is expected")


def yaml_mapping(text: str, name: str, expected: str = _MAPPING) -> dict[Any, Any]:
    """The mapping that a YAML text holds.

    Args:
        text: the text.
        name: of its file, for what is wrong with it.
        expected: what is said where it holds something else.

    Raises:
        ConfigError: it is no YAML, or no mapping.
    """
    try:
        mapping = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise ConfigError(name, [yaml_problem(error)]) from None
    if not isinstance(mapping, dict):
        raise ConfigError(name, [expected])
    return mapping


def yaml_problem(error: yaml.YAMLError) -> str:
    """What is wrong and where, and the remedy where there is a usual one."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return message("not valid YAML: {error}", error=error)
    mark, problem = error.problem_mark, error.problem or ""
    # In brackets such a value is no block, but a sign that begins nothing.
    is_unquoted = problem.startswith(("found character '>'", "found character '|'"))
    return message(
        "not valid YAML: line {line}, column {column}: {problem}; a value that begins with > or | "
        'needs quotes, for example ">= 0.75"'
        if is_unquoted or error.context == "while scanning a block scalar"
        else "not valid YAML: line {line}, column {column}: {problem}",
        line=mark.line + 1,
        column=mark.column + 1,
        problem=problem,
    )

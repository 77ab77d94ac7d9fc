"""Every built-in match method, and from what a user writes for `match` to a matcher.

What each method takes for a match stands in docs/matching.md.
"""

import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kragx.ground import plugins
from kragx.ground.entry_points import import_path, plugins as added
from kragx.ground.errors import KragxError, UsageError, inside, nearest, shorten
from kragx.ground.options import made_of, mistakes_of, refusal
from kragx.ground.printing import message
from kragx.matchers.base import BaseMatcher, Matcher, adapted
from kragx.matchers.combine import KINDS, CombinedMatcher, Kind, Step

_FIRST = ("ids", "texts", "overlap", "span", "pages", "embedding", "judge")
"""The files whose methods come first in help and errors, in this order."""


def _methods() -> Iterator[tuple[str, partial[BaseMatcher]]]:
    """The methods that the classes of this folder's files define, with what makes them."""
    files = [file.name for file in pkgutil.iter_modules([str(Path(__file__).parent)])]
    for file in dict.fromkeys((*_FIRST, *files)):
        module = import_module(f"kragx.matchers.{file}")
        for kind in vars(module).values():
            is_ours = isinstance(kind, type) and kind.__module__ == module.__name__
            if is_ours and issubclass(kind, BaseMatcher):
                yield from ((name, partial(kind, **of)) for name, of in kind.methods().items())


METHODS: Mapping[str, partial[BaseMatcher]] = dict(_methods())
"""Every built-in match method and what makes its matcher; its options are the class's fields.

They are found in the files of this folder: a class with a `name`, or with several `methods`.
"""


def matcher(
    spec: object, defaults: Mapping[str, Any] = MappingProxyType({}), *, field: str = "match"
) -> BaseMatcher:
    """The matcher that a name, a mapping, an import path or a matcher stands for.

    An object that is no `BaseMatcher` but has `threshold` and `scores` is wrapped in one.

    Args:
        spec: what stands for a matcher.
        defaults: options that a built-in method gets where it has them and the spec does not name
            them.
        field: where the spec stands, for errors.

    Raises:
        UsageError: there is no such method, or it does not take these options.

    Examples:
        >>> from kragx import matcher
        >>> matcher("phrase")
        PhraseMatcher(casefold=True, tokenizer=AutoTokenizer(passages=None), numbers=None)
        >>> matcher({"method": "id", "id_key": "metadata.parent_id"})
        IdMatcher(id_key='metadata.parent_id', gold_id_key=None)
    """
    with inside(field):
        if isinstance(spec, str):
            return _named(spec, {}, defaults)
        options = spec if isinstance(spec, Mapping) else {"method": spec}
        if (kind := _kind(options)) is not None:
            return _combined(kind, options, defaults)
        options = {str(key): value for key, value in options.items()}
        method = options.pop("method", None)
        if isinstance(method, str):
            return _named(method, options, defaults)
        if isinstance(method, Matcher) and not (options or isinstance(method, type)):
            return adapted(method)
        raise _no_matcher(spec, method, options)


def _no_matcher(spec: object, method: object, options: Iterable[str]) -> UsageError:
    """The error for what makes no matcher, with what was probably meant."""
    from kragx.judging import Grader

    names = method_names()
    remedy = message(
        "pass one of {names}, a mapping with 'method', an import path 'package.module:name', or "
        "an object with threshold and scores",
        names=", ".join(names),
    )
    if named := [name for name in options if name in names]:
        remedy = message("write {{'method': {name!r}, ...}}, with its options there", name=named[0])
    elif isinstance(method, (list, tuple)):
        remedy = message("write {{'any': [...]}}, or {{'all': [...]}}")
    elif isinstance(method, Grader):
        remedy = message("write {{'method': 'llm', 'judge': judge}}")
    quoted = shorten(dict(spec) if isinstance(spec, Mapping) else spec)
    return UsageError(message("{spec} is not a matcher", spec=quoted), remedy=remedy)


def label(spec: object) -> str:
    """What a report calls the matcher of a spec: the method as the user named it."""
    if isinstance(spec, str):
        return spec
    if not isinstance(spec, Mapping):
        return str(matcher(spec).settings["method"])
    kind = _kind(spec)
    return f"{kind}({', '.join(map(label, spec[kind]))})" if kind else str(spec.get("method"))


def method_names() -> list[str]:
    """Every method by name: the built-in ones, and those that installed packages add."""
    return [*METHODS, *added("matchers")]


@cache
def method_class(method: str) -> type[BaseMatcher]:
    """The class of a built-in method's matchers, which says what one needs and asks.

    Of any other method it is the base of all, which needs and asks nothing.
    """
    return METHODS[method].func if method in METHODS else BaseMatcher  # type: ignore[return-value]


def is_built_in(matcher: BaseMatcher) -> bool:
    """Whether a matcher is of a built-in method: kragx's own, and no subclass of somebody's."""
    return type(matcher) is method_class(matcher.name)


def sources_of(spec: object) -> Iterator[str]:
    """Which code and models a spec's scores come from, members of combinations too."""
    options = spec if isinstance(spec, Mapping) else {"method": spec}
    members: Any = None if (kind := _kind(options)) is None else options[kind]
    for member in members if isinstance(members, (list, tuple)) else ():
        yield from sources_of(member)
    if kind is not None:
        return
    method, tokenizer = options.get("method"), options.get("tokenizer")
    if isinstance(method, str) and method_class(method).asks:
        yield str(options.get("embeddings", "a judge"))
        return
    cuts = tokenizer.get("name") if isinstance(tokenizer, Mapping) else tokenizer
    if isinstance(method, str) and method not in METHODS:
        method = import_path("matchers", method)
    yield from [name for name in (method, cuts) if isinstance(name, str) and ":" in name][:1]


@cache
def option_names(method: str) -> tuple[str, ...]:
    """The options that a built-in method takes."""
    made = METHODS[method]
    options = fields(made.func)  # type: ignore[arg-type]  # all of ours are dataclasses
    return tuple(f.name for f in options if f.init and f.name not in made.keywords)


def _named(method: str, options: dict[str, Any], defaults: Mapping[str, Any]) -> BaseMatcher:
    if ":" in method:
        return _plugged_in(method, options)
    if method not in METHODS:
        path = import_path("matchers", method)
        if ":" in path:
            return _plugged_in(path, {"args": options})
        problem = message("unknown method {method!r}", method=method)
        raise UsageError(problem, remedy=nearest(method, method_names()))
    valid = option_names(method)
    errors: list[KragxError] = [
        _no_option(method, name, valid) for name in sorted(options.keys() - valid)
    ]
    make, common = METHODS[method], {k: defaults[k] for k in defaults.keys() & {*valid}}
    right = {name: option for name, option in options.items() if name in valid}
    try:
        made: BaseMatcher = made_of(make.func, {**common, **right, **make.keywords})  # type: ignore[arg-type]  # a class
    except KragxError as error:
        errors += mistakes_of(error)
    if errors:
        raise refusal(errors)
    return made


def _no_option(method: str, name: str, valid: Sequence[str]) -> UsageError:
    """The error of an option that a method does not have."""
    if name != "threshold":
        problem = message("{method!r} has no such option", method=method)
        return UsageError(problem, field=name, remedy=nearest(name, valid))
    methods = [known for known in METHODS if "threshold" in option_names(known)]
    return UsageError(
        "{method!r} decides yes or no and has no threshold",
        field="threshold",
        remedy="remove it, or use one of {methods}",
        method=method,
        methods=", ".join(methods),
    )


def _plugged_in(path: str, options: Mapping[str, Any]) -> BaseMatcher:
    """Somebody's matcher, by its import path."""
    for name in options.keys() - {"args"}:
        raise UsageError(
            "unknown option; what {place!r} takes belongs under 'args'", field=name, place=path
        )
    args = options.get("args")
    if args is not None and not isinstance(args, Mapping):
        raise UsageError(
            "a mapping of arguments is expected, not {args!r}", field="args", args=args
        )
    value = plugins.build(path, args)
    if isinstance(value, Matcher) and not isinstance(value, type):
        return adapted(value)
    raise UsageError(
        "{place} is not a matcher", remedy="it needs 'threshold' and 'scores'", place=path
    )


def _kind(spec: Mapping[Any, Any]) -> Kind | None:
    return next((kind for kind in KINDS if kind in spec), None)


def _combined(kind: Kind, spec: Mapping[str, Any], defaults: Mapping[str, Any]) -> CombinedMatcher:
    """The matcher of ``{any: [...]}``, ``{all: [...]}`` or ``{cascade: [...]}``."""
    members = spec[kind]
    for name in spec.keys() - {kind}:
        raise UsageError(
            "{kind!r} stands alone; options belong to its members", field=name, kind=kind
        )
    if isinstance(members, (str, Mapping)) or not isinstance(members, Sequence) or len(members) < 2:
        raise UsageError("a list of at least two matchers is expected", field=kind)
    steps = []
    for place, member in enumerate(members):
        with inside(f"{kind}[{place}]"):
            is_last = place == len(members) - 1
            limits, rest = _limits(member, is_last=is_last) if kind == "cascade" else ({}, member)
            single = matcher(rest, defaults, field="")
            if single.of_context:
                raise UsageError(
                    "{name!r} judges whole contexts, and the other matchers single "
                    "documents; it stands alone, as facts_match",
                    name=single.name,
                )
            if not single.uses_gold:
                raise UsageError(
                    "a judge of relevance uses no gold, and the other matchers do",
                    remedy="use mode 'support', or the judge alone",
                )
            if kind != "cascade":
                limits = {"accept" if kind == "any" else "reject": single.threshold}
            steps.append(Step(single.against_gold(), **limits))
    if kind != "cascade":  # in any order the answer is the same, so the dear ones come last
        steps.sort(key=lambda step: step.matcher.judges)
    return CombinedMatcher(kind, tuple(steps))


def _limits(spec: object, *, is_last: bool) -> tuple[dict[str, Any], object]:
    """Accept and reject of a cascade's member, and the rest of its spec."""
    options = dict(spec) if isinstance(spec, Mapping) else {}
    limits = {name: options.pop(name, None) for name in ("accept", "reject")}
    known = [limit for limit in limits.values() if limit is not None]
    if is_last and known:
        raise UsageError(
            "the last matcher of a cascade decides by its threshold; it takes no accept or reject"
        )
    if not (is_last or known):
        raise UsageError(
            "decides nothing",
            remedy="give accept (a match at or above it), reject (none below it), or both",
        )
    if known and "threshold" in method_class(str(options.get("method"))).needs:
        options.setdefault("threshold", known[0])  # it has no default, and none is needed here
    return limits, options or spec

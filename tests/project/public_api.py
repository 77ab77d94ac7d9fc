"""What kragx promises to keep: every public name, with its signature, one a line.

    python -m tests.project.public_api > tests/project/public_api.txt

Public are the names that `kragx`, the doors beside the rooms, a room or an adapter lists in its
`__all__`. Signatures are taken from the source, so they read alike under every version of Python.
A name that several modules give has its lines at the first of them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import kragx
import kragx.adapters

FILE = Path(__file__).with_suffix(".txt")
DOORS = (
    *("kragx", "kragx.evaluators", "kragx.document", "kragx.retrievers", "kragx.tokenizers"),
    *("kragx.utils", "kragx.testing", "kragx.pytest", "kragx.errors"),
)
ROOMS = (
    *("kragx.data", "kragx.metrics", "kragx.matchers", "kragx.judging", "kragx.comparison"),
    *("kragx.agreement", "kragx.comparison.tuning", "kragx.ground.printing"),
)
ADAPTERS = tuple(
    f"kragx.adapters.{found.name}"
    for found in pkgutil.iter_modules(kragx.adapters.__path__)
    if found.name != "krag"  # whose doors are listed
)
MODULES = (*DOORS, *ROOMS, *ADAPTERS)
SPECIAL = {"__init__", "__call__", "__getitem__", "__iter__", "__len__", "__enter__"}
"""Methods with a meaning of Python's own that a caller relies on."""
_DEFINED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def listing() -> Iterator[str]:
    """The lines of the file."""
    homes: dict[int, str] = {}
    for module in map(importlib.import_module, MODULES):
        yield f"# {module.__name__}"
        for name in names(module):
            value, full = getattr(module, name), f"{module.__name__}.{name}"
            if id(value) in homes and (inspect.isclass(value) or inspect.isfunction(value)):
                yield f"{full} = {homes[id(value)]}"
            else:
                homes[id(value)] = full
                yield from described(full, value)
        yield ""


def names(module: ModuleType) -> list[str]:
    """The public names of a module: those that it lists."""
    return sorted(module.__all__)


def described(full: str, value: Any) -> Iterator[str]:
    """A function in a line; a class in a line for each thing that a user may name of it."""
    if inspect.isclass(value):
        yield from members(full, value)
    elif inspect.isfunction(value) and "__signature__" in vars(value):  # options of a type
        call = inspect.signature(value)
        parameters = [own.replace(annotation=own.empty) for own in call.parameters.values()]
        yield f"{full}{call.replace(parameters=parameters, return_annotation=call.empty)}"
    elif inspect.isfunction(value):
        node = parsed(value)
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield signature(full, node)
    else:
        yield f"{full}: a value"


def parsed(value: Any) -> ast.stmt:
    """The statement in the source that defines a class or function."""
    value = inspect.unwrap(value)
    return statements(value.__module__)[value.__qualname__]


@cache
def statements(module: str) -> dict[str, ast.stmt]:
    """The classes and functions of a module by their names."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, _DEFINED)}


def signature(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function as it is called, with the names of its decorators that change how."""
    kinds = {"property", "cached_property", "classmethod", "staticmethod"}
    marks = [text for text in map(ast.unparse, node.decorator_list) if text in kinds]
    marks += ["async"] * isinstance(node, ast.AsyncFunctionDef)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return " ".join([*marks, f"{name}({ast.unparse(node.args)}){returns}"])


def members(full: str, value: type) -> Iterator[str]:
    """A class with its bases, and what it and its bases within kragx define."""
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {full}({bases})"
    lines: dict[str, str] = {}
    for owner in value.__mro__:
        is_kragx = owner.__module__.partition(".")[0] == "kragx"
        if not is_kragx or (owner is not value and owner in public_classes()):
            continue  # a base that is public itself has its own lines
        node = parsed(owner)
        assert isinstance(node, ast.ClassDef)
        for name, line in defined(node):
            lines.setdefault(name, line)
    yield from (f"    {line}" for line in lines.values())


@cache
def public_classes() -> frozenset[type]:
    """Every class that some public module gives."""
    modules = [importlib.import_module(name) for name in MODULES]
    values = [getattr(module, name) for module in modules for name in names(module)]
    return frozenset(filter(inspect.isclass, values))


def defined(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The public fields, values and methods that the body of a class has, with their lines."""
    for part in node.body:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not part.name.startswith("_") or part.name in SPECIAL:
                yield part.name, signature(part.name, part)
            continue
        targets = part.targets if isinstance(part, ast.Assign) else []
        if isinstance(part, ast.AnnAssign):
            targets = [part.target]
        for target in targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield target.id, ast.unparse(part)


if __name__ == "__main__":
    print("\n".join(listing()).rstrip())

"""The code that a retriever is made of: files that a user edits, and packages that are installed.

Nothing is imported or run: what a file imports is read from its text, wherever in it that stands.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.machinery import ModuleSpec
from pathlib import Path

_STANDARD = tuple({str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib")})
_INSTALLED = {"site-packages", "dist-packages"}
_OWN = "kragx"


class Code:
    """What modules rest on; what is known of a module is kept for the next one that imports it."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}
        self._imports: dict[str, list[str]] = {}
        self._dists: dict[str, importlib.metadata.Distribution | None] = {}

    def of(self, module: str) -> tuple[list[Path], dict[str, str]]:
        """The source files that are not installed, and the state of each package that is.

        Args:
            module: the module that an import path names; what its files import counts as well, and
                so do the packages around them. The standard library and kragx do not.
        """
        files: dict[Path, None] = {}
        packages: dict[str, str] = {}
        seen: set[str] = set()
        todo = [module]
        while todo:
            name = todo.pop()
            top = name.partition(".")[0]
            if name in seen or top == _OWN:
                continue
            seen.add(name)
            spec = self._spec(top)
            if spec is None or _is_standard(spec):
                continue
            if _is_installed(spec) and (dist := self._distribution(top)) is not None:
                packages[dist.name] = _state(dist)
                continue
            todo.append(name.rpartition(".")[0])  # the package around it is imported first
            spec = self._spec(name)
            if spec is not None and spec.has_location and spec.origin is not None:
                files[_file(Path(spec.origin))] = None
                todo += self._imported(name, spec)
        return sorted(files), packages

    def _spec(self, name: str) -> ModuleSpec | None:
        """Where a module is; None if there is none. What is around it is not imported for that."""
        if not name:
            return None
        if name not in self._specs:
            self._specs[name] = getattr(sys.modules.get(name), "__spec__", None)
            above, _, _ = name.rpartition(".")
            package = self._spec(above)
            with suppress(Exception):  # whatever a finder of somebody's own raises
                if self._specs[name] is None and bool(above) == bool(package):
                    path = package.submodule_search_locations if package else None
                    self._specs[name] = next(
                        filter(None, (find.find_spec(name, path) for find in sys.meta_path)), None
                    )
        return self._specs[name]

    def _distribution(self, top: str) -> importlib.metadata.Distribution | None:
        """What has installed a package; None if nothing says that it has."""
        if top not in self._dists:
            with suppress(importlib.metadata.PackageNotFoundError):
                dist = importlib.metadata.distribution(top)
                if f"\n{top}/" in "\n" + (dist.read_text("RECORD") or ""):
                    self._dists[top] = dist
        if top not in self._dists:
            # Most are called as what they install; to find the others, all are looked through.
            names = self._names.get(top)
            self._dists[top] = importlib.metadata.distribution(names[0]) if names else None
        return self._dists[top]

    @cached_property
    def _names(self) -> Mapping[str, list[str]]:
        return importlib.metadata.packages_distributions()

    def _imported(self, name: str, spec: ModuleSpec) -> list[str]:
        """The modules that a module's file imports, and names that may be modules."""
        if name not in self._imports:
            package = name if spec.submodule_search_locations else name.rpartition(".")[0]
            self._imports[name] = []
            # What a loader or the parser raises; a file without source counts by its content.
            with suppress(Exception):
                source = getattr(spec.loader, "get_source")(name)  # noqa: B009
                self._imports[name] = [*_imports(ast.parse(source), package)]
        return self._imports[name]


def _file(path: Path) -> Path:
    """The file that holds a module: its own, or the archive in which it is packed."""
    return next((place for place in (path, *path.parents) if place.is_file()), path)


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                with suppress(ImportError):  # above the top
                    base = importlib.util.resolve_name("." * node.level + base, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _places(spec: ModuleSpec) -> list[str]:
    if spec.has_location and spec.origin is not None:
        return [spec.origin]
    return list(spec.submodule_search_locations or ())


def _is_installed(spec: ModuleSpec) -> bool:
    return any(not _INSTALLED.isdisjoint(Path(place).parts) for place in _places(spec))


def _is_standard(spec: ModuleSpec) -> bool:
    places = _places(spec)
    return not places or (
        not _is_installed(spec) and all(place.startswith(_STANDARD) for place in places)
    )


def _state(dist: importlib.metadata.Distribution) -> str:
    """Version and content: a package that is built anew need not have another version."""
    record = dist.read_text("RECORD") or ""
    return f"{dist.version} {hashlib.sha256(record.encode()).hexdigest()[:16]}"

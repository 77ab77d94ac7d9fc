"""Build the documentation site: ``python docs/site/build.py FOLDER``.

The pages are those of ``docs/`` with the files at the top of the project; the reference is made
from the docstrings of everything public, from the help of the command and from the schema of its
config, so it cannot drift.
"""

import argparse
import json
import logging
import posixpath
import re
import shutil
from collections.abc import Mapping
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path, PurePosixPath
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

import kragx
import kragx.adapters
from kragx.app.commands.root import app
from kragx.app.config.editor_schema import config_schema

SITE = Path(__file__).parent
ROOT = SITE.parents[1]
LANGUAGES = {"mkdocs.yml": "", "mkdocs.ko.yml": "ko"}
"""The configs, and where in the site each language stands; the first clears the folder."""

BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Further pages from the top of the project."""

ADAPTERS = tuple(
    f"adapters.{found.name}"
    for found in iter_modules(kragx.adapters.__path__)
    if found.name != "krag"  # whose doors have a page of their own
)

API = {
    "evaluating": ("Evaluating", ("api", "evaluation"), ()),
    "comparing": ("Comparing and tuning", ("comparison",), ("comparison", "comparison.tuning")),
    "data": ("Gold sets, runs and files", ("data",), ("data",)),
    "retrievers": ("Retrievers and tokenizers", (), ("retrievers", "tokenizers")),
    "matchers": ("Matchers", ("matchers",), ("matchers",)),
    "metrics": ("Metrics", (), ("metrics",)),
    "judging": ("The judge", ("agreement",), ("judging", "agreement")),
    "reports": ("Reports", ("report",), ("ground.printing", *ADAPTERS)),
    "krag": ("K-RAG's names", ("adapters",), ("document", "evaluators", "utils")),
    "testing": ("For your tests", (), ("testing", "pytest")),
    "errors": ("Errors", ("ground",), ("errors",)),
}
"""Each page of the reference: its title, the rooms whose names `kragx` itself has, and modules that
are named as such: doors, and rooms for a matcher, metric or judge client of one's own."""

WEIGHTS = {"judge.md": 2.0, "matching.md": 2.0, "chunking.md": 1.5}
"""What a search lists before other pages that have the word as often. Whoever looks for a word
wants its guide before the reference, and both before the changelog."""

_TWIN_LINE = re.compile(r"^\[(?:한국어|English)\]\([^)]*\).*\n(?:\[.*\n)*", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FILE = re.compile(r"^(```\w+) (\S+)$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^(```\w+) elsewhere$", re.MULTILINE)
"""What a block says to the tests alone."""

_NAMED = re.compile(r"\bdocs/([\w-]+\.md)\b")
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def page(text: str, source: PurePosixPath, copied: set[str]) -> str:
    """A file's text as a page of the site; files that it links to are added to those copied.

    The line of links below a title goes: the site's own navigation stands in its place.
    """

    def moved(link: re.Match[str]) -> str:
        label, target, anchor = link.groups()
        if "://" in target:
            return link[0]
        path = posixpath.normpath(source.parent / target)
        copied.add(path)
        if label.endswith(".md"):  # a file's name says more in a repository than on a site
            label = (ROOT / path).read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
        there = posixpath.relpath(place(path), posixpath.dirname(place(str(source))) or ".")
        return f"[{label}]({there}{anchor or ''})"

    text = _ELSEWHERE.sub(r"\1", _TWIN_LINE.sub("", text, count=1))
    text = _FILE.sub(r'\1 title="\2"', text)
    parts = _CODE.split(text)
    parts[::2] = [_LINK.sub(moved, prose) for prose in parts[::2]]
    return "".join(parts)


def place(path: str) -> str:
    """Where a file of the project stands among the pages of its language."""
    page = path.removeprefix("docs/").replace(".ko.md", ".md")
    return "index.md" if page == "README.md" else page


def command_page() -> str:
    """The help of every command."""
    command = get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="kragx")
    # Lists of subcommands cut their descriptions, and the headings stand beside the page.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n", "", text)
    return text.replace("# `kragx`", "# The command line", 1)


def config_page() -> str:
    """Every key of a config, from its JSON Schema."""
    schema = config_schema()
    definitions = schema["$defs"]
    parts = [
        "# The config",
        "Every key of what `kragx run` reads; `kragx schema` prints the same for editors. Relative "
        "paths start at the config's folder, and `${NAME}` is a variable of the environment.",
        keys(schema),
        "## `dataset`",
        schema["properties"]["dataset"]["anyOf"][0]["description"],
        keys(schema["properties"]["dataset"]["anyOf"][0]),
    ]
    for name, definition in (
        ("retrievers.NAME", "RetrieverConfig"),
        ("retrievers.NAME.http", "HttpRetriever"),
        ("retrievers.NAME.command", "CommandRetriever"),
    ):
        parts += [
            f"## `{name}`",
            definitions[definition]["description"],
            keys(definitions[definition]),
        ]
    parts += [
        "## `match`",
        "A method's name, or a mapping with `method` and its options; in a `grid` among them each "
        "option has a list of values. `any`, `all` and `cascade` take lists of such, and in a "
        "cascade `accept` and `reject` are the scores that decide at once. The same holds for each "
        "of `matchers`, and for `facts_match` and `relevance_match`.",
    ]
    tables: dict[str, list[str]] = {}
    for method in definitions["match"]["anyOf"]:
        name = method.get("properties", {}).get("method", {}).get("const")
        if name is not None:
            tables.setdefault(keys(method), []).append(name)
    for table, names in tables.items():
        parts += ["### " + ", ".join(f"`{name}`" for name in names), table]
    parts += ["## `judge`", keys(schema["properties"]["judge"]["anyOf"][0])]
    for name, part in (
        ("statistics", schema["properties"]["statistics"]),
        ("tuning", schema["properties"]["tuning"]),
    ):
        parts += [f"## `{name}`", keys(part)]
    return "\n\n".join(parts) + "\n"


def keys(schema: Mapping[str, Any]) -> str:
    """A table of the properties that an object of a schema has."""
    rows = ["| Key | Default | |", "|---|---|---|"]
    for name, own in schema["properties"].items():
        if "const" not in own:  # the method that has these options
            said = [f"`{choices}`" for choices in [" | ".join(_choices(own))] if choices]
            said += [linked(own["description"])] if "description" in own else []
            value = own.get("default")
            default = "" if value is None else f"`{json.dumps(value)}`"
            required = " (required)" if name in schema.get("required", ()) else ""
            cells = [f"`{name}`{required}", default, "; ".join(said)]
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _choices(schema: Mapping[str, Any]) -> list[str]:
    """The values that a property is one of."""
    kinds = [schema, *schema.get("anyOf", ())]
    return [str(value) for kind in kinds for value in kind.get("enum", ())]


def linked(text: str) -> str:
    """A text with a link for each page that it names."""

    def link(named: re.Match[str]) -> str:
        title = (ROOT / named[0]).read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
        return f"[{title}](../{named[1]})"

    return _NAMED.sub(link, text)


def api_page(title: str, rooms: tuple[str, ...], modules: tuple[str, ...]) -> str:
    """Every public name of rooms and modules, the shortest that it has."""
    own = [name for name in kragx.__all__ if room_of(name) in rooms]
    names = [f"kragx.{name}" for name in in_order(kragx, own)]
    for module in map(import_module, (f"kragx.{name}" for name in modules)):
        own = [name for name in module.__all__ if name not in kragx.__all__]
        names += [f"{module.__name__}.{name}" for name in in_order(module, own)]
    return "\n\n".join([f"# {title}", *(f"::: {name}" for name in names)]) + "\n"


def in_order(module: ModuleType, names: list[str]) -> list[str]:
    """What is called before the classes that it gives, values last; an asynchronous twin behind."""

    def place(name: str) -> tuple[int, str, int]:
        value = getattr(module, name)
        twin = name[1:] if name[1:] in names else name
        return 0 if isfunction(value) else 1 if isclass(value) else 2, twin, len(name)

    return sorted(names, key=place)


def room_of(name: str) -> str:
    """The room where a public name of `kragx` is at home."""
    return getattr(kragx, name).__module__.split(".")[1]


def assemble(folder: Path, language: str) -> None:
    """Write all pages of a language, and the files that they link to, into a folder."""
    for part in ("images", "site/assets"):
        shutil.copytree(ROOT / "docs" / part, folder / part)
    english = [
        "README.md",
        *BESIDE,
        *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")),
        *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/evidence").glob("*.md")),
    ]
    linked: set[str] = set()
    for name in english:
        if name.endswith(".ko.md"):
            continue
        twin = name.replace(".md", f".{language}.md")
        source = twin if (ROOT / twin).is_file() else name
        text = (ROOT / source).read_text(encoding="utf-8")
        write(folder / place(name), head(name) + page(text, PurePosixPath(source), linked))
    for path in linked:
        if not (folder / place(path)).exists() and (ROOT / path).is_file():
            text = (ROOT / path).read_text(encoding="utf-8")
            further = page(text, PurePosixPath(path), set()) if path.endswith(".md") else text
            write(folder / place(path), further)
    write(folder / "reference/command.md", head("reference") + command_page())
    write(folder / "reference/config.md", head("reference") + config_page())
    for name, (title, rooms, modules) in API.items():
        text = head("reference") + api_page(title, rooms, modules)
        write(folder / f"reference/api/{name}.md", text)


def head(name: str) -> str:
    """What stands above a page for the program that builds the site."""
    if name == "README.md":
        return "---\nhide: [navigation]\n---\n"
    is_looked_up = name == "reference" or name.startswith("docs/evidence/")
    low = 0.3 if name in {*BESIDE, "docs/architecture.md"} else 0.5 if is_looked_up else 1.0
    weight = WEIGHTS.get(place(name), low)
    return f"---\nsearch: {{boost: {weight}}}\n---\n"


def titled(nav: Any, titles: Mapping[str, str]) -> Any:
    """The navigation with other titles."""
    if isinstance(nav, list):
        return [titled(entry, titles) for entry in nav]
    if isinstance(nav, dict):
        return {titles.get(title, title): titled(entry, titles) for title, entry in nav.items()}
    return nav


def write(path: Path, text: str) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Build the site."""
    from mkdocs.commands.build import build  # noqa: PLC0415  # the extra `docs`; tests read the rest
    from mkdocs.config import load_config  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the site goes")
    site = parser.parse_args().folder
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    for config_file, language in LANGUAGES.items():
        with TemporaryDirectory() as pages:
            assemble(Path(pages), language)
            folder = str((site / language).resolve())
            config = load_config(str(SITE / config_file), docs_dir=pages, site_dir=folder)
            config.nav = titled(config.nav, config.extra["titles"])
            build(config)


if __name__ == "__main__":
    main()

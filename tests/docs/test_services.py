"""The servers and programs of docs/retriever.md, and the conversations of docs/data.md."""

from __future__ import annotations

import pytest
import yaml
from jsonschema import ValidationError, validate

from kragx.app import config
from kragx.app.config.editor_schema import config_schema
from kragx.app.retrieving.retrieve_all import all_makers, made
from tests.local_server import serving

from .support import Document

YAML = [
    block.text
    for block in Document("docs/retriever.md").blocks
    if block.language == "yaml" and ("http:" in block.text or "command:" in block.text)
]
PARTS = [block.text for block in Document("docs/data.md").blocks if block.language == "yaml"]


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Read a config of the page, in a folder where its program is."""
    monkeypatch.setenv("ES_KEY", "key-of-the-index-1")

    def load(text):
        (tmp_path / "kragx.yaml").write_text(text)
        return config.load(tmp_path / "kragx.yaml")

    return load


@pytest.mark.parametrize("text", YAML, ids=range(len(YAML)))
def test_configs_can_be_made(loaded, text):
    """Each config is right, down to paths and programs."""
    retrievers = loaded(text).retrievers
    for name, makers in all_makers(retrievers).items():
        assert made(name, retrievers[name], makers)


@pytest.mark.integration
@pytest.mark.parametrize("text", YAML, ids=range(len(YAML)))
def test_editors_know_the_configs(text):
    """Each config is right by the schema that `kragx schema` prints; a misspelt option is not."""
    schema = config_schema()
    validate(yaml.safe_load(text), schema)
    for wrong in ({"http": {"urll": "http://x"}}, {"command": [1]}, {"command": {"comand": ["a"]}}):
        with pytest.raises(ValidationError):
            validate({"dataset": "gold.jsonl", "retrievers": {"a": wrong}}, schema)


@pytest.mark.integration
@pytest.mark.parametrize("text", PARTS, ids=range(len(PARTS)))
def test_editors_know_the_parts_of_configs(text):
    """A part of a config that a page shows is right beside a gold set and a retriever."""
    rest = {"dataset": "gold.jsonl", "retrievers": {"a": {"results": "a.jsonl"}}}
    validate(rest | yaml.safe_load(text), config_schema())


def test_the_servers_of_the_page(loaded):
    """Both servers of the first example are asked, and their documents are read."""
    of_elastic = {"_id": "7", "_score": 2.0, "_source": {"body": "a", "title": "b"}}
    answers = [{"results": [{"text": "a"}]}, {"hits": {"hits": [of_elastic]}}]
    with serving(*answers) as server:
        text = YAML[0].replace("https://search.example.com", server.url)
        text = text.replace("http://localhost:8080", server.url)
        found = []
        for name, retriever in loaded(text).retrievers.items():
            asked, _ = made(name, retriever, all_makers({name: retriever})[name])
            found += asked.invoke("why")
    assert [(doc.id, doc.text, doc.score) for doc in found] == [(None, "a", None), ("7", "a", 2.0)]
    assert found[1].metadata == {"title": "b"}
    first, second = server.requests
    assert first.params == {"q": ["why"], "k": ["10"]}
    assert second.headers["Authorization"] == "ApiKey key-of-the-index-1"
    assert second.json == {"query": {"match": {"body": "why"}}, "size": 10}

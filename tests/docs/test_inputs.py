"""What docs/inputs.md shows, tried as it is printed."""

from __future__ import annotations

import pytest
import yaml
from jsonschema import ValidationError, validate

from kragx.app import config
from kragx.app.config.schema import config_schema
from kragx.app.retrieving.making import made, makers_of
from tests.local_server import serving

from .support import Document

PAGE = Document("docs/inputs.md")
YAML = [block.text for block in PAGE.blocks if block.language == "yaml"]


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Read a config of the page, in a folder where its program is."""
    monkeypatch.setenv("ES_KEY", "key-of-the-index-1")
    program = tmp_path / "search"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    def load(text):
        (tmp_path / "kragx.yaml").write_text(text)
        return config.load(tmp_path / "kragx.yaml")

    return load


@pytest.mark.parametrize("text", YAML, ids=range(len(YAML)))
def test_configs_can_be_made(loaded, text):
    """Each config is right, down to paths and programs."""
    problems = []
    for name, retriever in loaded(text).retrievers.items():
        makers = makers_of(name, retriever, problems) if retriever.is_asked else []
        assert not makers or made(name, retriever, makers)
    assert problems == []


@pytest.mark.integration
@pytest.mark.parametrize("text", YAML, ids=range(len(YAML)))
def test_editors_know_the_configs(text):
    """Each config is right by the schema that `kragx schema` prints; a misspelt option is not."""
    schema = config_schema()
    validate(yaml.safe_load(text), schema)
    for wrong in ({"http": {"urll": "http://x"}}, {"command": [1]}, {"command": {"comand": ["a"]}}):
        with pytest.raises(ValidationError):
            validate({"dataset": "gold.jsonl", "retrievers": {"a": wrong}}, schema)


def test_the_servers_of_the_page(loaded):
    """Both servers of the first example are asked, and their documents are read."""
    of_elastic = {"_id": "7", "_score": 2.0, "_source": {"body": "a", "title": "b"}}
    answers = [{"hits": {"hits": [of_elastic]}}, {"results": [{"text": "a"}]}]
    with serving(*answers) as server:
        text = YAML[0].replace("https://search.example.com", server.url)
        text = text.replace("http://localhost:8080", server.url)
        found = []
        for name, retriever in loaded(text).retrievers.items():
            asked, _ = made(name, retriever, makers_of(name, retriever, []))
            found += asked.invoke("why")
    assert [(doc.id, doc.text, doc.score) for doc in found] == [("7", "a", 2.0), (None, "a", None)]
    assert found[0].metadata == {"title": "b"}
    first, second = server.requests
    assert first.headers["Authorization"] == "ApiKey key-of-the-index-1"
    assert first.json == {"query": {"match": {"body": "why"}}, "size": 10}
    assert second.params == {"q": ["why"], "k": ["10"]}

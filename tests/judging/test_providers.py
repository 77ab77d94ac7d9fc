"""The judges that docs/judge.md names, each against a server that behaves like its provider."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kragx.app.config import filled, load
from kragx.app.config.values import fill
from kragx.judging import Store
from kragx.judging.reading import adjusted, read_judge
from tests.docs.support import Document
from tests.judging import providers
from tests.judging.providers import Provider, moved
from tests.judging.support import ask
from tests.judging.test_keys import Chat
from tests.thoroughness import some

KEYS = {
    name: f"{name.lower()}-of-this-test-1234"
    for name in (
        *("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"),
        *("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "TEAM_TOKEN"),
    )
}


def bearer(name):
    """The header that holds a key."""
    return {"Authorization": f"Bearer {KEYS[name]}"}


PROVIDERS = {
    "OpenAI": Provider(headers=bearer("OPENAI_API_KEY"), refuses=(providers.no_max_tokens,)),
    "Azure, address v1": Provider("/openai/v1/chat/completions", bearer("AZURE_OPENAI_API_KEY")),
    "vLLM": Provider(says={"service_tier": None, "prompt_logprobs": None, "kv_transfer_params": 0}),
    "Ollama": Provider(says={"system_fingerprint": "fp_ollama"}),
    "llama.cpp's server": Provider(says={"timings": {"prompt_n": 7}, "__verbose": {}}),
    "a gateway, such as OpenRouter": Provider(
        "/api/v1/chat/completions",
        bearer("OPENROUTER_API_KEY")
        | {"X-Title": "my project", "X-Team-Token": KEYS["TEAM_TOKEN"]},
        says={"provider": "Some"},
    ),
    "DeepSeek": Provider(
        "/chat/completions", bearer("DEEPSEEK_API_KEY"), refuses=(providers.no_schema,)
    ),
    "a model that reasons": Provider(refuses=(providers.no_temperature, providers.no_max_tokens)),
    "Anthropic": Provider("/v1/messages"),  # which header holds the key depends on the version
    "Gemini": Provider(
        "/v1beta/models/gemini-2.5-flash:generateContent",
        {"x-goog-api-key": KEYS["GOOGLE_API_KEY"]},
        also=("/v1/models/gemini-2.5-flash:generateContent",),  # google-genai from 3 on
    ),
}
DIALECTS = {"DeepSeek": "json_object"}
SENT = {
    "Ollama": {"max_tokens": 2048},
    "a gateway, such as OpenRouter": {"provider": {"require_parameters": True}},
    "a model that reasons": {"reasoning_effort": "low", "max_completion_tokens": 8192},
}


def judges(name="docs/judge.md"):
    """Each judge that a page shows, as a block of YAML of its own."""
    blocks = [block for block in Document(name).blocks if block.language == "yaml"]
    return [text for block in blocks if not block.name for text in block.text.split("\n\n")]


def blocks():
    """The judges that name a provider, by what their comments say first."""
    texts = judges()
    comments = [text.splitlines()[0].partition("  # ")[2] for text in texts]
    return {
        name: text
        for comment, text in zip(comments, texts)
        for name in PROVIDERS
        if comment.startswith(name) and text.startswith("judge:")
    }


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name", some(PROVIDERS, 5))
def test_block(name, store, tmp_path):
    """As it stands, but for where the server is: grades in one attempt each, and no key is kept."""
    written = yaml.safe_load(blocks()[name])["judge"]
    if "client" in written:
        pytest.importorskip(written["client"].partition(":")[0])
    path = tmp_path / "run.yaml"
    path.write_text(f"dataset: g\nretrievers: {{a: a}}\n{blocks()[name]}", encoding="utf-8")
    config = load(path)
    options = fill(filled(config.judge), Path(), "judge", [])
    with providers.serving(PROVIDERS[name]) as server:
        place = options["args"] if "client" in options else options
        place["base_url"] = moved(place.get("base_url", "http://x"), server.root)
        if name == "OpenAI":
            place["base_url"] += "/v1"
        judge = adjusted(read_judge(options), store=store, progress=False, timeout=20)
        judged = judge.judge([ask("grade-2"), ask("grade-0"), ask("a gold text")])
    assert [one.grade for one in judged.judgements] == [2, 0, 3]
    assert {one.dialect for one in judged.judgements} == {DIALECTS.get(name)}
    assert judged.tally.n_retries == 0
    for body in server.requests:
        assert SENT.get(name, {}).items() <= body.items()
    with Store(store) as opened:
        kept = str(list(opened.records()))
    assert not [key for key in (*KEYS.values(), "my project") if key in kept]


def test_every_provider_has_its_block():
    """In English and Korean, the same blocks but for their comments."""
    assert list(blocks()) == list(PROVIDERS)
    korean = [yaml.safe_load(text) for text in judges("docs/judge.ko.md")]
    assert not [text for text in blocks().values() if yaml.safe_load(text) not in korean]


def test_python(tmp_path, monkeypatch):
    """What docs/judge.md shows for Python runs against a server that behaves like OpenAI's."""
    (code,) = [b.text for b in Document("docs/judge.md").blocks if b.language == "py"]
    monkeypatch.chdir(tmp_path)
    names = {
        "gold": [["grade-2"]],
        "retrieved": [["a passage"]],
        "questions": ["When?"],
        "chat_model": Chat(),
    }
    with providers.serving(PROVIDERS["OpenAI"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.root}/v1")
        exec(compile(code, "docs/judge.md", "exec"), names)
        assert len(server.requests) == 2  # the second line finds the first one's grades stored

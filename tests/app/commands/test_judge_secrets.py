"""What a judge sends in secret, and what its server says of it, stands in nothing that is kept."""

from __future__ import annotations

import json
import warnings
from urllib.parse import quote

import pytest

from tests.judging.test_secrets import FORMS, HEADER, KEY, PASSWORD, TOKEN, echoing, leaks, stored

TENANT = "tenant-korea-east"
BROKEN = [f"http://me:{start}s-5512-word@127.0.0.1:9/v1" for start in ("pa/s", "12/s", "p@/s")]
PROXY = "pr0xy/pass-9981"


@pytest.fixture
def config(here, monkeypatch):
    """A config whose judge is a server that says each secret again, in every form."""
    monkeypatch.setenv("TEAM", KEY)
    monkeypatch.setenv("LOGIN", quote(PASSWORD, safe=""))
    monkeypatch.setenv("TENANT", TENANT)
    monkeypatch.setenv("X_BODY", TOKEN)
    monkeypatch.setenv("GATEWAY", HEADER)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{quote(PROXY, safe='')}@127.0.0.1:9")
    kinds = [f"«{form}» {kind}" for form in FORMS for kind in ("", "fails", "refuses", "prose")]
    gold = [{"gold": [{"text": f"the gold text of number {at}"}]} for at in range(len(kinds))]
    lines = [
        {"query_id": f"q{at}", "query": f"what is {at}", "retrieved": [{"text": kind}], **gold[at]}
        for at, kind in enumerate(kinds)
    ]
    (here / "found.jsonl").write_text("\n".join(map(json.dumps, lines)))
    config = {
        "dataset": "found.jsonl",
        "retrievers": {"a": {"results": "found.jsonl"}},
        "match": "llm",
        "judge": {
            "model": "m",
            "api_key_env": "TEAM",
            "store": "store.sqlite",
            "max_missing": 1,
            "extra_body": {"tenant": "${TENANT}", "x_token": "${X_BODY}"},
            "headers": {"X-Gateway": "${GATEWAY}", "X-Title": "kragx"},
        },
        "metrics": ["mrr@5"],
        "output": "out",
    }

    def write(base_url):
        config["judge"]["base_url"] = base_url
        (here / "config.yaml").write_text(json.dumps(config))

    return write


@pytest.mark.integration
@pytest.mark.parametrize("login", ["team:${LOGIN}@", "", f"team:{quote(PASSWORD, safe='')}@"])
def test_run(here, config, kragx, login):
    """A dry run, a run, its folder, its store, exports and reports: no secret in any form."""
    shown = {}
    with echoing() as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config(f"http://{login}127.0.0.1:{server.server_address[1]}/v1")
        for command in (
            "run config.yaml --dry-run",
            "run config.yaml --full",
            "run config.yaml --full --summary summary.md",
            "judge store stats --store store.sqlite",
            "judge store stats --store store.sqlite --format json",
            "judge store export all.jsonl --store store.sqlite",
            "judge probe config.yaml --passages 2",
            *(
                f"report out --full --format {name}"
                for name in ("table", "json", "csv", "markdown", "html")
            ),
            "explain out -q q0 --full",
            "explain out -q q1 --format json",
            "run config.yaml --set judge.max_missing=0 --set judge.repeat=1",
            *(f"run config.yaml --set judge.base_url={url}" for url in BROKEN),
        ):
            done = kragx(*command.split())
            assert done.code in (0, 2, 4), (command, done.err)
            shown[command] = done.out + done.err
    assert len(server.seen) > len(FORMS) * 4
    shown["store"] = stored(here / "store.sqlite")
    files = (path for path in here.rglob("*") if path.is_file())
    shown |= {
        str(path): path.read_bytes().decode(errors="replace")
        for path in files
        if path not in (here / "config.yaml", here / "store.sqlite")
    }
    secrets = (KEY, PASSWORD, TENANT, TOKEN, PROXY, HEADER, "s-5512-word")
    found = {
        name: [(secret, leaks(text, secret)) for secret in secrets if leaks(text, secret)]
        for name, text in shown.items()
    }
    assert {name: found[name][:3] for name in found if found[name]} == {}

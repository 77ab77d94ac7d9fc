"""`kragx judge label` as a process: the labels of a sample, from a workshop to qrels."""

import json
import signal
import subprocess
import sys

import pytest

from tests.app.commands.test_workshop import ask, serving_links
from tests.workshop.serving import written


@pytest.mark.integration
def test_label(tmp_path):
    """It draws, opens a workshop of the pairs, and writes the labels when Ctrl-C ends it.

    Labels that somebody has added to the file by hand are not lost.
    """
    docs = [{"id": f"d{at}", "text": f"passage {at}"} for at in range(4)]
    row = {"query_id": "q1", "query": "why?", "gold": [], "retrieved": docs}
    written(tmp_path / "results.jsonl", [row])
    path = tmp_path / "my.qrels"
    command = ("judge", "label", path, "--results", tmp_path / "results.jsonl")
    with serving_links(*command) as (links, process):
        for document, grade in (("d1", 2), ("d3", 0)):
            judgement = {"uid": document * 16, "question": "q1", "document": document}
            body = {**judgement, "kind": "grade", "grade": grade}
            assert ask(links["owner"], "/api/judgements", body)[0] == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "2 of 4 labelled" in err
    assert sorted(path.read_text().splitlines()) == ["q1 0 d1 2", "q1 0 d3 0"]
    with serving_links("judge", "label", path) as (links, process):  # goes on, after kill -9 too
        assert ask(links["owner"], "/api/me")[0] == 200
    assert len(path.read_text().splitlines()) == 2
    sample = tmp_path / "my.qrels.sample.jsonl"
    assert json.loads(sample.read_text().splitlines()[0])["sample"]["scale"] == "0-3"
    path.write_text(path.read_text() + "q1 0 d0 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "kragx", "judge", "label", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "holds 1 labels that its workshop lacks, the first of 'q1' and 'd0'" in done.stderr
    assert len(path.read_text().splitlines()) == 3

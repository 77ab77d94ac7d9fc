"""`kragx diff --workshop` as a process: labels through its page, and what they come to."""

import json
import signal

import pytest

from kragx.workshop.state.records import new_uid
from tests.app.commands.test_diff import config  # noqa: F401  # a fixture where it is imported
from tests.app.commands.test_workshop import ask, serving_links
from tests.report.test_page import parts
from tests.workshop.serving import written

N = 60


@pytest.fixture
def files(tmp_path):
    """Two versions; in a third of the questions a document was exchanged, for a better one."""

    def row(n, letters):
        docs = [{"id": f"{n}{name}", "text": f"{name} of {n}"} for name in letters]
        return {
            "query_id": f"q{n}",
            "query": f"what is {n}?",
            "weight": 1 + n % 3,
            "retrieved": docs,
        }

    lists = ["abx" if n % 3 == 0 else "abc" for n in range(N)]
    old = written(tmp_path / "old.jsonl", [row(n, "abc") for n in range(N)])
    return old, written(tmp_path / "new.jsonl", [row(n, names) for n, names in enumerate(lists)])


@pytest.mark.integration
def test_labels_until_it_is_decided(files, tmp_path, kragx):
    """Ctrl-C and the same command: it goes on; once decided it says so and opens nothing more."""
    command = ("diff", *files, "--workshop", tmp_path / "w", "--metric", "precision@3")
    judged = []

    def label(link, n):
        shown = ask(link, "/api/next")[1]
        while shown["pair"] and n > 0:
            question, document = shown["pair"]["question"]["uid"], shown["pair"]["document"]["id"]
            said = {"uid": new_uid(), "question": question, "document": document}
            grade = 3 if document.endswith("x") else 0
            status, answer = ask(link, "/api/judgements", {**said, "kind": "grade", "grade": grade})
            assert status == 200
            judged.append((question, document))
            shown, n = answer["next"], n - 1

    for n in (4, 100):
        with serving_links(*command) as (links, process):
            label(links["owner"], n)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        text = "not decided yet" if n == 4 else "decided: new is better on these questions"
        assert text in out
    assert len(judged) < 2 * N / 3
    assert all(document[-1] in "cx" for _, document in judged)
    done = kragx(*command)
    assert done.code == 0
    assert "decided: new is better on these questions" in done.out
    plain = json.loads(kragx(*command, "--format", "json").out)
    assert plain["mean"]["unchanged@5"] == pytest.approx(5 / 6)
    labelled = plain["labelled"]
    assert 0 < labelled["low"] <= labelled["difference"] <= labelled["high"] <= 1 / 18 + 1e-9
    assert labelled["counts"]["n_labels"] == len(judged)
    assert kragx(*command, "--gate", "unchanged@5: >= 0.9", "--look").code == 1


def test_only_looking_says_where_it_stands(files, tmp_path, kragx):
    """Without a label the interval is what can be, and nothing is known."""
    command = ("diff", *files, "--workshop", tmp_path / "w", "--metric", "precision@3", "--look")
    done = kragx(*command, "--same", "0.02")
    assert done.code == 0, done.err
    page = tmp_path / "page.html"
    assert kragx(*command, "--out", page).code == 0
    assert any("precision@3 over all" in text["en"] for text in parts(page)["index"]["remarks"])
    words = " ".join(done.out.split())
    assert "precision@3 over all questions, new minus old: not known, [-0.0556, +0.0556]" in words
    assert "0 of the 20 questions whose lists need labels" in words


def test_a_reworded_question_is_said_beside_the_labels(files, tmp_path, kragx):
    """What is left out, as it has other words under its id, is no silent part of "all"."""
    old, new = files
    new.write_text(new.read_text().replace("what is 7?", "when is 7?"))
    done = kragx("diff", old, new, "--workshop", tmp_path / "w", "--metric", "mrr@3", "--look")
    assert done.code == 0, done.err
    assert "1 question has other words under the same id, and is left out: q7" in done.out


def test_who_failed_is_not_labelled(config, tmp_path, kragx):  # noqa: F811
    """A version that failed is not comparable, so no workshop is made; a tolerated failure is."""
    folder = tmp_path / "w"
    command = ("diff", "reordered", "broken", "--config", config, "--workshop", folder)
    assert kragx(*command, "--metric", "mrr@2", "--look").code == 5
    assert not folder.exists()
    done = kragx(*command, "--metric", "mrr@2", "--look", "--max-failed", "0.25")
    assert (done.code, folder.exists()) == (0, True)
    assert "do not have two lists: 1, 25.0% of all" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--workshop", "w"], "belong together"),
        (["--metric", "precision@3"], "belong together"),
        (["--same", "0.1"], "--same belongs to --workshop"),
        (["--look"], "--look belongs to --workshop"),
        (["--workshop", "w", "--metric", "rbp@3"], "cannot be labelled"),
        (["--workshop", "w", "--metric", "mrr@3", "--same", "2"], "--same: 2.0 is no margin"),
    ],
)
def test_wrong_use(files, kragx, options, words):
    """What cannot be done is said before anything is made."""
    done = kragx("diff", *files, *options)
    assert done.code == 2
    assert words in " ".join(done.err.split())

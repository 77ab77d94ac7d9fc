"""Releases on disk: whole, of one number each, never changed, and what stands beside them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading

import pytest

from kragx import DataError, UsageError, read_dataset
from kragx.data.gold_diff import diff_files
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.folder.starting import start
from kragx.workshop.pairs.candidates import agreement
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.releases.next import agreement_text
from kragx.workshop.releases.release import release
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State
from tests.app.commands.conftest import kragx
from tests.workshop.serving import started, written
from tests.workshop.simulated import MemoryState

__all__ = ["kragx"]

ANN = Person(uid="ann", name="지민 | <b>")


def add(shop, *records):
    """Store records."""
    with Workshop.open(shop).store() as store:
        State(store).add(records)


def released(shop, **options):
    """Release what is there."""
    workshop = Workshop.open(shop)
    with workshop.store() as store:
        return release(workshop, State(store), Copies(workshop.documents), **options)


def question(uid, document="warranty", grade=2, person="ann"):
    """A question that ann asks, and a grade for a document of it."""
    return (
        Question(uid=uid, person="ann", text=f"why {uid}?", query_type="lookup"),
        Judgement(question=uid, document=document, person=person, grade=grade),
    )


def names(shop):
    """The files of releases in a folder, hidden ones too."""
    return sorted(
        path.name for path in shop.iterdir() if "gold_v" in path.name or path.suffix == ".part"
    )


def test_the_command(shop, kragx):
    """A first release, none where nothing changed, and a second that says what changed."""
    first = kragx("gold", "release", shop, "--note", "the *first*")
    assert first.code == 0
    assert "released v1: " in first.out
    assert "2 questions, 2 gold items" in first.out
    assert (
        "nothing has changed since gold_v1.jsonl; no release is made"
        in kragx("gold", "release", shop).out
    )
    add(shop, ANN, *question("q3"), *question("q4", grade=1))
    second = kragx("gold", "release", shop)
    assert "since v1: 1 of 3 questions differ (1 added)" in second.out
    assert "questions left out: 1, no document that was judged answers it" in second.out
    assert names(shop) == [
        f"gold_v{number}.{ending}"
        for number in (1, 2)
        for ending in ("jsonl", "md", "release.json")
    ]
    for name in names(shop):
        assert stat.S_IMODE((shop / name).stat().st_mode) == 0o444
    dataset = read_dataset(shop / "gold_v2.jsonl")
    assert (dataset.name, dataset.version, len(dataset)) == ("shop", "v2", 3)
    assert dataset["q1"].gold[0].grade == 2  # a 3 of people, on the scale of 0 to 3
    assert kragx("gold", "validate", shop / "gold_v2.jsonl").code == 0
    notes = (shop / "gold_v2.md").read_text(encoding="utf-8")
    for text in (
        "# shop v2",
        "What changed since v1",
        "| q3 | why q3? | added |",
        "| 지민 \\| &lt;b&gt; |",
        "| q4 | why q4? | no document that was judged answers it",
        "1 is 0, 2 is 1, 3 is 2",
        "Agreement: 0 pairs",
        "0 errors, 0 warnings",
    ):
        assert text in notes
    assert "the \\*first\\*" in (shop / "gold_v1.md").read_text(encoding="utf-8")
    assert "지민" not in (shop / "gold_v2.jsonl").read_text(encoding="utf-8")
    plain = kragx("gold", "release", shop, "--format", "json").json()
    assert (plain["version"], plain["left_out"][0]["reason"]) == (None, "nothing relevant")


def test_a_gold_set_comes_back_as_it_was(tmp_path):
    """Started from a gold set and released, nothing is lost: managed grades, stretches, groups."""
    gold = [
        {
            "query_id": "a",
            "query": "환불은?",
            "query_type": "lookup",
            "expected_doc_types": ["faq"],
            "relevant_chunk_ids": ["refund", ["warranty", "delivery"]],
            "irrelevant_chunk_ids": [],
            "highly_relevant_chunk_ids": ["delivery:0-3"],
            "metadata": {"difficulty": "easy", "n": [1]},
        },
        {
            "query_id": "b",
            "query": "none?",
            "answerable": False,
            "relevant_chunk_ids": [],
            "irrelevant_chunk_ids": ["refund"],
        },
        {
            "query_id": "c",
            "query": "plain?",
            "gold": [{"id": "warranty"}],
            "reference": "two years",
        },
    ]
    gold = written(tmp_path / "managed.jsonl", gold)
    outcome = released(started(tmp_path, gold=gold))
    diff = diff_files(gold, outcome.file)
    assert (diff.questions, diff.not_compared, outcome.lacks) == ((), ("texts of gold",), ())


def test_nothing_to_release(tmp_path, kragx):
    """Without a question that is ready nothing is written, and it is said what to do."""
    shop = started(tmp_path, gold=None)
    add(shop, ANN, Question(uid="q", person="ann", text="?"))
    outcome = kragx("gold", "release", shop)
    assert outcome.code == 2
    assert (
        "no question is ready: questions left out: 1, nobody has judged a document" in outcome.err
    )
    assert names(shop) == []


def test_only_unanswerable_questions_are_ready(tmp_path, kragx):
    """They need no judgement, and are no release while all others are left out; then they are."""
    shop = started(tmp_path, gold=None)
    add(
        shop,
        ANN,
        Question(uid="none", person="ann", text="who is on the moon?", answerable=False),
        Question(uid="q", person="ann", text="how long?"),
    )
    outcome = kragx("gold", "release", shop)
    assert outcome.code == 2
    for text in (
        "no question is ready but those marked as unanswerable (1): questions left out: 1, nobody",
        "kragx workshop",
    ):
        assert text in outcome.err
    assert (
        "답할 수 없는 질문으로 표시된 1개 말고는"
        in kragx("--language", "ko", "gold", "release", shop).err
    )
    assert names(shop) == []
    add(shop, question("q")[1])
    assert (kragx("gold", "release", shop).code, names(shop)[0]) == (0, "gold_v1.jsonl")


def test_a_set_of_unanswerable_questions(tmp_path):
    """Where no question is left out they are released."""
    shop = started(tmp_path, gold=None)
    add(shop, ANN, Question(uid="none", person="ann", text="who?", answerable=False))
    assert (released(shop).version, released(shop).lacks) == ("v1", ())


def test_a_changed_release_stops_the_next(shop):
    """What was edited by hand is found before anything is held against it."""
    released(shop)
    path = shop / "gold_v1.jsonl"
    path.chmod(0o644)
    path.write_text(path.read_text(encoding="utf-8").splitlines()[0])
    add(shop, ANN, *question("q3"))
    with pytest.raises(DataError, match=r"gold_v1.jsonl: not the content of release v1 any more"):
        released(shop)
    assert names(shop) == ["gold_v1.jsonl", "gold_v1.md", "gold_v1.release.json"]


def test_nothing_is_written_over(shop):
    """A file of that name that somebody put there stays, and has its number."""
    (shop / "gold_v7.jsonl").write_text('{"query_id": "mine", "query": "?", "gold": []}')
    assert released(shop).version == "v8"
    assert read_dataset(shop / "gold_v7.jsonl").version is None


def test_two_at_once(any_shop):
    """Of two that release at once each ends well, and there is one file for each content."""
    add(any_shop, ANN, *question("q3"))
    outcomes, errors = [], []

    def work():
        try:
            outcomes.append(released(any_shop))
        except Exception as error:  # whatever it is, the test says it
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {outcome.hash for outcome in outcomes} == {
        read_dataset(any_shop / "gold_v1.jsonl").content_hash
    }
    assert names(any_shop) == ["gold_v1.jsonl", "gold_v1.md", "gold_v1.release.json"]


def test_a_number_that_somebody_else_has_taken(shop, tmp_path):
    """Where a team's database gave v1 to another folder, this one writes v2, and says so."""
    workshop = Workshop.open(shop)
    add(shop, *_of_another())
    outcome = released(shop)
    assert (outcome.version, outcome.file.name) == ("v2", "gold_v2.jsonl")
    assert any("gold_v1.jsonl is not in this folder" in text for text in outcome.lacks)
    assert workshop.settings.name == "shop"


def _of_another():
    from kragx.workshop.state.records import Release

    return [Release(uid="release-1", person="", version=1, hash="0" * 64, file="gold_v1.jsonl")]


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.workshop.releases.test_release import released

name, at = sys.argv[2], int(sys.argv[3])
calls = 0
real = getattr(os, name)

def dying(*args, **options):
    global calls
    calls += 1
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **options)

setattr(os, name, dying)
released(Path(sys.argv[1]))
"""


@pytest.mark.integration
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("replace", 6),  # that of the gold file itself
        pytest.param("replace", 3, marks=pytest.mark.integration),
        pytest.param("replace", 4, marks=pytest.mark.integration),
        pytest.param("fsync", 5, marks=pytest.mark.integration),
    ],
)
def test_killed_in_the_middle(shop, name, at):
    """Whenever it is killed, there is no half release, and the next call makes the same one."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(shop), name, str(at)], check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (shop / "gold_v1.jsonl").exists()
    outcome = released(shop)
    assert outcome.version == "v1"
    assert read_dataset(outcome.file).version == "v1"
    for left in shop.glob(".release-*"):
        os.utime(left, (0, 0))
    add(shop, ANN, *question("q3"))
    assert released(shop).version == "v2"
    assert not list(shop.glob(".release-*"))


def test_what_stands_beside_it(shop, tmp_path, kragx):
    """What stands beside a release says which it is; without a workshop it is said what to do."""
    released(shop)
    record = json.loads((shop / "gold_v1.release.json").read_text(encoding="utf-8"))
    assert (record["version"], record["previous"]) == ("v1", None)
    assert record["hash"] == read_dataset(shop / "gold_v1.jsonl").content_hash
    nowhere = kragx("gold", "release", tmp_path / "nowhere")
    assert nowhere.code == 3
    assert "kragx gold start" in nowhere.err
    with pytest.raises(UsageError, match="release v1; leave the version out"):
        read_dataset(shop / "gold_v1.jsonl", version="v3")


def test_the_diff_of_two_releases(shop, kragx):
    """`kragx gold diff` says first what can be compared; Markdown lists all, JSON holds values."""
    released(shop)
    add(shop, ANN, *(record for n in range(30) for record in question(f"more{n:02}")))
    released(shop)
    pair = shop / "gold_v1.jsonl", shop / "gold_v2.jsonl"
    told = kragx("gold", "diff", *pair)
    assert told.code == 0
    assert told.out.splitlines()[1] == (
        "30 of 32 questions differ (30 added); results of the two can be compared on the rest, 2"
    )
    assert "and 10 more: --full, or --format json" in told.out
    assert "more29" in kragx("gold", "diff", *pair, "--full").out
    markdown = kragx("gold", "diff", *pair, "--format", "markdown").out
    assert "| more29 | why more29? | added |" in markdown
    plain = kragx("gold", "diff", *pair, "--format", "json").json()
    assert (plain["comparable"], plain["n_same"], len(plain["questions"])) == (False, 2, 30)
    assert (plain["old"]["version"], plain["new"]["version"]) == ("v1", "v2")
    assert kragx("gold", "diff", pair[0], pair[0]).out.splitlines()[1] == (
        "the same gold: all 2 questions can be compared between results of the two"
    )
    empty = shop / "empty.jsonl"
    empty.write_text("")
    assert kragx("gold", "diff", pair[0], empty).code == 3


@pytest.mark.integration
def test_two_folders_of_one_database(tmp_path, database):
    """A team's numbers are one row of them: what one has released the other writes as the same."""
    shop = started(tmp_path, database=database, schema="shop")
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    assert [released(own).version for own in (shop, other)] == ["v1", "v1"]
    add(shop, ANN, *question("q3"))
    assert released(shop).version == "v2"
    add(shop, *question("q4"))
    third = released(other)
    assert third.version == "v3"
    assert "gold_v2.jsonl is not in this folder, so nothing is held against it" in third.lacks
    assert third.changes.startswith("since v1: 2 of 4 questions differ (2 added)")


def test_no_figure_below_ten_pairs():
    """The notes have alpha from as many pairs on as the page; with nothing to differ, none."""

    def text(n, grades):
        rows = [
            Judgement(question=f"q{number}", document="d", person=person, grade=grades[number % 2])
            for number in range(n)
            for person in "ab"
        ]
        state = MemoryState()
        state.add([Person(uid=uid, name=uid) for uid in "ab"] + rows)
        return agreement_text(agreement(state, 3))

    assert "too few: below 10" in text(9, (0, 3))
    assert "Krippendorff's alpha for ordered grades 1" in text(10, (0, 3))
    assert "10 pairs have two people's grades; all alike: alpha" in text(10, (3, 3))


def test_what_must_not_be_found_goes_all_the_way(tmp_path, kragx):
    """Items and rules of a gold set, and a mark, stand in the release; the same again is none."""
    items = [{"id": "delivery", "why": "stale"}, {"source": "old-list", "why": "stale"}]
    rules = {"tenant": {"metadata.tenant": {"not": {"query": "metadata.tenant"}}}}
    corpus = [{"id": name, "text": f"All about the {name}."} for name in ("delivery", "refund")]
    asked = {"query_id": "q1", "query": "Until when?", "gold": [{"id": "refund", "grade": 2}]}
    gold = [{"forbidden": rules}, {**asked, "forbidden": items}]
    start(
        tmp_path / "shop",
        corpus=written(tmp_path / "corpus.jsonl", corpus),
        gold=written(tmp_path / "gold.jsonl", gold),
    )
    shop = tmp_path / "shop"
    first = read_dataset(released(shop).file)
    assert [item.to_dict() for item in first["q1"].forbidden] == items
    assert first.forbidden == rules
    assert released(shop).version is None
    pair = {"question": "q1", "document": "refund", "person": "ann"}
    add(shop, ANN, Judgement(kind="forbidden", why="tenant", **pair))
    again = released(shop)
    assert "1" in again.changes
    second = read_dataset(again.file)
    assert second["q1"].forbidden[2].to_dict() == {
        "id": "refund",
        "text": "All about the refund.",
        "why": "tenant",
    }
    assert second["q1"].gold == first["q1"].gold
    assert kragx("gold", "diff", str(shop / "gold_v1.jsonl"), str(again.file)).code == 0

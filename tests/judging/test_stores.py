"""Where judgements are kept: files and PostgreSQL alike, whatever a server sends, and by whom."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kragx.errors import DataError, JudgingError, UsageError
from kragx.judging import Answer, Judgement, Store, Usage
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.store import Address, StoreFailedError, exported
from tests.judging.support import ask, judge_of
from tests.thoroughness import some

URL = "postgresql://ann:s3cret@db.example:5432/rag?sslpassword=0ther"


ODD = {
    "a lone surrogate": Answer('{"reason": "a\\ud800b", "grade": 3}'),
    "NUL": Answer('{"reason": "a\\u0000b", "grade": 3}', model="x\0y", fingerprint="f\udfff"),
    "a count without end": Answer('{"reason": "r", "grade": 3}', Usage(10**30, 10**400)),
    "a count below zero": Answer('{"reason": "r", "grade": 3}', Usage(-5, -1)),
    "a count that is no number": Answer('{"reason": "r", "grade": 3}', Usage(math.nan, "many")),
    "names that are no texts": Answer('{"reason": "r", "grade": 3}', model=["m"], fingerprint=7),
}


@pytest.mark.parametrize("odd", some(ODD, 3))
def test_odd_answers(any_store, odd):
    """What a server sends keeps no other grade from being stored; a second run asks nothing."""
    answers = {"x": ODD[odd]}

    def answer(request):
        return answers.get(request.messages[-1][1].split("grade-")[1][0], 2)

    questions = [ask(f"text {n} grade-{'x' if n == 3 else n}") for n in range(8)]
    judged = judge_of(ScriptedClient(answer), any_store).judge(questions)
    assert [judgement.grade for judgement in judged.judgements] == [2, 2, 2, 3, 2, 2, 2, 2]
    again = judge_of(ScriptedClient([]), any_store).judge(questions)
    assert again.tally.n_calls == 0
    assert [judgement.grade for judgement in again.judgements] == [2, 2, 2, 3, 2, 2, 2, 2]
    with Store(any_store) as opened:
        assert len(exported(opened.records())) == 8


@pytest.mark.parametrize(
    ("name", "value"), [("prompt_tokens", 10**30), ("cached_tokens", -1), ("seconds", math.nan)]
)
def test_readable(store, name, value):
    """What no database takes is marked in a text, and a number that cannot be is refused."""
    judge_of(ScriptedClient([3]), store).judge([ask("a")])
    with Store(store) as opened:
        (record,) = opened.records()
        record = json.loads(json.dumps(record | {"uid": "odd", "reason": "a\ud800\0b"}))
        assert opened.add_records(exported([record])) == (1, 0)
        assert [entry["reason"] for entry in opened.records()][1] == "a\ufffd\ufffdb"
        with pytest.raises(DataError, match=f"'{name}' is"):
            exported([record | {"uid": "odder", name: value}])


@pytest.mark.integration
def test_postgresql(database):
    """What SQLite does: kept once, served, labelled, exported, imported."""
    questions = [ask(f"d{n}", query_id="q" * 9000, document_id=f"d{n}") for n in range(3)]
    judge_of(ScriptedClient([0, 1, 3]), database, concurrency=1).judge(questions)
    with Store(database) as opened:
        records = list(opened.records())
        assert [record["grade"] for record in records] == [0, 1, 3]
        assert records[0]["pairs"] == [["q" * 9000, "d0"]]
        assert opened.add_records(exported(records)) == (0, 3)
        assert opened.add_labels([("q1", "d1", 2), ("q1", "d1", 3)], "people") == 2
        assert opened.labels() == opened.labels(["q1"]) == {("q1", "d1"): 3}
    assert judge_of(ScriptedClient([]), database).judge(questions).tally.n_calls == 0


def test_address():
    """Neither text nor representation has a password; what is no store is refused."""
    address = Address.of(URL)
    assert str(address) == "postgresql://ann:***@db.example:5432/rag?sslpassword=***"
    assert address.path is None
    judge = judge_of(ScriptedClient([]), URL)
    for shown in (address, judge, judge.store):
        assert not any(secret in f"{shown} {shown!r}" for secret in ("s3", "0ther", "et@"))
    assert Address.of("C:\\x\\j.sqlite").path is not None
    for wrong in ("mysql://ann:s3cret@db/rag", "sqlite:///j.sqlite", "", 7):
        with pytest.raises(UsageError, match="file") as raised:
            Address.of(wrong)
        assert "s3cret" not in str(raised.value)
    for password in ("s3/cret", "s3@cret", "s3/cr@et"):
        with pytest.raises(UsageError, match="%2F and %40") as raised:
            Address.of(f"postgres://ann:{password}@db/rag")
        assert not re.search("s3|et", str(raised.value).partition(": write")[0])


def test_no_server():
    """Where no server answers it is said which, without the password."""
    pytest.importorskip("psycopg")
    url = "postgresql://ann:s3cret@127.0.0.1:9/rag"
    with pytest.raises(DataError, match=r"ann:\*\*\*@127.0.0.1:9/rag: .*refused") as raised:
        judge_of(ScriptedClient([]), url).judge([ask("x")])
    assert "s3cret" not in str(raised.value)


def test_batches(any_store):
    """What an open batch asks no other takes, unless told to; states follow one another."""
    about = {"client": {"model": "m"}, "rubrics": {}, "most": {}}
    keys = {"a", "b"}
    with Store(any_store) as one, Store(any_store) as other:
        assert one.batches.plan("1", about, keys, again=False) == keys
        assert other.batches.plan("2", about, keys | {"c"}, again=False) == {"c"}  # not planned
        assert other.batches.plan("2", about, {"c"}, again=False) == {"c"}
        assert other.batches.plan("3", about, keys, again=True) == keys
        pending = one.batches.pending("cx")
        assert {key: judgement.failure for key, judgement in pending.items()} == {"c": "pending"}
        assert pending["c"].detail.startswith("in 2, submitted ")
        assert one.batches.move("1", "planned", "submitted", id="f\0")
        assert one.batches.move("1", "planned", "submitted", id="f\0")  # the same said twice
        assert not other.batches.move("1", "planned", "failed")
        assert other.batches.move("2", "planned", "failed", problems=["why"])
        assert one.batches.move("3", "planned", "failed")
        states = [(batch.uid, batch.state, batch.is_open) for batch in one.batches.batches()]
        assert states == [("1", "submitted", True), ("2", "failed", False), ("3", "failed", False)]
        first, *_ = one.batches.batches()
        assert one.batches.keys(first) == keys
        assert other.batches.plan("4", about, ["c"], again=False) == {"c"}


# -- without the right to write ------------------------------------------------------------------


@contextmanager
def anybody():
    """Without the rights of root, if one has them."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.skipif(os.name != "posix", reason="rights of files are others elsewhere")
@pytest.mark.parametrize("left", ["closed", "in use"])
def test_a_file_that_may_only_be_read(left):
    """It serves what it has, whoever writes it meanwhile; what it lacks is said, with a remedy."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "j.sqlite"
        judge_of(ScriptedClient([0, 1, 3]), store, concurrency=1).judge(
            [ask(f"d{n}") for n in range(3)]
        )
        with ExitStack() as stack:
            if left == "in use":
                stack.enter_context(Store(store)).add_labels([("q", "d", 1)], "people")
            for path in Path(folder).iterdir():
                path.chmod(0o444)
            Path(folder).chmod(0o555)
            with anybody():
                judge = judge_of(ScriptedClient([]), store)
                questions = [ask(f"d{n}") for n in range(5)]
                judged = judge.judge(questions[:3])
                assert [judgement.grade for judgement in judged.judgements] == [0, 1, 3]
                assert [one and one.grade for one in judge.stored(questions)] == [
                    0,
                    1,
                    3,
                    None,
                    None,
                ]
                judged = judge.judge(questions)
                assert [one.grade for one in judged.judgements] == [0, 1, 3, None, None]
                assert "may only be read, and lacks it" in judged.judgements[4].detail
                assert judged.tally.failures == {"not_asked": 2}
                with (
                    Store(store) as opened,
                    pytest.raises(StoreFailedError, match="may only be read"),
                ):
                    opened.add_labels([("q", "d", 1)], "people")
            Path(folder).chmod(0o755)


@pytest.mark.integration
def test_a_database_that_may_only_be_read(postgresql, database):
    """The same, of somebody with the right to select alone, and of a database without tables."""
    address = database.replace("postgres:", "guest:", 1)
    postgresql.psql("CREATE ROLE guest LOGIN;")
    with pytest.raises(DataError, match="cannot be opened as a judgement store: permission denied"):
        judge_of(ScriptedClient([]), address).judge([ask("d0")])
    assert judge_of(ScriptedClient([]), address).stored([ask("d0")]) == [None]
    judge_of(ScriptedClient([0, 1, 3]), database, concurrency=1).judge(
        [ask(f"d{n}") for n in range(3)]
    )
    with Store(database) as opened:
        opened._database.do(
            lambda db: [
                db.exec_driver_sql("GRANT USAGE ON SCHEMA kragx TO guest"),
                db.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA kragx TO guest"),
            ]
        )
    guest = judge_of(ScriptedClient([]), address)
    judged = guest.judge([ask(f"d{n}") for n in range(3)])
    assert [judgement.grade for judgement in judged.judgements] == [0, 1, 3]
    judged = guest.judge([ask(f"d{n}") for n in range(4)])
    assert "may only be read, and lacks it" in judged.judgements[3].detail


@pytest.mark.integration
def test_a_server_that_is_gone_for_a_moment(database):
    """A connection that was lost is made again, and what waits is stored."""
    with Store(database) as opened, Store(database) as other:
        kill = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        other._database.do(
            lambda db: db.exec_driver_sql(f"{kill} AND datname = current_database()")
        )
        opened.add([Judgement("k", 3, uid="u", at="now")])
        assert opened.stored_answers(["k"])["k"].grade == 3


def test_budgets_of_a_period(any_store):
    """What a store has counts against a limit in all, by model and price, new rows too."""
    questions = [ask(f"document {number}") for number in range(6)]
    judge_of(ScriptedClient([1, 1, 1]), any_store, concurrency=1).judge(questions[:3])
    prices = {"scripted": {"input": 1, "output": 1}}
    for limit in ({"calls": 4, "per": "total"}, {"cost": 0.00049, "per": "total"}):
        judge = judge_of(ScriptedClient([1]), any_store, budget=limit, prices=prices, concurrency=1)
        with pytest.raises(JudgingError, match="questions were not asked"):
            judge.judge(questions)
    with Store(any_store) as opened:
        last, spent = opened.spent(after=0)
        assert {group: (one.n_calls, one.prompt_tokens) for group, one in spent.items()} == {
            ("scripted", False): (4, 400)
        }
        assert opened.spent(after=last) == (last, {})

"""A database that takes nothing, and servers that share one."""

import re
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from kragx.workshop.state.records import new_uid
from tests.workshop.serving import grade, opened, serving, started


@pytest.mark.integration
def test_a_full_disk_acknowledges_nothing(served):
    """503 in words while nothing can be stored; then the page's repetition is stored once."""
    connection = served.desk.state.store._database._connection

    def limit(pages):
        with connection.begin():
            return connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").scalar()

    served.ask("GET", "/api/me")
    usual = limit(1)  # it cannot be below what there is
    said = [grade("q1", "refund", 1, note="n" * 2000) for _ in range(30)]
    answers = [served.ask("POST", "/api/judgements", one) for one in said]
    (status, answer) = answers[-1]
    assert status == 503
    assert "nothing was stored" in answer["error"]["problem"]
    assert served.ask("GET", "/api/me")[0] == 200  # what is there can be read
    limit(1 << 30)
    assert usual
    assert [served.ask("POST", "/api/judgements", one)[0] for one in said] == [200] * len(said)
    (history,) = [rows for rows in served.desk.state.history.values() if rows[0].note]
    assert sorted(row.uid for row in history) == sorted(one["uid"] for one in said)


@contextmanager
def held(address):
    """Somebody else holds the database, and lets go at the end."""
    if address.path:
        connection = sqlite3.connect(address.path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
    else:
        import psycopg  # of an extra

        connection = psycopg.connect(re.sub(r"^postgresql\+\w+", "postgresql", address.url))
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'"
        )
        for (table,) in tables.fetchall():
            connection.execute(f"LOCK TABLE shop.{table} IN EXCLUSIVE MODE")
    yield
    connection.rollback()
    connection.close()


@pytest.mark.integration
def test_a_database_that_others_hold(any_shop):
    """Whoever writes hears within 3 s, by one code, that nothing was stored; reading goes on."""
    asked = [
        ("/api/judgements", grade("q1", "refund", 1)),
        ("/api/judgements", grade("q2", "delivery", 1)),
        ("/api/undo", {"uid": new_uid()}),
        ("/api/questions", {"text": "무엇을 보증하나요?"}),
        ("/api/people", {"name": "지민"}),
        ("/api/releases", {}),
    ]
    with serving(any_shop) as served:
        assert served.ask("POST", "/api/judgements", grade("q1", "refund", 2))[0] == 200

        def send(path, body):
            began = time.monotonic()
            status, answer = served.ask("POST", path, body)
            return status, answer["error"]["code"], time.monotonic() - began < 3

        with (
            held(served.desk.state.store.address),
            ThreadPoolExecutor(len(asked)) as threads,
        ):
            answers = [threads.submit(send, *one) for one in asked]
            assert served.ask("GET", "/api/guidelines")[0] == 200
            assert {own.result() for own in answers} == {(503, "store", True)}
        assert [served.ask("POST", *one)[0] for one in asked] == [200] * len(asked)


@pytest.mark.integration
def test_a_name_that_others_call_it_by(shop):
    """Named, it answers under it, behind a server with TLS too, and under no other."""
    with serving(shop, names=["gold.example", "fd00::1"]) as served:
        for host, origin, status in (
            ("gold.example", "https://gold.example", 200),
            ("GOLD.example:8765", "http://gold.example:8765", 200),
            ("[fd00::1]:8765", "http://[fd00::1]:8765", 200),
            ("127.0.0.1", "http://127.0.0.1", 200),
            ("gold.example", "https://evil.example", 403),
            ("x.gold.example", "https://x.gold.example", 403),
        ):
            headers = {"Host": host, "Origin": origin}
            assert served.ask("GET", "/api/me", headers=headers)[0] == status, host


@pytest.mark.integration
def test_a_database_server_that_goes_and_comes_back(tmp_path, database, postgresql):
    """A connection that was cut is made anew: nobody notices."""
    shop = started(tmp_path, database=database)
    with serving(shop) as served:
        said = [grade("q1", "refund", number) for number in (0, 1, 2)]
        assert served.ask("POST", "/api/judgements", said[0])[0] == 200
        postgresql.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
            f"'{database.rpartition('/')[2].partition('?')[0]}';"
        )
        assert served.ask("POST", "/api/judgements", said[1])[0] == 200
        with opened(shop) as other:
            known = [bool(other.state.judgement(one["uid"])) for one in said]
    assert known == [True, True, False]


@pytest.mark.integration
def test_two_servers_on_one_postgresql(tmp_path, database):
    """Each shows what the other was told; both at once lose nothing and count nothing twice."""
    shop = started(tmp_path, database=database, schema="shop")
    with serving(shop) as one, serving(shop) as other:
        token = one.annotator("지민")
        said = [grade("q1", "refund", number % 4) for number in range(20)]

        def send(served):
            for body in said:
                assert served.ask("POST", "/api/judgements", body, token=token)[0] == 200

        threads = [threading.Thread(target=send, args=(served,)) for served in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for served in (one, other):
            assert served.ask("GET", "/api/me", token=token)[1]["counts"]["mine"] == 1
            (history,) = [
                rows
                for uid, rows in served.desk.state.history.items()
                if served.desk.state.people[uid].name == "지민"
            ]
            assert sorted(row.uid for row in history) == sorted(body["uid"] for body in said)
        assert one.ask("POST", "/api/undo", {"uid": new_uid()}, token=token)[0] == 200
        pair = other.ask("GET", "/api/next", token=token)[1]
        assert pair

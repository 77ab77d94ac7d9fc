"""Whom the workshop's server answers, and what it takes."""

import json
import socket
from contextlib import suppress

import pytest

from kragx.workshop import services
from kragx.workshop.state.records import new_uid
from kragx.workshop.web.security import HEADERS, LARGEST_BODY
from kragx.workshop.web.server import form_of
from tests.waiting import PATIENCE
from tests.workshop.serving import grade, serving, started


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One server for all that it refuses."""
    with serving(started(tmp_path_factory.mktemp("shop"))) as running:
        yield running


def n_judgements(served) -> int:
    """How many judgements count."""
    return sum(map(len, served.desk.state.history.values()))


def sent(served, data: bytes) -> bytes:
    """What comes back on a connection of its own for these very bytes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        parts = []
        with suppress(ConnectionError):  # it read no further
            connection.sendall(data)
            while part := connection.recv(65536):
                parts.append(part)
    return b"".join(parts)


def status(answer: bytes) -> int:
    """The status of an answer."""
    return int(answer.split(b" ", 2)[1])


def request(served, method: str = "GET", path: str = "/api/me", **headers: str) -> bytes:
    """A request of the owner's with these headers."""
    own = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"Host": f"127.0.0.1:{served.port}", "X-Kragx-Token": served.token, **own}
    lines = [f"{name}: {value}" for name, value in given.items() if value]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Connection: close", *lines, "", ""]).encode()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_a_foreign_origin_is_refused(served, origin):
    """Neither reads nor writes are done for a page of another origin, with the right token."""
    headers = {"Origin": origin}
    assert served.ask("GET", "/api/me", headers=headers)[0] == 403
    said = grade("q1", "refund", 1)
    assert served.ask("POST", "/api/judgements", said, headers=headers)[0] == 403
    assert not served.desk.state.judgement(said["uid"])


def test_its_own_origin_is_welcome(served):
    """The page's own requests say the server's origin, by either name of the loopback."""
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{served.port}"
        headers = {"Host": host, "Origin": f"http://{host}"}
        assert served.ask("GET", "/api/me", headers=headers)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "[::1",
        "a:b:c",
        "127.0.0.1@evil.example",
    ],
)
def test_a_name_that_was_made_to_lead_here_is_refused(served, host):
    """DNS rebinding: the browser sends the foreign name as Host, for pages too."""
    assert status(sent(served, request(served, Host=host))) == 403
    assert status(sent(served, request(served, path="/", Host=host))) == 403


def test_without_one_host_nothing_is_answered(served):
    """HTTP/1.0 may leave it out, and two of them are none."""
    assert status(sent(served, b"GET / HTTP/1.0\r\n\r\n")) == 400
    two = request(served).replace(b"Connection", b"Host: 127.0.0.1\r\nConnection")
    assert status(sent(served, two)) == 400


@pytest.mark.parametrize("token", ["", "x", "wrong" * 8, "é", "\u212a"])
def test_a_wrong_token_is_refused(served, token):
    """Missing, short, wrong, or not even ASCII."""
    raw = request(served, X_Kragx_Token="")
    if token:
        raw = raw.replace(b"\r\n\r\n", b"\r\nX-Kragx-Token: " + token.encode() + b"\r\n\r\n")
    assert status(sent(served, raw)) == 401


def test_a_beginning_of_a_token_is_none(served):
    """All of it counts, and two tokens are none."""
    assert served.ask("GET", "/api/me", token=served.token[:-1])[0] == 401
    assert served.ask("GET", "/api/me", token=served.token + "=")[0] == 401
    two = request(served).replace(
        b"\r\n\r\n", f"\r\nX-Kragx-Token: {served.token}\r\n\r\n".encode()
    )
    assert status(sent(served, two)) == 401


def test_a_token_in_the_address_is_refused(served):
    """It would stand in logs and histories: it counts for nothing there."""
    path = f"/api/me?token={served.token}"
    assert served.ask("GET", path, token="")[0] == 401
    assert served.ask("GET", path)[0] == 400


def test_a_link_that_was_taken_away_leads_nowhere(served):
    """It is said, so that nobody looks for a mistake of their own; given back, it works."""
    token = served.annotator("지민")
    (uid,) = [
        one["uid"]
        for one in services.people.everybody(served.desk)["people"]
        if one["name"] == "지민"
    ]
    assert served.ask("POST", "/api/people", {"uid": uid, "state": "gone"})[0] == 200
    answer = served.ask("POST", "/api/judgements", grade("q1", "refund", 1), token=token)
    assert (answer[0], answer[1]["error"]["problem"]) == (401, "this link was taken away")
    assert served.ask("POST", "/api/people", {"uid": uid, "state": "here"})[0] == 200
    assert served.ask("GET", "/api/me", token=token)[0] == 200


def test_an_annotator_is_not_the_owner(served):
    """What is the owner's is refused, and nothing of it is in the answer."""
    token = served.annotator("지민")
    for method, path, body in (
        ("GET", "/api/people", None),
        ("POST", "/api/people", {"name": "x"}),
        ("GET", "/api/conflicts", None),
        ("POST", "/api/decisions", grade("q1", "refund", 1)),
        ("GET", "/api/releases", None),
        ("POST", "/api/releases", {}),
    ):
        status, answer = served.ask(method, path, body, token=token)
        assert (status, list(answer)) == (403, ["error"]), path


@pytest.mark.integration
def test_reading_changes_nothing(served):
    """No GET has an effect, and what writes is not done by GET."""
    state = served.desk.state
    before = (len(state.people), len(state.questions), len(state.history))
    for path in ("judgements", "undo", "questions/drop", "decisions"):
        assert served.ask("GET", f"/api/{path}?uid={new_uid()}")[0] == 405
    for path in (
        "me",
        "next",
        "questions",
        "search?q=%ED%99%98",
        "progress",
        "conflicts",
        "people",
    ):
        assert served.ask("GET", f"/api/{path}")[0] == 200, path
    assert (len(state.people), len(state.questions), len(state.history)) == before


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"],
)
def test_a_body_must_say_that_it_is_json(served, kind):
    """Other pages may send the other kinds without the browser asking first."""
    said = json.dumps(grade("q1", "refund", 1)).encode()
    headers = {"Content-Type": kind}
    assert served.ask("POST", "/api/judgements", said, headers=headers)[0] == 415


def test_a_large_body_is_refused(served):
    """By its length before it is read, and without one as soon as it is too much."""
    body = b'{"note": "' + b"a" * LARGEST_BODY + b'"}'
    assert served.ask("POST", "/api/judgements", body)[0] == 413
    head = request(served, "POST", "/api/judgements", Content_Type="application/json")
    endless = head.replace(b"\r\n\r\n", b"\r\nContent-Length: 99999999999999999999\r\n\r\n")
    assert status(sent(served, endless + b"{")) in (400, 413)
    chunked = head.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    part = b"4000\r\n" + b"a" * 0x4000 + b"\r\n"
    assert status(sent(served, chunked + part * 5 + b"0\r\n\r\n")) == 413


def test_a_body_that_ends_early_changes_nothing(served):
    """Half a judgement is none."""
    said, before = json.dumps(grade("q1", "refund", 1)).encode(), n_judgements(served)
    head = request(served, "POST", "/api/judgements", Content_Type="application/json")
    head = head.replace(b"\r\n\r\n", f"\r\nContent-Length: {len(said)}\r\n\r\n".encode())
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        connection.sendall(head + said[:20])
    assert served.ask("GET", "/api/me")[0] == 200
    assert n_judgements(served) == before
    assert served.ask("GET", "/api/me")[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 30_000,
        b'{"a":' * 10_000,
        b'{"seconds": NaN}',
        b'{"seconds": 1e999}',
        b'{"grade": ' + b"9" * 5000 + b"}",
        b'{"uid": "a", "uid": "b"}',
        b"[]",
        b"null",
        b"",
        b"\xff\xfe",
        b'"\\ud800"',
    ],
)
def test_odd_json_is_a_mistake_of_the_sender(served, body):
    """Nested endlessly, numbers that are none, keys that stand twice: 400, and it goes on."""
    status, answer = served.ask("POST", "/api/judgements", body)
    assert (status, list(answer["error"])) == (400, ["problem", "field", "remedy", "code"])
    assert served.ask("GET", "/api/me")[0] == 200


def test_values_of_another_kind_are_mistakes_of_the_sender(served):
    """In whichever field of whatever may be sent: never a mistake of kragx."""
    functions = [f for service in services.SERVICES for f in vars(service).values()]
    calls = [(f.call, form_of(f)) for f in functions if getattr(f, "call", None)]
    for call, form in calls:
        for field in form.model_fields if call.method == "POST" else ():
            for value in (True, 2.5, "a\0b", [], [[1]], {"a": 1}):
                status, answer = served.ask("POST", f"/api/{call.path}", {field: value})
                assert status < 500, (call.path, field, value, answer)


@pytest.mark.parametrize(
    "wrong",
    [
        {"grade": 4},
        {"grade": -1},
        {"grade": 2.0},
        {"grade": True},
        {"grade": "2"},
        {"grade": None},
        {"grade": 10**30},
        {"kind": "later"},
        {"kind": "undone"},
        {"spans": [[0, 1000]]},
        {"spans": [[2, 2]]},
        {"spans": [[-1, 2]]},
        {"spans": [[0, 1, 2]]},
        {"spans": [[0, 10**30]]},
        {"note": "n" * 2001},
        {"uid": "short"},
        {"uid": "../../../etc"},
        {"seconds": -1},
        {"is_decision": True},
        {"person": "x"},
    ],
)
def test_what_does_not_fit_is_refused(served, wrong):
    """Each field within its bounds, and no field that is not asked for."""
    before = n_judgements(served)
    status, answer = served.ask("POST", "/api/judgements", {**grade("q1", "refund", 1), **wrong})
    assert status == 400
    assert answer["error"]["field"]
    assert n_judgements(served) == before


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "/..%5cserver.py",
        "//etc/passwd",
        "/static/../../security.py",
        "/index.html%00.js",
        "/.secret",
        "/api/../workshop.yaml",
        "/api/nothing",
    ],
)
def test_no_other_file_is_served(served, path):
    """Names are looked up, never joined to a path."""
    assert served.raw("GET", path)[0] == 404


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "CONNECT"])
def test_other_methods_do_nothing(served, method):
    """No preflight is answered, and nothing is echoed."""
    answer = sent(served, request(served, method, "/api/judgements"))
    assert status(answer) in (400, 404, 405)
    assert b"access-control" not in answer.lower()
    assert served.token.encode() not in answer


def test_every_answer_says_what_a_browser_may_do_with_it(served):
    """Pages, data, errors of every kind: the same headers; data is kept nowhere."""
    wrong = {"Host": "evil.example"}
    for method, path, headers in (
        ("GET", "/", {}),
        ("GET", "/nothing", {}),
        ("GET", "/api/me", {}),
        ("HEAD", "/api/me", {}),
        ("GET", "/api/nothing", {}),
        ("PUT", "/api/me", {}),
        ("GET", "/api/me", wrong),
        ("GET", "/api/me", {"X-Kragx-Token": "x"}),
        ("GET", "/api/documents?document=nothing", {}),
    ):
        _, answered, body = served.raw(method, path, headers=headers)
        for name, value in HEADERS.items():
            assert answered[name] == value, (method, path, name)
        if path.startswith("/api"):
            assert answered["Cache-Control"] == "no-store", path
            assert answered["Content-Type"].startswith("application/json"), path
        assert "server" not in answered
        assert method != "HEAD" or not body


HOSTILE = (
    "<script>alert(1)</script>",
    "\u202eevil\u202c",
    "a" + "\u0301" * 1500,
    "\x00\x1b[2J",
    "\ud800 half",
    '"}{"',
)


@pytest.mark.integration
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_come_back_as_data(served, text):
    """Questions, notes and names are the texts that they were, mended, and JSON alone."""
    mended = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    status, answer = served.ask("POST", "/api/questions", {"text": text, "note": text})
    assert (status, answer["question"]["text"]) == (200, mended)
    said = grade("q1", "refund", 1, note=text)
    assert served.ask("POST", "/api/judgements", said)[0] == 200
    assert served.desk.state.judgement(said["uid"]).note == mended
    if len(text) <= 100:
        assert served.ask("POST", "/api/people", {"name": text})[0] == 200
        assert mended in [one["name"] for one in served.ask("GET", "/api/people")[1]["people"]]


def test_endless_names_and_questions_are_refused(served):
    """A name has at most 100 characters, marks counted; one of white space is none."""
    for name in ("a" + "\u0301" * 10_000, "n" * 101, " ", ""):
        assert served.ask("POST", "/api/people", {"name": name})[0] == 400
    assert served.ask("POST", "/api/questions", {"text": "q" * 2001})[0] == 400
    assert served.ask("POST", "/api/questions", {"text": " \n"})[0] == 400


def test_many_headers_are_refused(served):
    """A request line and headers without end are not read to it."""
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 100) for number in range(3000))
    answer = sent(served, request(served).replace(b"\r\n\r\n", b"\r\n" + lines + b"\r\n"))
    assert not answer or status(answer) in (400, 431)
    assert served.ask("GET", "/api/me")[0] == 200


def test_a_mistake_in_kragx_is_said_and_hides_its_insides(served, monkeypatch):
    """500 without a traceback, and the next request is answered."""
    monkeypatch.setattr("kragx.workshop.services.conflicts.conflicts", lambda pools: 1 / 0)
    status, answer = served.ask("GET", "/api/conflicts")
    assert (status, "division" in str(answer)) == (500, False)
    assert served.ask("GET", "/api/me")[0] == 200

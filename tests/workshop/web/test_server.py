"""The workshop's server: who asks, what comes back."""

from kragx.workshop.state.records import new_uid
from tests.workshop.serving import grade


def test_the_way_of_a_grade(served):
    """A pair comes, is graded, is there; undone, it comes again."""
    token = served.annotator("지민")
    _, answer = served.ask("GET", "/api/next", token=token)
    pair = answer["pair"]
    said = grade(pair["question"]["uid"], pair["document"]["id"], 3, spans=[[0, 2]], note="앞")
    status, answer = served.ask("POST", "/api/judgements", said, token=token)
    assert (status, answer["stored"]) == (200, True)
    assert answer["next"]["pair"]["question"]["uid"] != pair["question"]["uid"]
    assert answer["next"]["progress"]["mine"] == 1
    status, answer = served.ask("POST", "/api/undo", {"uid": new_uid()}, token=token)
    assert (status, answer["pair"]["document"]["id"]) == (200, pair["document"]["id"])
    assert served.ask("GET", "/api/me", token=token)[1]["counts"]["mine"] == 0


def test_a_grade_sent_twice_is_stored_once(served):
    """The answer is the same, and one undo takes it back; other words under its uid are refused."""
    said = grade("q1", "refund", 2)
    assert [served.ask("POST", "/api/judgements", said)[0] for _ in range(2)] == [200, 200]
    assert served.ask("POST", "/api/judgements", {**said, "grade": 0})[0] == 409
    undo = {"uid": new_uid()}
    assert [served.ask("POST", "/api/undo", undo)[0] for _ in range(2)] == [200, 200]
    assert served.ask("POST", "/api/undo", {"uid": new_uid()})[0] == 409

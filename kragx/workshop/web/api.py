"""What the page asks: each question with who may ask it, what it takes, and who answers."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kragx.data.databases import StoreFailedError, answering
from kragx.data.formats.jsonl import foreign_json
from kragx.data.text import Mender
from kragx.ground.errors import DataError, KragxError, UsageError, shorten
from kragx.workshop import forms
from kragx.workshop.desk import Desk
from kragx.workshop.forms import RequestForm
from kragx.workshop.services import ClashError, RefusedError, UnknownError
from kragx.workshop.services.context import Plain
from kragx.workshop.state.records import Person
from kragx.workshop.web.security import Refusal, body_of, json_response, token_of
from kragx.workshop.web.tree import tree

_Form = TypeVar("_Form", bound=RequestForm)

_PATIENCE = 2.0
"""Seconds that a database which others hold may take; the page then keeps what it sent, and asks
again."""

_STATUS = {UnknownError: 404, RefusedError: 403, ClashError: 409}
"""What HTTP calls a refusal; 400 for all others."""


@dataclass(frozen=True)
class ApiCall:
    """Something that the page may ask.

    Attributes:
        method, path: of HTTP, below /api/; a GET changes nothing.
        form: what it takes: a GET in its query, a POST as JSON.
        answer: what the desk says.
        owner: whether only the owner may ask.
    """

    method: Literal["GET", "POST"]
    path: str
    form: type[RequestForm]
    answer: Callable[[Desk, Person, Any], Plain]
    owner: bool = False


# In the answers `d` is the desk, `p` who asks, and `f` the form.
CALLS: tuple[ApiCall, ...] = (
    ApiCall("GET", "me", forms.Nothing, lambda d, p, _: d.progress.me(p)),
    ApiCall("GET", "next", forms.NextForm, lambda d, p, f: d.judging.next(p, f)),
    ApiCall("POST", "leave", forms.Nothing, lambda d, p, _: d.judging.leave(p)),
    ApiCall("POST", "judgements", forms.JudgementForm, lambda d, p, f: d.judging.judge(p, f)),
    ApiCall("POST", "marks", forms.MarkForm, lambda d, p, f: d.judging.mark(p, f)),
    ApiCall("POST", "undo", forms.UndoForm, lambda d, p, f: d.judging.undo(p, f.uid)),
    ApiCall("GET", "questions", forms.QuestionsForm, lambda d, p, f: d.questions.listed(p, f)),
    ApiCall("POST", "questions", forms.QuestionForm, lambda d, p, f: d.questions.put(p, f)),
    ApiCall("POST", "questions/drop", forms.DropForm, lambda d, p, f: d.questions.drop(p, f)),
    ApiCall("GET", "templates", forms.TemplatesForm, lambda d, _, f: d.questions.drafts(f), True),
    ApiCall(
        "POST", "templates", forms.UidsForm, lambda d, p, f: d.questions.add_drafts(p, f), True
    ),
    ApiCall(
        "GET", "documents", forms.DocumentForm, lambda d, _, f: d.passages.document(f.document)
    ),
    ApiCall("GET", "around", forms.DocumentForm, lambda d, _, f: d.passages.around(f.document)),
    ApiCall("GET", "search", forms.SearchForm, lambda d, p, f: d.passages.search(p, f)),
    ApiCall("GET", "guidelines", forms.Nothing, lambda d, *_: _guidelines(d)),
    ApiCall("GET", "progress", forms.Nothing, lambda d, p, _: d.progress.report(p)),
    ApiCall("GET", "conflicts", forms.Nothing, lambda d, *_: d.judging.conflicts(), True),
    ApiCall("POST", "decisions", forms.DecisionForm, lambda d, p, f: d.judging.decide(p, f), True),
    ApiCall("GET", "releases", forms.Nothing, lambda d, *_: d.releases.listed(), True),
    ApiCall("POST", "releases", forms.ReleaseForm, lambda d, p, f: d.releases.release(p, f), True),
    ApiCall("GET", "people", forms.Nothing, lambda d, *_: d.people.everybody(), True),
    ApiCall("POST", "people", forms.PersonForm, lambda d, _, f: d.people.put(f), True),
)


def _guidelines(desk: Desk) -> Plain:
    workshop = desk.context.workshop
    return {"tree": tree(workshop.guidelines), "version": workshop.guidelines_version}


def routes(desk: Desk, say: Callable[[str], object]) -> Iterator[Route]:
    """Yield the routes of all that may be asked, below /api.

    Args:
        desk: answers.
        say: is told of mistakes in kragx.
    """
    for call in CALLS:
        yield Route(f"/{call.path}", _endpoint(desk, call, say), methods=[call.method])


def _endpoint(
    desk: Desk, call: ApiCall, say: Callable[[str], object]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            token = token_of(request.headers)
            body = await body_of(request) if call.method == "POST" else None
            return await run_in_threadpool(_answer, desk, call, token, request, body)
        except Refusal as refusal:
            return refusal.response()
        except Exception as error:  # a mistake; the page hears of it, and goes on
            say(f"{call.method} /api/{call.path}: {type(error).__name__}: {error}")
            problem = "this is a mistake in kragx, please report it"
            return Refusal(500, problem, code="mistake").response()

    return endpoint


def _answer(
    desk: Desk, call: ApiCall, token: str, request: Request, body: bytes | None
) -> Response:
    try:
        with answering(within=_PATIENCE):
            desk.context.state.refresh()
            person = _person(desk, token)
            if call.owner and person.role != "owner":
                raise Refusal(403, "only the owner may ask this", code="owner")
            if body is None:
                form = _form(call.form, dict(request.query_params))
            else:
                form = _form(call.form, _json(body))
            return json_response(call.answer(desk, person, form))
    except StoreFailedError as error:
        problem = "the database does not answer; nothing was stored"
        remedy = f"try again in a moment ({error.problem})"
        raise Refusal(503, problem, remedy=remedy, code="store") from None
    except (UsageError, DataError) as error:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
        raise Refusal.of(status, error) from None


def _person(desk: Desk, token: str) -> Person:
    person = desk.people.holder(token)
    if person is None:
        remedy = "open the link that you were given"
        raise Refusal(401, "nobody's link", remedy=remedy, code="link")
    if person.state == "gone":
        remedy = "ask the owner for another one"
        raise Refusal(401, "this link was taken away", remedy=remedy, code="gone")
    return person


def _json(body: bytes) -> Any:
    try:
        value = foreign_json(body.decode("utf-8", "surrogatepass"), strict=True)
    except (ValueError, KragxError) as error:  # UnicodeDecodeError is one
        raise Refusal(400, f"not valid JSON: {error}") from None
    return Mender().mend_within(value)


def _form(form: type[_Form], value: Any) -> _Form:
    if not isinstance(value, dict):
        raise Refusal(400, f"a JSON object is expected, not {shorten(value)}")
    try:
        return form.model_validate(value)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(map(str, detail["loc"]))
        problem = f"{detail['msg']} ({shorten(detail['input'])})"
        raise Refusal(400, problem, field=field, code="form") from None

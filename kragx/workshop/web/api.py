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
from kragx.errors import DataError, KragxError, UsageError, shorten
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


@dataclass(frozen=True)
class Call:
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


CALLS: tuple[Call, ...] = (
    Call("GET", "me", forms.Nothing, lambda desk, person, _: desk.progress.me(person)),
    Call("GET", "next", forms.NextForm, lambda desk, *form: desk.judging.next(*form)),
    Call("POST", "leave", forms.Nothing, lambda desk, person, _: desk.judging.leave(person)),
    Call("POST", "judgements", forms.JudgementForm, lambda desk, *form: desk.judging.judge(*form)),
    Call("POST", "marks", forms.MarkForm, lambda desk, *form: desk.judging.mark(*form)),
    Call(
        "POST",
        "undo",
        forms.UndoForm,
        lambda desk, person, form: desk.judging.undo(person, form.uid),
    ),
    Call("GET", "questions", forms.QuestionsForm, lambda desk, *form: desk.questions.listed(*form)),
    Call("POST", "questions", forms.QuestionForm, lambda desk, *form: desk.questions.put(*form)),
    Call("POST", "questions/drop", forms.DropForm, lambda desk, *form: desk.questions.drop(*form)),
    Call(
        "GET",
        "questions/templates",
        forms.TemplatesForm,
        lambda desk, _, form: desk.questions.drafts(form),
        owner=True,
    ),
    Call(
        "POST",
        "questions/templates",
        forms.UidsForm,
        lambda desk, *form: desk.questions.add_drafts(*form),
        owner=True,
    ),
    Call(
        "GET",
        "around",
        forms.DocumentForm,
        lambda desk, _, form: desk.passages.around(form.document),
    ),
    Call("GET", "search", forms.SearchForm, lambda desk, *form: desk.passages.search(*form)),
    Call("GET", "guidelines", forms.Nothing, lambda desk, *_: _guidelines(desk)),
    Call("GET", "progress", forms.Nothing, lambda desk, person, _: desk.progress.report(person)),
    Call("GET", "conflicts", forms.Nothing, lambda desk, *_: desk.judging.conflicts(), owner=True),
    Call(
        "POST",
        "decisions",
        forms.DecisionForm,
        lambda desk, *form: desk.judging.decide(*form),
        owner=True,
    ),
    Call("GET", "releases", forms.Nothing, lambda desk, *_: desk.releases.listed(), owner=True),
    Call(
        "POST",
        "releases",
        forms.ReleaseForm,
        lambda desk, *form: desk.releases.release(*form),
        owner=True,
    ),
    Call("GET", "people", forms.Nothing, lambda desk, *_: desk.people.everybody(), owner=True),
    Call(
        "POST", "people", forms.PersonForm, lambda desk, _, form: desk.people.put(form), owner=True
    ),
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

    async def of_document(request: Request) -> Response:
        document = request.path_params["document"]  # an id may hold any character
        call = Call(
            "GET", "documents", forms.Nothing, lambda desk, *_: desk.passages.document(document)
        )
        return await _endpoint(desk, call, say)(request)

    yield Route("/documents/{document:path}", of_document, methods=["GET"])


def _endpoint(
    desk: Desk, call: Call, say: Callable[[str], object]
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


def _answer(desk: Desk, call: Call, token: str, request: Request, body: bytes | None) -> Response:
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
    except UnknownError as error:
        raise Refusal.of(404, error) from None
    except RefusedError as error:
        raise Refusal.of(403, error) from None
    except ClashError as error:
        raise Refusal.of(409, error) from None
    except StoreFailedError as error:
        problem = "the database does not answer; nothing was stored"
        remedy = f"try again in a moment ({error.problem})"
        raise Refusal(503, problem, remedy=remedy, code="store") from None
    except (UsageError, DataError) as error:
        raise Refusal.of(400, error) from None


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

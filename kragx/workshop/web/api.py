"""What the page asks: each question goes to the method of a service that says it answers it."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar, get_type_hints

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kragx.data.databases import StoreFailedError, answering
from kragx.data.formats.jsonl import foreign_json
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, KragxError, UsageError, shorten
from kragx.workshop.desk import Desk
from kragx.workshop.services.context import ClashError, Plain, RefusedError, UnknownError
from kragx.workshop.services.forms import ApiCall, RequestForm
from kragx.workshop.state.records import Person
from kragx.workshop.web.security import Refusal, body_of, json_response, token_of

_Form = TypeVar("_Form", bound=RequestForm)

_PATIENCE = 2.0
"""Seconds that a database which others hold may take; the page then keeps what it sent, and asks
again."""

_STATUS = {UnknownError: 404, RefusedError: 403, ClashError: 409}
"""What HTTP calls a refusal; 400 for all others."""


def routes(desk: Desk, say: Callable[[str], object]) -> Iterator[Route]:
    """Yield the routes of all that may be asked, below /api: what the desk's services mark.

    Args:
        desk: answers.
        say: is told of mistakes in kragx.
    """
    for service in desk.services:
        for _, method in inspect.getmembers(service, inspect.ismethod):
            if (call := vars(method.__func__).get("call")) is not None:
                endpoint = _endpoint(desk, call, method, say)
                yield Route(f"/{call.path}", endpoint, methods=[call.method])


def _endpoint(
    desk: Desk, call: ApiCall, method: Callable[..., Plain], say: Callable[[str], object]
) -> Callable[[Request], Awaitable[Response]]:
    takes = get_type_hints(method)  # once, not at each request

    def answer(person: Person, value: Any) -> Plain:
        arguments = {"person": person, "form": _form(takes.get("form", RequestForm), value)}
        return method(**{name: argument for name, argument in arguments.items() if name in takes})

    async def endpoint(request: Request) -> Response:
        try:
            token = token_of(request.headers)
            body = await body_of(request) if call.method == "POST" else None
            return await run_in_threadpool(_answer, desk, call, answer, token, request, body)
        except Refusal as refusal:
            return refusal.response()
        except Exception as error:  # a mistake; the page hears of it, and goes on
            say(f"{call.method} /api/{call.path}: {type(error).__name__}: {error}")
            problem = "this is a mistake in kragx, please report it"
            return Refusal(500, problem, code="mistake").response()

    return endpoint


def _answer(
    desk: Desk,
    call: ApiCall,
    answer: Callable[[Person, Any], Plain],
    token: str,
    request: Request,
    body: bytes | None,
) -> Response:
    try:
        with answering(within=_PATIENCE):
            desk.context.state.refresh()
            person = _person(desk, token)
            if call.owner and person.role != "owner":
                raise Refusal(403, "only the owner may ask this", code="owner")
            value = dict(request.query_params) if body is None else _json(body)
            return json_response(answer(person, value))
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
    return SurrogateRepair().value(value)


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

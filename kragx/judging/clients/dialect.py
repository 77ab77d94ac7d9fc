"""How a server wants to be asked, found out by asking.

Many servers speak OpenAI's protocol, and each takes other fields of it: some know no JSON schema,
some no ``max_completion_tokens``, and models that reason refuse a temperature. A server that
refuses a request says which field it minds, and is asked again without it, at once; that request
graded nothing and cost nothing. One that passes over a format in silence is noticed by its first
answers. What was found out holds for the whole run, and every judgement tells it.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from kragx.judging.client import Answer, Failure, Request
from kragx.judging.forms import answer_object

AnswerFormat = Literal["json_schema", "json_object", "tool"]
LimitName = Literal["max_completion_tokens", "max_tokens"]

_TOOL = "judgement"
_UNKNOWN = (
    r"un(?:supported|available|recogni[sz]ed|known|expected)|extra|forbidden|deprecated"
    r"|(?:not|n't) (?:\w+ )?(?:support|available|permitted|allowed|recogni[sz]ed|enabled)"
)
_REFUSALS = frozenset({400, 404, 415, 422, 500, 501})


class _Field(NamedTuple):
    """What may be another way with a server: how it names it, and how it refuses it."""

    alternatives: tuple[Any, ...]
    name: str
    refusal: str


_FIELDS: Mapping[str, _Field] = {
    "answer_format": _Field(
        ("json_schema", "json_object", "tool"),
        r"response.?format|json.?schema|json.?object|structured.?output"
        r"|tool.?choice|tools\b|(?:tool|function).?call",
        f"{_UNKNOWN}|invalid|must be|should be|one of",
    ),
    "limit_name": _Field(
        ("max_completion_tokens", "max_tokens"),
        r"max_(?:completion_)?tokens",
        _UNKNOWN,  # a limit may also be too large for the model's context: another matter
    ),
    "temperature": _Field(
        (True, False),
        "temperature",
        f"{_UNKNOWN}|invalid|must be|should be|only",
    ),
    "logprobs": _Field(
        (True, False),
        "logprobs",
        f"{_UNKNOWN}|invalid|must be|should be|only|greater|max",
    ),
}


@dataclass(frozen=True)
class Dialect:
    """What a request for a judgement looks like.

    Attributes:
        answer_format: how the answer's form is demanded: by a strict JSON schema, as a JSON object
            whose schema the system message shows, or as the arguments of a tool.
        limit_name: what the most tokens of an answer are called.
        temperature: whether one is sent, if there is one.
        logprobs: whether probabilities are asked for, if they are wanted.
    """

    answer_format: AnswerFormat = "json_schema"
    limit_name: LimitName = "max_completion_tokens"
    temperature: bool = True
    logprobs: bool = True

    def __str__(self) -> str:
        names = (self.answer_format, self.limit_name, "" if self.temperature else "no temperature")
        usual = ("json_schema", "max_completion_tokens", "")
        return ", ".join(name for name in names if name not in usual)

    def fields(self, request: Request, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request for a chat completion."""
        body = dict(sampling)
        body[self.limit_name] = body.pop("max_completion_tokens")
        if not self.temperature:
            body.pop("temperature", None)
        schema = dict(request.schema)
        messages = [{"role": role, "content": text} for role, text in request.messages]
        if self.answer_format == "json_schema":
            form = {"name": _TOOL, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif self.answer_format == "json_object":
            body["response_format"] = {"type": "json_object"}
            messages[0]["content"] += f"\n\nJSON schema: {json.dumps(schema, ensure_ascii=False)}"
        else:
            about = request.schema.get("description", "A grade with its reason")
            function = {"name": _TOOL, "description": about}
            body["tools"] = [{"type": "function", "function": function | {"parameters": schema}}]
            body["tool_choice"] = {"type": "function", "function": {"name": _TOOL}}
        return body | {"messages": messages}


class Speaker:
    """Speaks to one server, and learns its dialect.

    Args:
        fixed: the fields of it that a user has named, which are kept.
    """

    def __init__(self, fixed: Mapping[str, Any]) -> None:
        self._fixed = fixed
        # Of each field what it may be yet, the one spoken now first.
        self._values = {
            name: [fixed[name]] if name in fixed else [*entry.alternatives]
            for name, entry in _FIELDS.items()
        }
        self._takes_objects = True  # as far as is known
        self._is_settled = False  # a good answer has come

    @property
    def dialect(self) -> Dialect:
        """The one spoken now."""
        return Dialect(**{name: values[0] for name, values in self._values.items()})

    def learns(self, status: int, text: str, spoken: Dialect) -> bool:
        """Whether an error means that the server is to be asked again, in another dialect.

        Args:
            status: of HTTP.
            text: what the server says.
            spoken: how it was asked.
        """
        # Whatever is quoted of the request comes after the name of what is wrong with it.
        places = {
            place.start(): name
            for name, entry in _FIELDS.items()
            if re.search(entry.refusal, text, re.I) and (place := re.search(entry.name, text, re.I))
        }
        if status not in _REFUSALS or not places:  # it is about something else
            return False
        name = places[min(places)]
        if getattr(spoken, name) != self._values[name][0]:  # learnt meanwhile
            return True
        if not self._is_settled:
            self._takes_objects &= getattr(spoken, name) != "json_object"
        return not self._is_settled and self._changes(name)

    def _changes(self, name: str) -> bool:
        """Go on to the next value of a field that the server may take; whether there is one."""
        values = self._values[name]
        self._values[name] = values[1:] or values
        return len(values) > 1

    def heard(
        self, reply: Answer | Failure, spoken: Dialect, names: Collection[str]
    ) -> Answer | Failure:
        """An answer with its dialect; a failure if the format was ignored and another may help.

        Args:
            reply: what the server answered.
            spoken: how it was asked.
            names: what the object has that was asked for.
        """
        # What a user has named is known from the settings.
        usual = {name: getattr(Dialect(), name) for name in self._fixed}
        reply = replace(reply, dialect=str(replace(spoken, **usual)) or None)
        says_nothing = isinstance(reply, Failure) and reply.kind != "invalid_json"
        if self._is_settled or says_nothing:
            return reply
        if isinstance(reply, Answer) and not isinstance(answer_object(reply.text, names), Failure):
            self._is_settled = spoken == self.dialect
            return reply
        form, formats = spoken.answer_format, self._values["answer_format"]
        if form == formats[0] and not self._changes("answer_format"):
            # Nothing forces this model; what shows it the schema serves best, if it is taken.
            self._is_settled = True
            if self._takes_objects and "answer_format" not in self._fixed:
                formats[0] = "json_object"
            return reply
        return Failure(
            "invalid_json",
            f"not the JSON object that was asked for as {form}; "
            f"asked for as {self.dialect.answer_format} from here on",
            again=True,
            **{name: getattr(reply, name) for name in Answer.__slots__ if name != "tokens"},
        )

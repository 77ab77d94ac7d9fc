"""Gates as they are written: what the numbers must be, lest the command end with 1.

    gates:
      ndcg@10: ">= 0.75"                                # of every retriever
      recall@3: no worse than baseline by 0.02          # of every other retriever
      seconds_p95: ["< 0.5", no worse than earlier by 0.1]
      n_failed: 3                                       # at most so many questions may fail
      max_failed: 0.01                                  # or at most that share of them
      retrievers:
        hybrid: {ndcg@10: surely >= 0.8}                # of one
      slices:
        metadata.difficulty:
          hard: {recall@3: ">= 0.5"}                    # within a slice
      matchers:
        strict: {ndcg@10: ">= 0.6"}                     # under one of several matchers

Blocks may stand in each other. A condition looks at the mean, and of what must not be found at the
worst that it may be where not all is known; with ``surely`` at what the questions are evidence for
(`kragx.comparison.statistics.sure_bounds`), so that chance does not pass it.
"""

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite

from kragx.comparison.estimates import Settings, definition_of
from kragx.comparison.statistics import deciding, enough, least_p, unseen
from kragx.data import normalise
from kragx.ground.errors import UsageError, nearest, shorten
from kragx.ground.printing import at_most, joined, message, number, plural, probability, signed
from kragx.metrics import KRAGX, Profile, name_among

FAILURES = ("n_failed", "max_failed")
"""What a gate may hold beside metrics: how many questions failed, and which share of them."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_CONDITION = re.compile(
    rf"(?P<surely>surely\s+)?(?:(?P<sign>>=|<=|>|<)\s*(?P<bound>{_NUMBER})"
    r"|no\s+worse\s+than\s+(?:the\s+)?(?P<than>baseline|earlier)"
    rf"(?:\s+by\s+(?:more\s+than\s+)?(?P<by>{_NUMBER}))?)",
    re.IGNORECASE,
)
_OPTION = re.compile(r"\s*([^:<>]+?)\s*(?::|(?=[<>]))(.*)", re.DOTALL)
"""A gate of a command line; before a sign the colon may be left out."""

_FORMS = message(
    "'>= 0.75' (also >, <=, <), 'no worse than baseline by 0.02', "
    "'no worse than earlier by 0.02', each also with 'surely' before it"
)
_FORMS_OF_FAILURES = {
    "n_failed": message("the most questions that may fail: 3 or '<= 3'"),
    "max_failed": message("the largest share of questions that may fail: 0.05 or '<= 0.05'"),
}
_BLOCKS = {"retrievers": ("retriever",), "slices": ("field", "value"), "matchers": ("match",)}
"""Of each kind of block what its keys name, level by level."""

_KEYS = {
    **dict.fromkeys(("retriever", "field", "match"), message("name to gates")),
    "value": message("a value of the field to gates"),
}


_COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_SLACK = 1e-12
"""A mean that should be 0.75 may come out a few bits below."""


@dataclass(frozen=True)
class Gate:
    """One condition.

    Attributes:
        path: where it stands in the config, for example ``gates.ndcg@10``.
        metric: by canonical name.
        condition: as people read it.
        surely: whether it looks at what the questions are evidence for.
        sign, bound: what a number is held to: ``>= 0.75``, or of a difference ``>= -0.02``.
        than: of ``no worse than``: ``baseline`` or ``earlier``, to which the difference is.
        retriever: None for every one.
        field, value: of a slice; None for all queries.
        match: the matcher; None for each.
    """

    path: str
    metric: str
    condition: str
    surely: bool
    sign: str
    bound: float
    than: str | None = None
    retriever: str | None = None
    field: str | None = None
    value: str | None = None
    match: str | None = None

    @property
    def upwards(self) -> bool:
        """Whether more is asked for."""
        return self.sign in (">=", ">")

    def holds(self, value: float) -> bool:
        """Whether a value is within; equality is granted to the last bits, strictness denied."""
        # The slack moves equality to the side that the sign says.
        slack = _SLACK if self.sign in (">=", "<") else -_SLACK
        return bool(_COMPARED[self.sign](value + slack, self.bound))

    @property
    def form(self) -> Callable[[float], str]:
        """How a bound is written that it looks at."""
        is_exact = definition_of(self.metric).interval != "score"
        return signed if self.than else at_most if is_exact and not self.upwards else number

    def sure(self, bound: float) -> str:
        """What a bound that is sure says."""
        return message(
            "surely at least {value}" if self.upwards else "surely at most {value}",
            value=self.form(bound),
        )


def parse_gates(
    gates: object,
    problems: list[str],
    within: Profile = KRAGX,
    path: str = "gates",
    metrics: Collection[str] = (),
) -> tuple[Gate, ...]:
    """Read a mapping of gates.

    Args:
        gates: as in the config.
        problems: gets a line for each mistake, with its path.
        within: the profile by which metric strings are read.
        path: where the mapping stands.
        metrics: the names of those that are computed, whatever names the gates have for them.
    """
    parsed: list[Gate] = []
    for place, metric, conditions, context in _entries(gates, path, problems, {}):
        hint = nearest(metric, [*_BLOCKS, *FAILURES])
        also = hint if hint.startswith("perhaps") else ""
        if isinstance(conditions, Mapping):
            problem = message(
                "{place}: a condition is expected, not a mapping; gates of one retriever stand as "
                "retrievers: {{NAME: {{METRIC: CONDITION}}}}",
                place=place,
            )
            problems.append(joined("; ", [problem, also]))
            continue
        try:
            name = metric if metric in FAILURES else name_among(metric, metrics, within)
        except UsageError as error:
            problems.append(joined("; ", [joined(": ", [place, error.text]), also]))
            continue
        # An empty list would pass whatever came.
        for text in conditions if isinstance(conditions, list) and conditions else [conditions]:
            if gate := read_condition(place, name, text, **context):
                parsed.append(gate)
            else:
                forms = _FORMS_OF_FAILURES.get(name, _FORMS)
                problems.append(
                    message(
                        "{place}: {text} is no condition; write {forms}",
                        place=place,
                        text=shorten(text),
                        forms=forms,
                    )
                )
    return tuple(parsed)


def _entries(
    block: object,
    path: str,
    problems: list[str],
    context: Mapping[str, str],
    levels: Sequence[str] = (),
) -> Iterator[tuple[str, str, object, Mapping[str, str]]]:
    """Where each metric stands, its conditions, and what the blocks around it name.

    A mapping from metrics to conditions may hold blocks. Within these its keys name, level by
    level, retrievers, matchers, or fields and their values.
    """
    if not isinstance(block, Mapping):
        content = _KEYS[levels[0]] if levels else message("metric to condition")
        problems.append(
            message(
                "{path}: a mapping from {content} is expected, not {block}",
                path=path,
                content=content,
                block=shorten(block),
            )
        )
        return
    for key, value in block.items():
        # As slices name their values: YAML reads true and 1 as no text.
        name = str(key).lower() if isinstance(key, bool) else normalise(str(key))
        inner = f"{path}.{name}"
        if levels:
            yield from _entries(value, inner, problems, {**context, levels[0]: name}, levels[1:])
        elif name in _BLOCKS:
            yield from _entries(value, inner, problems, context, _BLOCKS[name])
        else:
            yield inner, name, value, context


def read_condition(path: str, metric: str, text: object, **context: str) -> Gate | None:
    """A gate that stands at a path, within what `context` names; None where it is no condition.

    Of failures a number is the most that may be.
    """
    if metric in FAILURES and isinstance(text, (int, float)) and not isinstance(text, bool):
        text = f"<= {text}"
    match = _CONDITION.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    amount, than = match["bound"] or match["by"], match["than"] and match["than"].lower()
    bound = float(amount or 0)
    # 1e999 is infinite to Python, and no worse by less than nothing would ask to be better.
    if not isfinite(bound) or (than and bound < 0):
        return None
    most = 1 if metric == "max_failed" else inf
    is_most = not match["surely"] and match["sign"] in ("<=", "<") and 0 <= bound <= most
    if metric in FAILURES and not is_most:
        return None
    # As people read it, however it was written.
    margin = f" by {amount}" if amount else ""
    condition = f"no worse than {than}{margin}" if than else f"{match['sign']} {amount}"
    surely = match["surely"] is not None
    condition = f"surely {condition}" if surely else condition
    # Of what has no direction nothing is worse, which `gate_problems` says.
    is_higher = than and definition_of(metric).better == "higher"
    sign, bound = (">=", -bound) if is_higher else (match["sign"] or "<=", bound)
    return Gate(path, metric, condition, surely, sign, bound, than, **context)


def conditions_by_metric(options: Sequence[str]) -> dict[str, list[str]]:
    """The gates of a command line, ``ndcg@10: >= 0.75``, as a config has them."""
    conditions: dict[str, list[str]] = {}
    for text in options:
        if (match := _OPTION.fullmatch(text)) is None:
            raise UsageError(
                "--gate {text!r}: write metric: condition, for example ndcg@10: >= 0.75", text=text
            )
        conditions.setdefault(match[1], []).append(match[2].strip())
    return conditions


def undecidable(
    gate: Gate, n: int, confidence: float, effective: float | None = None
) -> str | None:
    """Why a gate with ``surely`` cannot pass with n questions; None if it can.

    The most favourable answers are looked at; for ``no worse than`` those of two retrievers that
    are equal at each question, as with fewer questions than that only a better one can pass.

    Args:
        gate: of one without ``surely`` None is returned.
        n: how many questions have a value.
        confidence: of intervals.
        effective: Kish's n of these; None where all weigh alike.
    """
    metric = definition_of(gate.metric)
    lowest, greatest = metric.range
    if not gate.surely or greatest is None:
        return None
    width, sign = greatest - lowest, 1 if gate.upwards else -1
    best = 0.0 if gate.than else greatest if gate.upwards else lowest
    exact = metric.interval != "score" and not gate.than
    n_needed = enough(sign * (best - gate.bound) / width, confidence, exact=exact)
    if n_needed is None:
        return message(
            "cannot be decided with any number of questions unless it is better; leave room: "
            "'by 0.02'"
            if gate.than
            else "cannot be decided with any number of questions: {best} is the best there is",
            best=number(best),
        )
    trials = n if effective is None else effective
    if n_needed <= trials:
        return None
    return message(
        "cannot be decided with {questions} unless it is better: even no difference on any would "
        "only be {surely}; {needed:,} questions can"
        if gate.than
        else "cannot be decided with {questions}: even {best} on each would only be {surely}; "
        "{needed:,} questions can",
        questions=_questions(n),
        best=number(best),
        surely=gate.sure(best - sign * unseen(trials, confidence, exact=exact) * width),
        # As many of weights like these as are as sure.
        needed=ceil(n_needed * n / effective) if effective else n_needed,
    )


def _questions(n: int) -> str:
    return plural(n, "1 question", "{n:,} questions")


def undecidable_differences(n: int, settings: Settings) -> str | None:
    """Why no difference between retrievers can be decided with n questions; None if one can.

    Args:
        n: how many questions have a value; of 0 nothing is said.
        settings: of the statistics.
    """
    smallest = least_p(n, settings.resamples)
    if n < 1 or smallest <= settings.alpha:
        return None
    n_needed = deciding(settings.alpha, settings.resamples)
    remedy = message(
        "no p of {n} resamples is small enough, so raise 'resamples'"
        if n_needed is None
        else "{n} questions can, if all of them agree; some fifty are a start",
        n=settings.resamples if n_needed is None else n_needed,
    )
    return message(
        "differences between retrievers cannot be decided with {questions}: the least p that they "
        "can reach is {p}; {remedy}",
        questions=_questions(n),
        p=probability(smallest),
        remedy=remedy,
    )

"""What a report.json holds at those places that are read: one that was changed is none."""

from types import NoneType
from typing import Any

from kragx.ground.errors import DataError, shorten

_NUMBER, _TEXT = (int, float), (str, NoneType)
_VALUE = (*_NUMBER, NoneType)
_WHOLE = (int,)
_MAP: dict[str, Any] = {}
_EVERY = "*"
"""A mapping with this one holds the same kind under every name."""

_COUNTS = {
    "n_queries": _WHOLE,
    "n_scored": _WHOLE,
    "n_no_gold": _WHOLE,
    "n_missing": _WHOLE,
    "n_extra": _WHOLE,
    "n_failed": _WHOLE,
    "n_empty": _WHOLE,
    "n_duplicates": _WHOLE,
    "n_queries_ids_apart": _WHOLE,
    "n_replaced_surrogates": _WHOLE,
    "n_longer_lines": _WHOLE,
    "judged_share": _VALUE,
    "first_failure": (str,),
    "siblings": {
        "cause!": (str,),
        **dict.fromkeys(("n!", "of!", "n_questions!"), (int,)),
        "example!": {_EVERY: (str,)},
    },
    "unanswerable": {_EVERY: (int,)},
    "metrics": {_EVERY: {"n_scored!": (int,), "n_no_gold": (int,)}},
    "pooled": {_EVERY: {_EVERY: _NUMBER}},
    "facts": {_EVERY: (int,)},
    **dict.fromkeys(("judging", "judging_facts", "judging_relevance"), _MAP),
}
_SETTINGS = {
    **dict.fromkeys(("profile", "deviations", "versions", "match", "run"), _MAP),
    "metrics": ([(str,)], None),
    "pool": ({"hash": (str,)}, None),
    "dataset": ({"name!": (str,), "version": _TEXT, "hash": _TEXT}, None),
}
_NEARBY = {"chosen": _NUMBER, "thresholds": [_NUMBER], "means": {_EVERY: [_VALUE]}}
_REPORT = {
    "evaluations": [
        {
            "retriever": (str,),
            "match": (str,),
            "settings": _SETTINGS,
            "counts": _COUNTS,
            "mean": {_EVERY: _VALUE},
            "queries": {_EVERY: {_EVERY: _VALUE}},
            "nearby": (_NEARBY, None),
            "failures": {_EVERY: (str,)},
        }
    ],
    "comparisons": [
        {
            "better": {_EVERY: (str,)},
            "overall": {
                "means": {_EVERY: {_EVERY: dict.fromkeys(("value", "low", "high"), _VALUE)}}
            },
        }
    ],
    "weights": {_EVERY: _NUMBER},
}
"""By name what stands there: types, a list of one kind, a mapping, or one of these and None; a name
with ``!`` has to be there."""


def check_report(report: Any, name: str, kind: Any = _REPORT, place: tuple[str, ...] = ()) -> None:
    """See to it that what is there is of the right kind; what is missing others say.

    Args:
        report: what the file holds, or a part of it.
        name: what messages call it.
        kind: that it has to be of.
        place: where it stands.

    Raises:
        DataError: something is of another kind.
    """
    # None at the end of a tuple stands for a field that may be null.
    if isinstance(kind, tuple) and kind[-1] is None:
        if report is None:
            return
        kind = kind[0]
    if isinstance(kind, tuple):
        is_right = isinstance(report, kind) and not isinstance(report, bool)
    else:
        is_right = isinstance(report, type(kind))
    if not is_right:
        problem = f"not what kragx writes: {shorten(report)}"
        raise DataError(problem, path=name, field=".".join(place))
    if isinstance(kind, list):
        for number, entry in enumerate(report):
            check_report(entry, name, kind[0], (*place, str(number)))
    elif isinstance(kind, dict):
        for key, of_key in kind.items():
            for field in report if key == _EVERY else [key.removesuffix("!")]:
                if field in report or key.endswith("!"):
                    check_report(report.get(field), name, of_key, (*place, str(field)))

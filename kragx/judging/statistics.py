"""What a judgement store holds, by model and rubric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


def statistics(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each (provider, base_url, model, rubric), from a store's records.

    Each with its attempts, distinct questions, grades, failures by kind, tokens, and what served
    the model with the time of its first and last answer: more than one is a change to know of.
    """
    groups: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in records:
        question = record["question"] or {}
        client, rubric = question.get("client", {}), question.get("rubric", {})
        about = (
            str(client.get("provider", "?")),
            str(client.get("base_url") or ""),
            str(client.get("model", "?")),
            str(rubric.get("id", "?")),
        )
        group = groups.setdefault(
            about,
            {
                **dict(zip(("provider", "base_url", "model", "rubric"), about, strict=True)),
                "n_attempts": 0,
                "keys": set(),
                "grades": Counter(),
                "failures": Counter(),
                "tokens": Counter(),
                "served": {},
            },
        )
        _add(group, record)
    return [_finished(group) for _, group in sorted(groups.items())]


def _add(group: dict[str, Any], record: Mapping[str, Any]) -> None:
    group["n_attempts"] += 1
    group["keys"].add(record["key"])
    if "grade" in record:
        group["grades"][str(record["grade"])] += 1
    else:
        group["failures"][record["failure"]] += 1
    for kind in ("prompt", "completion", "cached", "reasoning"):
        group["tokens"][kind] += record.get(f"{kind}_tokens") or 0
    if "model" in record or "fingerprint" in record:
        served = (record.get("model"), record.get("fingerprint"))
        first, _, count = group["served"].get(served, (record["at"], None, 0))
        group["served"][served] = (first, record["at"], count + 1)


def _finished(group: dict[str, Any]) -> dict[str, Any]:
    served = [
        {"model": model, "fingerprint": fingerprint, "first": first, "last": last, "n": count}
        for (model, fingerprint), (first, last, count) in group["served"].items()
    ]
    return {
        **{name: group[name] for name in ("provider", "base_url", "model", "rubric")},
        "n_attempts": group["n_attempts"],
        "n_questions": len(group["keys"]),
        "grades": dict(sorted(group["grades"].items())),
        "failures": dict(sorted(group["failures"].items())),
        "tokens": dict(group["tokens"]),
        "served": served,
        "served_changed": len(served) > 1,
    }

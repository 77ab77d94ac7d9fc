"""How far a workshop is, for who judges and for its owner."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import chain

from kragx.workshop.calls import Json, get
from kragx.workshop.desk import Desk
from kragx.workshop.pairs.candidates import LEAST_PAIRS, QuestionPool, agreement
from kragx.workshop.questions.words import mean_leak
from kragx.workshop.state.records import Person


@get("me")
def me(desk: Desk, person: Person) -> Json:
    """Who asks, what the set is, and how far it is."""
    settings = desk.workshop.settings
    with desk.state.lock:
        counts = desk.counts(person)
    return {
        "person": {"uid": person.uid, "name": person.name, "role": person.role},
        "set": {
            "name": settings.name,
            "language": settings.language,
            "targets": {name: list(values) for name, values in settings.targets.items()},
            "scale": [
                {"grade": grade, "words": words} for grade, words in sorted(settings.scale.items())
            ],
        },
        "counts": counts,
    }


@get("progress")
def report(desk: Desk, person: Person) -> Json:
    """How far the set is; what names retrievers, or says what others said, for the owner."""
    settings = desk.workshop.settings
    with desk.state.lock:
        counts = desk.counts(person)
        pools = list(desk.queue.pools.values())
        figures: Json = {
            "totals": counts,
            "decides": desk.decides,
            "by": shares(pools, settings.targets),
        }
        if person.role == "owner":
            further = {
                "judged": sum(pool.n_judged for pool in pools),
                "questions_with_relevant": sum(pool.has_relevant for pool in pools),
            }
            alpha = agreement(desk.state, max(settings.scale))
            figures["totals"] = counts | further
            figures["agreement"] = {**vars(alpha), "least": LEAST_PAIRS}
        else:
            # How much others have judged, and found, might tell somebody what to say.
            for row in chain(*figures["by"].values()):
                del row["judged"], row["answered"]
        questions = list(desk.state.open_questions())
    # Kiwi reads each text that is new: nobody's judgement waits for that behind the lock.
    leaks = list(map(desk.leak, questions))
    return figures | {"leak": {"mean": mean_leak(leaks), "target": settings.leak_target}}


def shares(
    pools: Collection[QuestionPool], targets: Mapping[str, Mapping[str, float]]
) -> dict[str, list[Json]]:
    """By query_type and difficulty how many questions there are, and how many should be.

    Returns:
        For each a list of ``{"value", "questions", "share", "target", "judged", "answered"}``:
        those with a target first, in its order, questions without a value last. Share and target
        are of all questions; `judged` are pairs, `answered` questions with a relevant document.
    """
    shares_of: dict[str, list[Json]] = {}
    for name in ("query_type", "difficulty"):
        pools_of: defaultdict[str | None, list[QuestionPool]] = defaultdict(list)
        for pool in pools:
            pools_of[getattr(pool.question, name)].append(pool)
        target = targets.get(name, {})
        further = sorted(value for value in pools_of if value is not None and value not in target)
        values = [*target, *further, *([None] if None in pools_of else [])]
        shares_of[name] = [
            {
                "value": value,
                "questions": len(pools_of[value]),
                "share": len(pools_of[value]) / len(pools) if pools else 0.0,
                "target": None if value is None else target.get(value),
                "judged": sum(pool.n_judged for pool in pools_of[value]),
                "answered": sum(pool.has_relevant for pool in pools_of[value]),
            }
            # Where no question has any value there is nothing to show a share of.
            for value in ([] if values == [None] else values)
        ]
    return shares_of

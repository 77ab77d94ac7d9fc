"""`pooled`: what several runs found is judged in one pool, without gold."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kragx import matchers
from kragx.data import read_dataset
from kragx.evaluation.inputs import Texts, source_of
from kragx.evaluation.searching import Searching
from kragx.metrics import Profile, profile_for


def pooled(
    dataset: object,
    runs: Iterable[object],
    *,
    match: object = "llm",
    profile: str | Profile = "kragx",
    corpus: object = None,
) -> matchers.BaseMatcher:
    """Judge what several runs found, without gold; evaluate each run with the matcher returned.

    Args:
        dataset: as for `kragx.evaluate`; its gold is not used.
        runs: what each retriever returned, as for `kragx.evaluate`.
        match: the `llm` matcher, by name, mapping or itself.
        profile: as for `kragx.evaluate`.
        corpus: as for `kragx.evaluate`.

    Raises:
        UsageError: the matcher is no judge of its own.
        JudgingError: more judgements are missing than allowed; what was judged is stored.

    Examples:
        >>> from kragx import GoldDataset, evaluate, pooled
        >>> from kragx.judging import Judge
        >>> from kragx.testing import ScriptedClient
        >>> dataset = GoldDataset.from_documents([[]], queries=["Which city is the capital?"])
        >>> one, other = [["Seoul"]], [["Busan", "Seoul"]]
        >>> client = ScriptedClient(lambda request: 3 if "Seoul" in str(request.messages) else 0)
        >>> judge = Judge(client, store="judgements.sqlite", progress=False)
        >>> match = pooled(dataset, [one, other], match={"method": "llm", "judge": judge})
        >>> evaluate(dataset, other, match=match, metrics=["mrr@5"])["mrr@5"]
        0.5
    """
    return pooled_by(match, dataset, runs, profile, corpus=corpus)


def pooled_by(
    match: object,
    dataset: object,
    runs: Iterable[object],
    profile: str | Profile,
    *,
    corpus: object = None,
    searching: Searching | None = None,
) -> matchers.BaseMatcher:
    """`pooled` where all documents of somebody who searches several times are judged.

    Args:
        match: as of `pooled`, and so below.
        dataset: has the questions.
        runs: what was retrieved.
        profile: orders lists.
        corpus: has the texts of ids.
        searching: takes searches apart; None where nobody looks at any.
    """
    resolved = profile_for(profile, None)
    matcher = matchers.matcher(match, resolved.match_options)
    gold = read_dataset(dataset)
    texts = replace(Texts.of(corpus, matcher), sides=("retrieved",))

    def items(run: object) -> Iterator[matchers.MatchItem]:
        source = source_of(gold, run, resolved, texts=texts)
        source.passed.searching = searching
        return source.items(resolved)

    return matcher.pooled([items(run) for run in runs])

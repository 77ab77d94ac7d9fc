"""`pooled`: what several runs found is judged in one pool, without gold."""

from collections.abc import Iterable
from dataclasses import replace

from kragx import matchers
from kragx.data import read_dataset
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.inputs import Texts, source_of
from kragx.evaluation.searching import Searching
from kragx.ground.errors import UsageError
from kragx.metrics import MetricSpec, Profile, profile_for


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
    resolved = profile_for(profile, None)
    matcher = matchers.matcher(match, resolved.match_options)
    gold = read_dataset(dataset)
    texts = replace(Texts.of(corpus, matcher), sides=("retrieved",))
    sources = [source_of(gold, run, resolved, texts=texts) for run in runs]
    # Kept, as a stream that was looked at could not pass once more.
    of_sources = [source.searches_ahead(keep=True) for source in sources]
    if any(of_source is not None for of_source in of_sources):
        check_whole_lists(matcher)
        for source in sources:  # whichever list they are about, all that came is judged
            source.stats.searching = Searching("retrieved")
    return matcher.pooled([source.items(resolved) for source in sources])


def check_whole_lists(matcher: matchers.BaseMatcher) -> None:
    """Refuse a pool of the first documents alone where there are searches: each has its first.

    Raises:
        UsageError: only so many documents of each list are judged.
    """
    pool = matcher.pool
    depth = getattr(matcher, "depth", None) if pool is None else pool.depth
    if depth is not None:
        raise UsageError(
            "the first {depth} documents of a list are judged, and questions have several",
            field="match.depth",
            remedy="leave it out, so that all that searches gave is judged",
            depth=depth,
        )


def within(criteria: Criteria, matcher: matchers.BaseMatcher) -> Criteria:
    """The same criteria with what a matcher's pool holds as the gold.

    Raises:
        UsageError: a metric looks further down than was judged.
    """
    pool = matcher.pool
    assert pool is not None  # whoever has none is matched with the gold
    check_depth(criteria.specs, pool.depth)
    profile = replace(criteria.profile, rel=criteria.profile.rel or float(pool.cut))
    # A metric string that says no rel gets the pool's.
    specs = tuple(
        spec.with_options(rel=profile.rel) if not spec.options.get("rel", True) else spec
        for spec in criteria.specs
    )
    return replace(criteria, matcher=matcher, profile=profile, specs=specs)


def check_depth(specs: Iterable[MetricSpec], depth: int | None) -> None:
    """Raise a `UsageError` where a cut-off may reach beyond a pool; None for no pool.

    A budget may hold any number of documents.
    """
    for spec in specs:
        within = depth is None or (isinstance(spec.k, int) and spec.k <= depth)
        if spec.metric.from_matches is not None and not within:
            raise UsageError(
                "metric {spec!r} reaches beyond the pool's depth of {depth}; "
                "pool deeper (match.depth), or cut at the depth",
                spec=str(spec),
                depth=depth,
            )

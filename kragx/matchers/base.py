"""The least that a matcher must have, and all that it may also be able to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, zip_longest
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from kragx.data import TokenCorpus, Tokenizer, tokenizers
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import to_jsonable
from kragx.ground.options import check_options, one_of, options_of, path_of, shown_name
from kragx.matchers.items import (
    Diagnostics,
    MatchItem,
    Pool,
    batch_of,
    items_of,
    repeated,
    shapes,
)
from kragx.metrics import Bools, Floats, Ints, Profile

if TYPE_CHECKING:
    from kragx.data.batch import Batch
    from kragx.judging import Judge
    from kragx.judging.judgement_counts import Tally
    from kragx.matchers.vocabulary import Vocabulary


def check_threshold(value: object) -> float:
    """A threshold as a float in (0, 1].

    Raises:
        UsageError: it is no number, or outside that range (a threshold of 0 matches everything).
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and 0 < float(value) <= 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise UsageError(
        "{value!r} is out of range",
        field="threshold",
        remedy="give a number above 0 and at most {top:g}",
        value=value,
        top=1,
    )


Threshold = Annotated[float, check_threshold]
"""A number in (0, 1]."""

TokenizerOption = Annotated[Tokenizer, tokenizers.tokenizer]
"""A tokenizer, made from its name, mapping or import path."""

Numbers = Annotated[Literal["alike"] | None, one_of("alike", None)]
"""Whether amounts of money, times and the like are read alike (`kragx.data.amounts`)."""

EMBEDDINGS_AND_THRESHOLD: tuple[str, ...] = ("embeddings", "threshold")
"""What the matcher `embedding` needs; of another module, its type is what it says."""


@runtime_checkable
class Matcher(Protocol):
    """Says how well each retrieved document matches each target.

    Write one of your own with `threshold` and `scores`, and name it by its import path:
    ``match: {method: "my_package.matchers:BgeMatcher", args: {model: small}}``. One that can do
    more (grades, answers for some pairs only) derives from `BaseMatcher`.

    Examples:
        >>> from kragx import evaluate
        >>> class SameLength:
        ...     threshold = 1.0
        ...     def scores(self, items, notes):
        ...         for item in items:
        ...             wanted = [len(target.text) for target in item.targets]
        ...             yield [[float(len(doc.text) == n) for n in wanted] for doc in item.docs]
        >>> evaluate([["abc"]], [["xy", "xyz"]], match=SameLength(), metrics=["mrr@5"])["mrr@5"]
        0.5
    """

    @property
    def threshold(self) -> float:
        """The least score that counts as a match."""
        ...

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[ArrayLike]:
        """Yield, for each item in order, an array of n documents x t targets, scores >= 0.

        Items come as a stream and may be many; read ahead as far as a batch needs, no further.
        Of an item whose `wanted` says which pairs are asked for, the others may be anything.
        A score of 0 never matches. Counts that belong into the result are added to `diagnostics`.
        Only a matcher with a true ``may_not_know`` may give NaN, for a score that it could not find
        out; metrics then come with bounds. The stream may be a part of an evaluation: what only all
        questions can show is a `Diagnostic` in `diagnostics`.
        """
        ...


@dataclass(frozen=True)
class Trace:
    """What a matcher was asked for the pairs of some queries, and what it said.

    Arrays have p pairs, query after query, documents down, targets across; of a single query
    (`of_queries`) they are n x t.

    Attributes:
        matcher: who was asked.
        scores: its scores; NaN where it does not know.
        open: the pairs that nothing had decided before.
        limits: from which score on it makes a match, and below which it rules a pair out (None:
            it does not); None altogether where its own threshold decides.
        members: of a combination: what its members were asked, in order.
        pending: the pairs whose scores are still to come, so that nobody else is asked for them;
            None if there are none.
        reach: the least and the greatest vote, of a matcher whose scores several judges have
            decided; None of others.
    """

    matcher: BaseMatcher
    scores: Floats
    open: Bools
    limits: tuple[float | None, float | None] | None = None
    members: tuple[Trace, ...] = ()
    pending: Bools | None = None
    reach: tuple[Floats, Floats] | None = None

    def of_queries(self, n_docs: Ints, n_targets: Ints) -> Iterator[Trace]:
        """That of each query, which has so many documents and targets."""
        members = [member.of_queries(n_docs, n_targets) for member in self.members]
        reach, end = self.reach, 0
        for n, t in zip(n_docs.tolist(), n_targets.tolist()):
            pairs = slice(end, end := end + n * t)
            yield replace(
                self,
                scores=self.scores[pairs].reshape(n, t),
                open=self.open[pairs].reshape(n, t),
                members=tuple(map(next, members)),
                pending=None,
                reach=reach and (reach[0][pairs].reshape(n, t), reach[1][pairs].reshape(n, t)),
            )


Reads = Literal["ids", "texts"]
Siblings = Literal["apart", "together"]

Sayings = dict[tuple[str, str, str], tuple[float | None, str]]
"""For (query id, document text, gold text, empty for relevance) a judge's grade and the reason; the
grade is None, and the reason what went wrong, where there is no grade."""


class BaseMatcher:
    """A matcher, with everything that one may also be able to do; derive from it to say so.

    A subclass gives `scores`, of a question at a time, or `score_batch`, of many at once.

    Attributes:
        threshold: the least score that counts as a match.
        name: of the method, in results; empty for the class's import path, which is also that of a
            subclass that gives itself none.
        needs: options without which a built-in method makes no matcher.
        reads: whether ids or texts are compared.
        by_texts: whether `pair_scores` gives what it says of texts.
        yes_or_no: whether scores are 0 and 1 alone, so that no other threshold has a meaning.
        top: the highest grade, of a matcher whose scores are grades; None if they are none.
        may_not_know: whether a score may be NaN, for one that could not be found out.
        asks: whether it asks a model or service, so that it is never used unasked.
        siblings: whether texts made from one template are told apart by what differs; None of a
            matcher that has no rule for them.
        tells_siblings: whether it tells them apart.
        graded: whether profiles speak of its scores themselves, as K-RAG's does of ROUGE.
        tokenizer: what cuts texts into tokens, if anything does.
        versions: by option the version of the rules that it asks for.
        vocabulary: the words of the evaluation's texts; None where nobody has said them.
        members: of a combination, in the order in which they are asked.
        inner: the object that this one adapts.
        judges: whether its scores are judgements that are paid for: it asks for the wanted pairs
            alone, combinations ask it last, and results tell what it took.
        votes: whether several judges decide its scores, so that a `Trace` tells how far they
            differ.
        uses_gold: whether the gold is what documents are matched with.
        of_context: whether what it is given as a document is a whole context, all that was
            retrieved down to a cut-off: then it decides about facts alone.
        pool: the judged documents that are the gold instead.
    """

    threshold: float = 1.0
    name: str = ""
    needs: tuple[str, ...] = ()
    reads: Reads = "texts"
    by_texts: bool = False
    yes_or_no: bool = False
    top: float | None = None
    may_not_know: bool = False
    asks: bool = False
    siblings: Siblings | None = None
    tells_siblings: bool = False
    graded: bool = False
    tokenizer: Tokenizer | None = None
    versions: Mapping[str, Any] = MappingProxyType({})
    vocabulary: Vocabulary | None = None
    members: tuple[BaseMatcher, ...] = ()
    inner: Any = None
    judges: bool = False
    votes: bool = False
    uses_gold: bool = True
    of_context: bool = False
    pool: Pool | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # It decides in another way than the method whose name it would inherit.
        if vars(cls).keys().isdisjoint({"name", "methods"}) and cls.methods():
            cls.name = path_of(cls)
        if "score_batch" in vars(cls):
            cls._at_once = cls.score_batch
        elif "scores" in vars(cls):  # may ask the class above, whose `score_batch` stays at hand
            cls.score_batch = BaseMatcher.score_batch  # type: ignore[method-assign]

    @classmethod
    def methods(cls) -> Mapping[str, Mapping[str, Any]]:
        """The built-in methods that this class makes, by name, with the options each one fixes."""
        return {cls.name: {}} if cls.name else {}

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[ArrayLike]:
        """Yield n x t scores for each item in order; see `Matcher.scores`."""
        batch = batch_of(items := [*items])
        # With an empty one, which says of what kind it is where there is no query.
        wanted = np.concatenate([np.empty(0, bool), *(item.wanted.ravel() for item in items)])
        trace = self._at_once(batch, diagnostics, wanted)
        yield from (of_query.scores for of_query in trace.of_queries(*shapes(batch)))

    def score_batch(self, batch: Batch, diagnostics: Diagnostics, wanted: Bools) -> Trace:
        """What it says of the pairs of a batch, question after question, documents down.

        Args:
            batch: the queries with their documents.
            diagnostics: it adds its counts and findings here.
            wanted: (p) the pairs that are asked for; the others may be anything.
        """
        items, scores = items_of(batch, wanted), [np.empty(0)]
        # No more than one too many, as a matcher may go on for ever.
        answers = islice(self.scores(iter(items), diagnostics), len(items) + 1)
        for item, matrix in zip_longest(items, answers, fillvalue=...):
            if item is ... or matrix is ...:
                raise DataError(
                    "{matcher}.scores must yield one array for each of {n_items} queries, not "
                    "fewer or more",
                    matcher=self.class_name,
                    n_items=len(items),
                )
            scores.append(self._shaped(matrix, item).ravel())
        return Trace(self, np.concatenate(scores), wanted)

    _at_once = score_batch  # of the nearest class that gives one

    def _shaped(self, matrix: ArrayLike, item: MatchItem) -> Floats:
        """Scores as an array of its own: who gave them may use theirs again for the next query."""
        try:
            scores = np.array(matrix, np.float64)
        except (TypeError, ValueError):
            scores = np.empty(())
        if scores.shape != item.shape:
            raise DataError(
                "{matcher}.scores, query {query!r}: an array of numbers of {n} documents x {t} "
                "targets is expected, not one of shape {shape}",
                matcher=self.class_name,
                query=item.query.id,
                n=item.shape[0],
                t=item.shape[1],
                shape=scores.shape,
            )
        return scores

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats:
        """(n) what each of n documents scores with the gold text beside it, by their texts alone.

        Of a matcher that is `by_texts`: no other knows without asking.
        """
        raise NotImplementedError

    def with_siblings(self, siblings: Siblings) -> Self:
        """This matcher with siblings told apart or together; itself if it has no such rule."""
        return self.of_members(lambda member: member.with_siblings(siblings))

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the method and every option, the tokenizer with its version."""
        matcher = self if self.inner is None else self.inner
        settings: dict[str, Any] = {"method": self.name or path_of(type(matcher))}
        for name, value in options_of(matcher).items():
            if isinstance(value, Tokenizer):
                settings[name] = tokenizers.describe(value)
            elif name in self.versions:
                settings[name] = {"name": value, "version": self.versions[name]}
            else:
                settings.setdefault(name, value)
        if not self.yes_or_no:
            settings.setdefault("threshold", self.threshold)
        return settings

    @property
    def needs_vocabulary(self) -> bool:
        """Whether its scores depend on the words of the evaluation's texts, not yet said."""
        return any(map(attrgetter("needs_vocabulary"), self.members))

    def knowing(self, vocabulary: Vocabulary) -> Self:
        """This matcher with the words of the evaluation's texts, where it looks at them."""
        return self.of_members(lambda member: member.knowing(vocabulary))

    def sharing(self, corpora: dict[Tokenizer, TokenCorpus]) -> Self:
        """This matcher with the tokens of another one with the same tokenizer, where it can."""
        return self

    def profile_for(self, profile: Profile) -> Profile:
        """What a profile's numbers mean for the scores of this matcher."""
        return replace(profile, **profile.scored) if self.graded and profile.scored else profile

    def repeated(self, batch: Batch) -> Bools:
        """Whether each document of each list stood earlier in it, as all members have it."""
        is_again = repeated(batch.docs)
        for member in self.members:
            is_again = is_again & member.repeated(batch)
        return is_again

    def remark(self, gold: str) -> str:
        """What is special about how a gold text is compared; empty for nothing."""
        return ""

    def why_not(self, doc: str, gold: str) -> str:
        """What makes a document no match that its score does not tell; empty for nothing."""
        return ""

    def check(self, diagnostics: Diagnostics) -> None:
        """Refuse what was noted of all questions, once they have passed.

        Raises:
            JudgingError: more judgements are missing than is allowed; what was judged is stored.
        """
        for member in self.members:
            member.check(diagnostics)

    @property
    def family(self) -> tuple[BaseMatcher, ...]:
        """This matcher, and of a combination all members, with theirs."""
        return self, *chain.from_iterable(map(attrgetter("family"), self.members))

    @property
    def class_name(self) -> str:
        """For messages about what it gave."""
        return type(self if self.inner is None else self.inner).__name__

    def of_members(self, change: Callable[[BaseMatcher], BaseMatcher]) -> Self:
        """Of a combination the same with every member changed; any other matcher is itself."""
        return self

    # -- of judges -------------------------------------------------------------------------------

    def judging(self, **options: Any) -> Self:
        """This matcher with these options of its judges, whichever it has."""
        return self.of_members(lambda member: member.judging(**options))

    def offline(self) -> Self:
        """This matcher with judges that answer from their store alone, so that asking is free."""
        return self.judging(dry_run=True, progress=False)

    @property
    def graders(self) -> tuple[Judge, ...]:
        """The judges that it asks, or that its members ask."""
        return tuple(judge for member in self.members for judge in member.graders)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, for a result; of a matcher that judges."""
        return {"model": self.name, "cost": None, "currency": None, **to_jsonable(tally)}

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """What a judge's store has for the documents of these queries; nothing is asked."""
        items, members = [*items], reversed(self.members)  # of two that know a pair the first
        return {pair: text for member in members for pair, text in member.said(items).items()}

    def against_gold(self) -> Self:
        """This matcher as it is asked where there is gold for sure."""
        return self

    def of_relevance(self, depth: int | None) -> BaseMatcher:
        """This matcher as it judges how relevant documents are to questions, whatever the gold.

        Args:
            depth: how many documents of each list are judged; None for all.

        Raises:
            UsageError: it is no judge of that.
        """
        raise UsageError(
            "{value!r} is no LLM judge, and relevance is what one judges",
            field="relevance_match",
            remedy="name llm",
            value=self.name or type(self).__name__,
        )

    def needs_pool(self, items: Iterable[MatchItem]) -> bool:
        """Whether these queries are judged without gold, so that a pool must be made first."""
        return not self.uses_gold

    def pooled(self, runs: Iterable[Iterable[MatchItem]]) -> BaseMatcher:
        """The matcher with the pool of several runs over the same queries as gold.

        Raises:
            UsageError: this is no judge of relevance.
        """
        raise UsageError("{name!r} is no LLM judge, and a pool is what one judged", name=self.name)

    def __getstate__(self) -> dict[str, Any]:
        # What it has read so far stays here: another process reads its own texts.
        kind, state = type(self), vars(self).items()
        return {
            name: value
            for name, value in state
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    def __post_init__(self) -> None:
        check_options(self)

    def _twin(self, **values: Any) -> Self:
        """The same with other values, but for what it has read so far."""
        twin = copy(self)
        vars(twin).update(values)
        return twin

    def _set(self, **values: Any) -> None:
        """Set what follows from the options while a frozen dataclass is being made."""
        vars(self).update(values)


class IdsMatcher(BaseMatcher):
    """Compares ids, or what else of the metadata says which document one is."""

    reads: Reads = "ids"
    by_texts = True
    yes_or_no = True

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats:
        """0: what has another text is another document."""
        return np.zeros(len(docs))


class Adapted(BaseMatcher):
    """Somebody's object with `threshold` and `scores`, as a `BaseMatcher`."""

    def __init__(self, matcher: Matcher) -> None:
        self.inner = matcher
        self.threshold: float = matcher.threshold
        self.name: str = shown_name(matcher)
        for name in ("top", "may_not_know", "tokenizer"):
            setattr(self, name, getattr(matcher, name, getattr(self, name)))

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[ArrayLike]:
        """Those of the object."""
        return self.inner.scores(items, diagnostics)  # type: ignore[no-any-return]


def adapted(matcher: Matcher) -> BaseMatcher:
    """A matcher with the whole contract; an object that has the least of it is wrapped."""
    return matcher if isinstance(matcher, BaseMatcher) else Adapted(matcher)

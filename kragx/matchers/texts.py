"""Matchers that compare texts: equal or contained, by tokens, and ROUGE.

They turn texts into numbers, many queries at once. ROUGE counts shared unigrams, bigrams or the
longest common subsequence: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004).
For the same tokens every score equals rouge-score's, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from kragx.data import TokenCorpus, Tokenizer, UnicodeTokenizer, normalise
from kragx.data.amounts import RULES, in_figures
from kragx.data.batch import Batch
from kragx.data.entries import Entries, numbered
from kragx.data.lists import Forms, Lists, distinct, interned_texts
from kragx.data.tokens import Pairs, ngram_overlaps, of_pairs
from kragx.ground.errors import DataError, shorten
from kragx.ground.messages import Message
from kragx.ground.printing import joined, message, plural
from kragx.matchers.base import BaseMatcher, Numbers, Threshold, TokenizerOption, Trace
from kragx.matchers.items import Diagnostic, Diagnostics, Targets, textless
from kragx.metrics import Bools, Floats, Ints

Direction = Literal["either", "gold_in_document", "document_in_gold"]
Method = Literal["rouge1", "rouge2", "rougeL"]
Measure = Literal["fmeasure", "precision", "recall", "overlap"]
Of = Literal["either", "chunk", "gold"]

GOLD_LOST, DOCS_LOST = "n_queries_gold_unmatchable", "n_queries_docs_unmatchable"
"""Counts of questions with a gold item, and with a retrieved text, that can match nothing."""
SHORT_GOLD = "n_queries_short_gold"
"""Counts questions with gold that is looked for as a phrase because it is short."""
ALL_LOST = "n_queries_unmatchable"
"""Counts questions none of whose gold can match anything."""

_WORDLESS = message(
    "it has too few words for that, or none; use the default 'overlap' or 'phrase' for short gold, "
    "the tokenizer 'unicode' for another script, 'text' for signs or markup alone"
)
_EMPTY = message("its text is empty; give it one, or compare ids: match 'id'")
NO_VECTOR = message("it is empty, or its vector is zero; give it a text that the model can read")


@dataclass
class Unmatchable(Diagnostic):
    """Questions with texts that can match nothing: how many, and the first of them.

    Attributes:
        example: the ``text`` in short and its ``query``; the ``matcher``; of gold the ``remedy``.
    """

    def problem(self) -> str:
        """How many there are, and what to do."""
        n, names = self.counts["queries"], self.example
        requirement = message(
            "gold that can match nothing by {matcher!r}"
            if "remedy" in names
            else "retrieved texts that can match nothing by {matcher!r}",
            matcher=names["matcher"],
        )
        example = message("{text} in {query!r}", text=names["text"], query=names["query"])
        problem = plural(
            n,
            "{what} in 1 question, for example {example}",
            "{what} in {n} questions, for example {example}",
            what=requirement,
            example=example,
        )
        remedies = (text for text in (_WORDLESS, _EMPTY, NO_VECTOR) if text == names.get("remedy"))
        return joined(": ", [problem, *remedies])


class TextsMatcher(BaseMatcher):
    """Turns texts into numbers, a batch of queries at a time, and compares these.

    A subclass says in `compare` what they score. Questions with gold that can match nothing are
    counted, and warned of once with what would work; so are those with such retrieved texts.

    Attributes:
        remedy: what would match gold that can match nothing.
    """

    remedy: ClassVar[Message]
    by_texts = True

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return text

    @cached_property
    def _forms(self) -> Forms:
        """Texts as they are compared."""
        return Forms(self.read)

    def numbered(self, *lists: Lists) -> Iterator[Lists]:
        """Lists of a batch as they are compared: the same of other texts."""
        forms = self._forms
        forms.make_room()
        numbers = [forms.of(texts.known, texts.numbers) for texts in lists]
        return (Lists(forms.texts, rows, texts.n_texts) for texts, rows in zip(lists, numbers))

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Which of some texts, numbered before, can match nothing as gold or as documents."""
        return np.zeros(len(texts.numbers), bool)

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """The scores of each query's documents (down) and gold texts, one behind the other."""
        raise NotImplementedError

    def corrected_for_siblings(
        self, docs: Lists, golds: Lists, scores: Floats, diagnostics: Diagnostics | None
    ) -> Floats:
        """The scores of `compare`, where other texts of the evaluation say more of a pair.

        What they say of the texts is noted, if there are notes.
        """
        return scores

    def score_batch(self, batch: Batch, diagnostics: Diagnostics, wanted: Bools) -> Trace:
        """The scores of all documents and gold texts of a batch; 0 for targets without text."""
        every = Targets.of(batch.golds)
        targets = with_texts(self, batch, every)
        docs, golds = self.numbered(batch.docs.texts, targets.entries.texts)
        self.note(batch, targets, docs, golds, diagnostics)
        scores = self.corrected_for_siblings(docs, golds, self.compare(docs, golds), diagnostics)
        if len(targets.gold) < len(every.gold):
            _, target = of_pairs(docs.n_texts, every.entries.texts.n_texts)
            of_compared, scores = scores, np.zeros(len(target))
            scores[(every.entries.texts.numbers >= 0)[target]] = of_compared
        return Trace(self, scores, wanted)

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats:
        """Those of a batch in which the pairs in a row with one gold text are a question."""
        interned_texts().make_room()
        first = [place for place, gold in enumerate(golds) if not place or gold != golds[place - 1]]
        questions = (
            numbered(docs, np.diff(first, append=len(docs)).tolist()),
            numbered([golds[place] for place in first], [1] * len(first)),
        )
        in_docs, in_golds = self.numbered(*questions)
        return self.corrected_for_siblings(in_docs, in_golds, self.compare(in_docs, in_golds), None)

    def note(
        self, batch: Batch, targets: Targets, docs: Lists, golds: Lists, diagnostics: Diagnostics
    ) -> None:
        """Count the questions some of whose texts are special, for each of these things once.

        Args:
            batch: the questions.
            targets: those that are compared.
            docs: their documents as they are compared.
            golds: their gold texts as they are compared.
            diagnostics: where they are counted.
        """
        useless = self.useless(golds, gold=True)
        n_useful = np.bincount(golds.of_text[~useless], minlength=len(golds))
        if n_lost := int(((n_useful == 0) & (golds.n_texts > 0)).sum()):
            diagnostics[ALL_LOST] += n_lost
        useless &= ~np.isin(targets.gold, targets.gold[~useless])  # saved by an alternative
        special = {
            DOCS_LOST: (batch.docs.texts, self.useless(docs, gold=False)),
            GOLD_LOST: (targets.entries.texts, useless),
        }
        for count, (texts, is_special) in special.items():
            if not is_special.any():  # as a rule
                continue
            queries = distinct(texts.of_text[is_special])
            diagnostics[count] += len(queries)
            diagnostic = diagnostics.diagnostic(self.settings, count, Unmatchable)
            diagnostic.counts["queries"] += len(queries)
            text = texts.known[texts.numbers[is_special][0]]
            remedy = self.remedy if text.strip() else _EMPTY
            diagnostic.example = diagnostic.example or {
                "text": shorten(text, 42),
                "query": batch.query_ids[queries[0]],
                "matcher": self.name,
                **({"remedy": str(remedy)} if count == GOLD_LOST else {}),
            }


def with_texts(matcher: BaseMatcher, batch: Batch, targets: Targets) -> Targets:
    """Those targets of a batch that have a text, for a matcher that compares texts.

    Raises:
        TextlessError: a document has none, or a gold item and all its alternatives have none.
    """
    has_text: Bools = targets.entries.texts.numbers >= 0
    n_golds = len(batch.golds.texts.numbers)
    n_with_text = np.bincount(targets.gold[has_text], minlength=n_golds)
    docs, golds = batch.docs.texts, batch.golds.texts
    lacking = np.append(golds.of_text[n_with_text == 0], docs.of_text[docs.numbers < 0])
    if lacking.size:
        raise textless(batch.query_ids[lacking[0]], matcher.name)
    if has_text.all():
        return targets
    return Targets(Entries(targets.entries.texts.those(has_text)), targets.gold[has_text])


class TokenMatcher(TextsMatcher):
    """Compares the tokens of documents and gold texts; each distinct text is tokenised once.

    A subclass says in `compare` what two lists of texts score. A text without tokens matches
    nothing. One with an option `numbers` reads them so.

    Attributes:
        clean: leaves out of a text what is not compared, such as markup.
    """

    remedy = _WORDLESS
    versions: Mapping[str, Any] = MappingProxyType({"numbers": RULES})
    tokenizer: Tokenizer
    numbers: Numbers = None
    clean: ClassVar[staticmethod[[str], str]] = staticmethod(str)

    def read(self, text: str) -> str:
        """A text as it is compared."""
        text = self.clean(text)
        return in_figures(text) if self.numbers else text

    @cached_property
    def token_corpus(self) -> TokenCorpus:
        """The texts tokenised so far; kept, so that a second run of the same texts is free."""
        return TokenCorpus(self.tokenizer)

    def sharing(self, corpora: dict[Tokenizer, TokenCorpus]) -> Self:
        """This matcher with the corpus of another one that has the same tokenizer, if there is one.

        Several matchers side by side then tokenise each text once between them.
        """
        twin = copy(self)
        try:
            # Where the cached property keeps it: a frozen matcher refuses to be set.
            twin.__dict__["token_corpus"] = corpora.setdefault(self.tokenizer, self.token_corpus)
        except TypeError:  # a user's tokenizer that cannot be hashed has a corpus of its own
            return self
        return twin

    def numbered(self, *lists: Lists) -> Iterator[Lists]:
        """The same lists of the texts of the corpus, by row."""
        # The very function, so that a corpus whose texts were read by it is not read again.
        read = self.read if self.numbers else self.clean
        return iter(self.token_corpus.numbered(read, *lists))

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those without tokens."""
        is_useless: Bools = self.token_corpus.lengths[texts.numbers] < 1
        return is_useless


class YesOrNo(TextsMatcher):
    """Compares texts after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        casefold: also ignore case.
        normalised: False compares the texts as they are, an empty gold text among them.
    """

    casefold: bool = False
    normalised: bool = True
    yes_or_no = True

    def matches(self, gold: str, doc: str) -> bool:
        """Whether a document with this text matches gold with that one."""
        raise NotImplementedError

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return normalise(text, casefold=self.casefold) if self.normalised else text

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """1 where a document matches, else 0."""
        doc, gold = of_pairs(docs.n_texts, golds.n_texts)
        n = len(golds.known)
        # Each two texts are compared once, however many questions have both.
        pairs, places = np.unique(docs.numbers[doc] * n + golds.numbers[gold], return_inverse=True)
        texts = ((golds.known[pair % n], docs.known[pair // n]) for pair in pairs.tolist())
        return np.array([self.matches(*pair) for pair in texts], np.float64)[places]

    def note(
        self, batch: Batch, targets: Targets, docs: Lists, golds: Lists, diagnostics: Diagnostics
    ) -> None:
        """Refuse gold that is empty after normalisation; it would match anything.

        Raises:
            DataError: there is some.
        """
        for place, number in enumerate(golds.numbers.tolist()):
            if self.normalised and not golds.known[number]:
                query = int(golds.of_text[place])
                position = targets.gold[place] - int(batch.golds.texts.starts[query]) + 1
                raise DataError(
                    "query {query_ids!r}, gold {position}: the gold text is empty, "
                    "so it would match anything; give it a text or remove it",
                    query_ids=batch.query_ids[query],
                    position=position,
                )


@dataclass(frozen=True)
class ExactMatcher(YesOrNo):
    """Equal texts after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        casefold: also ignore case.
    """

    casefold: bool = False
    name = "exact"

    def matches(self, gold: str, doc: str) -> bool:
        """Whether they are equal."""
        return gold == doc


@dataclass(frozen=True)
class TextMatcher(YesOrNo):
    """The gold text is contained in the document (K-RAG's meaning of the word; equality included).

    Attributes:
        casefold: also ignore case.
        normalised: compare after normalisation. False compares the texts as they are, and an
            empty gold text is contained in every document (as in K-RAG).
    """

    casefold: bool = False
    normalised: bool = True
    name = "text"

    def matches(self, gold: str, doc: str) -> bool:
        """Whether the gold text is in the document."""
        return gold in doc


@dataclass(frozen=True)
class ContainsMatcher(YesOrNo):
    """One text contains the other, after normalisation (NFC, white space collapsed, stripped).

    Attributes:
        direction: ``either``, ``gold_in_document`` or ``document_in_gold``.
        casefold: also ignore case.
    """

    direction: Direction = "either"
    casefold: bool = False
    name = "contains"

    def matches(self, gold: str, doc: str) -> bool:
        """Whether one stands inside the other, as `direction` says."""
        if gold in doc and self.direction != "document_in_gold":
            return True
        # An empty document stands in every text; it carries nothing, so it matches nothing.
        return bool(doc) and doc in gold and self.direction != "gold_in_document"


@dataclass(frozen=True)
class RougeMatcher(TokenMatcher):
    """ROUGE between each document and each gold text, a match at or above the threshold.

    Attributes:
        method: ``rouge1`` (tokens), ``rouge2`` (pairs of tokens) or ``rougeL`` (longest common
            subsequence).
        measure: of what is shared, the share of the document (``precision``), of the gold text
            (``recall``), their harmonic mean (``fmeasure``, as K-RAG), or the larger of the two
            (``overlap``, the overlap coefficient), which does not mind how large the chunks are.
        threshold: the least score that is a match, in (0, 1].
        tokenizer: a name, mapping, import path or `Tokenizer`.
        numbers: ``alike`` reads Korean amounts alike where a unit settles them: 300만원,
            3,000,000원, 삼백만 원 (`kragx.data.amounts`). None reads them as they are written.
    """

    method: Method = "rouge2"
    measure: Measure = "fmeasure"
    threshold: Threshold = 0.5
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)
    numbers: Numbers = None
    graded = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """Which ROUGE."""
        return self.method

    @classmethod
    def methods(cls) -> Mapping[str, Mapping[str, str]]:
        """Each ROUGE."""
        return {name: {"method": name} for name in get_args(Method)}

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those without what is counted: a single token is no pair."""
        lengths = self.token_corpus.lengths[texts.numbers]
        is_useless: Bools = lengths < (2 if self.method == "rouge2" else 1)
        return is_useless

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """ROUGE of each query's documents and gold texts, one query after another."""
        if self.method == "rougeL":
            pairs = _subsequences(docs, golds, self.token_corpus)
        else:
            n = 1 if self.method == "rouge1" else 2
            pairs = ngram_overlaps(docs, golds, n, self.token_corpus)
        sizes = pairs.doc_sizes, pairs.gold_sizes
        return shared_part(self.measure, pairs.shared, pairs.shared, *sizes)


def shared_part(
    measure: Measure | Of,
    in_doc: Ints | Floats,
    in_gold: Ints | Floats,
    doc_sizes: Ints | Floats,
    gold_sizes: Ints | Floats,
) -> Floats:
    """What is shared of pairs of a document and a gold text, as a share of the sizes that count.

    The arrays have one shape, or such as numpy makes one of.

    Args:
        measure: whose share counts, in the words of ROUGE or of spans.
        in_doc: how much of each document is shared.
        in_gold: how much of each gold text is.
        doc_sizes: the sizes of the documents: whole numbers, maybe 0.
        gold_sizes: those of the gold texts.
    """
    # The order of operations is rouge-score's, so that the results are the same floats.
    of_doc = in_doc / np.maximum(doc_sizes, 1)
    of_gold = in_gold / np.maximum(gold_sizes, 1)
    match measure:
        case "precision" | "chunk":
            return of_doc
        case "recall" | "gold":
            return of_gold
        case "overlap" | "either":
            return np.maximum(of_doc, of_gold)
        case "fmeasure":
            total = of_doc + of_gold
            return 2 * of_doc * of_gold / np.where(total > 0, total, 1.0)


def _subsequences(docs: Lists, golds: Lists, corpus: TokenCorpus) -> Pairs:
    """How long the longest common subsequence of each pair is, for all queries at once."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    texts, wanted = iter(corpus.strings(docs.numbers)), iter(corpus.strings(golds.numbers))
    shared = [np.empty(0, np.int64)]
    for n, m in zip(docs.n_texts.tolist(), golds.n_texts.tolist()):
        # rapidfuzz prepares what stands on the left, once a text: gold is less and shorter.
        sides = [*islice(wanted, m)], [*islice(texts, n)]
        if n and m:
            shared.append(cdist(*sides, scorer=LCSseq.similarity, dtype=np.int64).T.ravel())
    doc, gold = of_pairs(docs.n_texts, golds.n_texts)
    sizes = corpus.lengths[docs.numbers][doc], corpus.lengths[golds.numbers][gold]
    return Pairs(np.concatenate(shared), *sizes)

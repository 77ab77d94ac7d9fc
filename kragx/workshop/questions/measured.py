"""The word leak of a gold set: how far its questions are copied from what answers them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kragx.data.gold import GoldDataset
from kragx.ground.printing import Line, Part, Result, Table, percent, phrase
from kragx.workshop.questions.leak import leak, mean_leak


@dataclass(frozen=True)
class WordLeak(Result):
    """The word leak of each question of a gold set.

    Attributes:
        queries: by the id of each question; None where it has no content word, or its gold no text.
        difficulties: the questions' difficulties by id, of those that have one.
    """

    queries: Mapping[str, float | None]
    difficulties: Mapping[str, str]

    also_plain: ClassVar[tuple[str, ...]] = ("mean",)

    @property
    def mean(self) -> float | None:
        """The mean of those that are known; None if none is."""
        return mean_leak(self.queries.values())

    def describe(self) -> Iterator[Part]:
        """The mean, over all questions and by difficulty."""
        n_known = sum(value is not None for value in self.queries.values())
        yield Line(
            phrase(
                "mean word leak: {share} of the content words of {n} questions stand in their "
                "gold; {others} questions have none, or gold without texts",
                share=percent(self.mean, 0),
                n=n_known,
                others=len(self.queries) - n_known,
            )
        )
        rows = []
        for level in dict.fromkeys(self.difficulties.values()):
            leaks = [self.queries[uid] for uid, name in self.difficulties.items() if name == level]
            rows.append([level, str(len(leaks)), percent(mean_leak(leaks), 0)])
        if rows:
            yield Table((phrase("difficulty"), phrase("questions"), phrase("word leak")), rows)


def word_leak(dataset: GoldDataset) -> WordLeak:
    """How much of each question stands in its gold texts, alternatives too, taken together.

    Args:
        dataset: the gold set, with texts (`kragx.read_dataset` takes a corpus that has those of
            ids). What is judged non-relevant, with grade 0 or less, does not count.
    """
    queries: dict[str, float | None] = {}
    for query in dataset:
        relevant = [gold for gold in query.gold if gold.grade > 0]
        texts = [gold.text for gold in relevant]
        texts += [alternative.text for gold in relevant for alternative in gold.alternatives]
        nonempty = [text for text in texts if text]
        queries[query.id] = leak(query.text or "", nonempty) if nonempty else None
    difficulties = {query.id: query.metadata.get("difficulty") for query in dataset}
    return WordLeak(queries, {key: str(name) for key, name in difficulties.items() if name})

"""n tokens in a row: where they stand in other texts, and where they are said again."""

import numpy as np
from numpy.typing import NDArray

from kragx.data import TokenCorpus
from kragx.data.lists import Bools, Ints, ranges
from kragx.data.phrases import UNSPACED_FOR_ONE
from kragx.data.tokens import codes_of_tokens, hashed
from kragx.metrics.spans.rows import NEVER, TokenRows, weights
from kragx.metrics.table_view import order_within

Hashes = NDArray[np.uint64]

_STREAM = np.uint64(0xD6E8FEB86659FD93)
_OFTEN, _PAIRS = 8, 512  # an n-gram that stands so often in a gold text has so many pairs at most
_SLOTS = 22  # bits; the table that most n-grams of the streams are dismissed by takes 4 MB


class Grams:
    """Hashes of n tokens in a row, made longer token by token."""

    def __init__(self, texts: TokenRows, stream_of: Ints) -> None:
        self.texts = texts
        self._n = 0
        # Equal tokens of different streams have different hashes.
        self._hashes = stream_of[texts.row].astype(np.uint64) * _STREAM
        self._tokens = codes_of_tokens(texts.tokens)

    def of(self, n: int) -> Hashes:
        """For each token the hash of it and the n - 1 after it; n must not fall."""
        if self._n < n:
            self._hashes, self._n = hashed(self._tokens, n, self._hashes, self._n), n
        return self._hashes


def joined(needles: Hashes, hashes: Hashes, usable: Bools) -> tuple[Ints, Ints]:
    """Every pair of places (in `needles`, in `hashes`) with the same hash."""
    shift = np.uint64(64 - _SLOTS)
    table = np.zeros(1 << _SLOTS, bool)
    table[needles >> shift] = True
    candidates = np.flatnonzero(table[hashes >> shift] & usable)
    candidate_hashes = hashes[candidates]
    order = np.argsort(needles, kind="stable")
    distinct, first, times = np.unique(needles[order], return_index=True, return_counts=True)
    slot = np.minimum(np.searchsorted(distinct, candidate_hashes), len(distinct) - 1)
    count = np.where(distinct[slot] == candidate_hashes, times[slot], 0)
    _thin_out(count, candidate_hashes)
    np.minimum(count, _PAIRS, out=count)
    return order[ranges(first[slot], count)], np.repeat(candidates, count)


def _thin_out(count: Ints, hashes: Hashes) -> None:
    """Forget later places of n-grams that a gold text repeats very often, as `count` says.

    Text that goes on repeating itself would give as many diagonals as it has pairs of places.
    """
    often = np.flatnonzero(count > _OFTEN)
    # By n-gram, and of one n-gram by place.
    often = often[np.argsort(hashes[often], kind="stable")]
    number = order_within(hashes[often])
    count[often[number > np.maximum(_PAIRS // count[often], 1)]] = 0


def repetitions(streams: TokenRows, run: int, corpus: TokenCorpus) -> Ints:
    """For each token of a stream the place up to which one has to read to know it said before.

    A token is said before if it stands in `run` tokens in a row that stand earlier in the stream;
    for others the place is beyond every stream.
    """
    known_from = np.full(len(streams.tokens), NEVER)
    grams = Grams(streams, np.arange(len(streams.start)))
    for n, long in _long(streams, run, corpus).items():
        repeats, _ = repeated(grams, n)
        repeats = repeats[long[repeats]]
        earlier = np.full(len(known_from), NEVER)
        for step in range(n):  # what is known first is written last
            earlier[repeats + step] = repeats + n - 1
        np.minimum(known_from, earlier, out=known_from)
    return known_from


def twins(golds: TokenRows, stream_of: Ints, run: int, corpus: TokenCorpus) -> Ints:
    """For each token of gold the first of the same stream's gold texts that says the same.

    Tokens say the same in `run` tokens in a row, or in a whole gold text that is shorter, that both
    stand in; a token without another is its own.
    """
    lengths = golds.lengths
    weight = np.bincount(golds.row, weights(golds.tokens, corpus), len(lengths))
    is_short = (lengths > 0) & (weight < run * UNSPACED_FOR_ONE)
    long = _long(golds, run, corpus)
    twin = np.arange(len(golds.tokens))
    grams = Grams(golds, stream_of)
    for n in sorted({*long, *lengths[is_short].tolist()}):
        repeats, first = repeated(grams, n)
        hashes = grams.of(n)
        same = np.isin(hashes[repeats], hashes[golds.start[:-1][is_short & (lengths == n)]])
        if n in long:
            same |= long[n][repeats]
        repeats, first = repeats[same], first[same]
        for step in range(n):
            twin[repeats + step] = np.minimum(twin[repeats + step], first + step)
    # A twin may have an earlier twin: each round halves the way to the first of them.
    while ((root := twin[twin]) != twin).any():
        twin = root
    return twin


def _long(texts: TokenRows, run: int, corpus: TokenCorpus) -> dict[int, Bools]:
    """How many tokens in a row are as long as `run` words, and from which places on.

    `run`, or three times as many where one of them is a character of a script that writes without
    spaces.
    """
    unspaced = corpus.unspaced[texts.tokens]
    if not unspaced.any():
        return {run: texts.fit(run)}
    before = np.concatenate(([0], np.cumsum(unspaced)))
    place = np.arange(len(unspaced))
    has = before[np.minimum(place + run, len(unspaced))] > before[place]
    longer = run * UNSPACED_FOR_ONE
    return {run: texts.fit(run) & ~has, longer: texts.fit(longer) & has}


def repeated(grams: Grams, n: int) -> tuple[Ints, Ints]:
    """Where n tokens stand that stand earlier in the same stream, and the first place there."""
    hashes, usable = grams.of(n), grams.texts.fit(n)
    bits = min(_SLOTS, len(hashes).bit_length() + 2)
    # Nearly all n-grams stand once: a count by slot dismisses them, and few are left to be sorted.
    slots = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    often = np.bincount(slots[usable], minlength=1 << bits) > 1
    places = np.flatnonzero(often[slots] & usable)
    _, first, group = np.unique(hashes[places], return_index=True, return_inverse=True)
    earlier = places[first[group]]
    is_repeat = earlier < places
    return places[is_repeat], earlier[is_repeat]

"""n tokens in a row: where texts have them in common, and where they are said again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kragx.data import TokenCorpus
from kragx.data.lists import Bools, Ints, ranges
from kragx.data.phrases import UNSPACED_FOR_ONE
from kragx.data.tokens import codes_of_tokens, hashed
from kragx.metrics.match_table import order_within
from kragx.metrics.spans.rows import NEVER, Least, TokenRows, weights

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
    number = order_within(hashes[often].view(np.int64))
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


CELLS = 1 << 22
"""Tokens that are compared at once."""


@dataclass(frozen=True)
class Diagonals:
    """Places in a gold text and in its stream that are as far apart all along.

    Attributes:
        row: the gold text.
        shift: the place in the stream less the place in the gold.
        first, length: the places in the gold of which there is one in the stream.
    """

    row: Ints
    shift: Ints
    first: Ints
    length: Ints

    def portions(self) -> Iterator[Diagonals]:
        """All of them, in portions of a size that fits into memory."""
        portion = np.cumsum(self.length) // CELLS
        for number in np.unique(portion):
            yield Diagonals(*(column[portion == number] for column in vars(self).values()))


def diagonals(
    golds: TokenRows,
    streams: TokenRows,
    stream_of: Ints,
    minimum_size: Least,
    seed: int,
) -> Diagonals:
    """Where gold texts and their streams may have a run that counts.

    A run that counts holds `seed` tokens in a row, or the few at the gold text's end that are
    enough there. Of a short gold text it holds all tokens, or all but the outermost, which may be
    parts of words.
    """
    lengths, start = golds.lengths, golds.start[:-1]
    seeds = {seed: golds.fit(seed)}
    for length, place in (
        (minimum_size.at_start, start),
        (minimum_size.at_end, golds.start[1:] - minimum_size.at_end),
        (np.where(lengths < seed, lengths, 0), start),
        (np.where(lengths == 3, 2, 0), start),
        (np.where(lengths == 3, 2, 0), start + 1),
        (np.where(lengths > 3, lengths - 2, 0), start + 1),
    ):
        for n in set(length[(length > 0) & (length < seed)].tolist()):
            begins = seeds.setdefault(n, np.zeros(len(golds.tokens), bool))
            begins[place[length == n]] = True
    in_gold, in_streams = Grams(golds, stream_of), Grams(streams, np.arange(len(streams.start)))
    # No shift is as large as this, so that row and shift fit into one whole number, and one sort
    # orders both.
    span = len(streams.tokens) + len(golds.tokens) + 1
    found = [np.empty(0, np.int64)]
    for n in sorted(seeds):
        places = np.flatnonzero(seeds[n])
        gold_rows, stream = joined(in_gold.of(n)[places], in_streams.of(n), streams.fit(n))
        gold = places[gold_rows]
        key = golds.row[gold] * (2 * span) + stream - gold + span
        # Of a row of seeds on the same diagonal nearly all fall out here, before sorting.
        found.append(key[(np.diff(gold, prepend=-2) != 1) | (np.diff(key, prepend=-1) != 0)])
    keys = np.unique(np.concatenate(found))
    row, shift = keys // (2 * span), keys % (2 * span) - span
    streams_of_rows = stream_of[row]
    first = np.maximum(golds.start[row], streams.start[streams_of_rows] - shift)
    last = np.minimum(golds.start[row + 1], streams.start[streams_of_rows + 1] - shift)
    return Diagonals(row, shift, first, np.maximum(last - first, 0))

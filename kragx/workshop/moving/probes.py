"""What is looked for: each gold text with what stood around it in the corpus that it is of."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np

from kragx.data import Doc, normalise
from kragx.data.forbidden import stretch_of
from kragx.data.lists import Ints, ranges
from kragx.workshop.folder.places import origin_of, place_of
from kragx.workshop.moving.blocks import (
    GRAM,
    MANY,
    Block,
    Codes,
    GramCounts,
    Hashes,
    as_string,
    blocks,
    grams,
    letters,
)

AROUND = 128
"""Letters on either side of a gold text by which places of the same text are told apart."""

FEWEST = 3
"""Grams that stand once; fewer may do so by accident."""

STEP = 4
"""Of the grams of gold every fourth is looked up; of the corpus all."""

_COMMON, _RARE = 16, 4  # places of a gram in the old corpus; grams of a text that may have more


@dataclass(slots=True)
class GoldProbe:
    """A gold text that is looked for.

    Attributes:
        doc: the gold item, or one of its alternatives, as the gold set has it.
        codes: the letters of its text, and of what stands around it.
        low, high: where its own begin and end in `codes`.
        text: its text; that of the chunk, if it is named by its id alone.
        apart: its text is not in its chunk, as an answer in somebody's own words; so the chunk is
            looked for.
        size: the letters of its chunk, of its text where that is not known.
        begin: where in its chunk its text begins, in characters.
        source, start: of its text, where metadata say so.
        chunk: the content of its chunk, to know it again; None where the old corpus has none.
        unique: its letters from which on a gram stands once in the old corpus.
        step: 1, or 8 where of the old corpus an eighth of the grams is known.
    """

    doc: Doc
    codes: Codes = field(default_factory=lambda: np.empty(0, np.uint32))
    low: int = 0
    high: int = 0
    text: str | None = None
    apart: bool = False
    size: int = 0
    begin: int = 0
    source: str | None = None
    start: int | None = None
    chunk: bytes | None = None
    unique: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    step: int = 1

    @property
    def before(self) -> Doc:
        """The item with its text."""
        return replace(self.doc, text=self.text)

    def unique_in(self, first: int, last: int) -> Ints:
        """The letters from which on a gram stands once, and within a stretch of its letters."""
        return self.unique[slice(*np.searchsorted(self.unique, [first, last - GRAM + 1]))]

    def is_own(self, first: int, last: int) -> bool:
        """Whether letters, from one to another, are hardly those of another text."""
        return self.step * len(self.unique_in(first, last)) >= FEWEST


def key_of(doc: Doc) -> str:
    """The id by which a chunk is known, whatever Unicode form it is written in."""
    return unicodedata.normalize("NFC", doc.id or "")


def content(text: str) -> bytes:
    """A text's content, to know it again without holding it."""
    return blake2b(normalise(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def probes_of(docs: Sequence[Doc], corpus: Iterable[Doc]) -> tuple[list[GoldProbe], GramCounts]:
    """Read the corpus that gold is of, once.

    Args:
        docs: gold items and alternatives, each with id or text.
        corpus: the documents that they are of.

    Returns:
        A probe for each, and how often the corpus's grams stand in it. A probe without a text is of
        an id that is not in the corpus.
    """
    probes = [GoldProbe(doc) for doc in docs]
    # What is named by an id: a chunk, or characters of a document.
    named: defaultdict[str, list[tuple[GoldProbe, int, int | None]]] = defaultdict(list)
    for probe in probes:
        if probe.doc.id is not None:
            named[key_of(probe.doc)].append((probe, 0, None))
            if (stretch := stretch_of(key_of(probe.doc))) is not None:
                named[stretch[0]].append((probe, *stretch[1:]))
    gram_counts = GramCounts()
    for block in blocks(corpus, gram_counts.banners):
        gram_counts.add(block.hashes[block.interior_letters])
        for row in block.interior:
            for probe, start, end in named.get(key_of(block.docs[row]), ()):
                is_free = probe.chunk is None
                if end is None or (is_free and start < end <= len(block.docs[row].text or "")):
                    _read(probe, block, row, start, end)
    for probe in probes:
        if probe.text is None and probe.doc.text is not None:
            # Nobody knows where it stood.
            probe.text, probe.codes = probe.doc.text, letters([probe.doc.text]).codes
            probe.high = probe.size = len(probe.codes)
            if (origin := origin_of(probe.doc))[1] is not None:
                probe.source, probe.start = origin
        hashes = grams(probe.codes)
        times = gram_counts.of(hashes)
        # What reaches over the end of a chunk is in none, however common it is.
        is_once = (times == 1) | ((times == 0) & (probe.chunk is None))
        probe.unique = np.flatnonzero(is_once & gram_counts.sampled(hashes)).astype(np.int32)
        probe.step = gram_counts.step
    return probes, gram_counts


def _read(probe: GoldProbe, block: Block, row: int, first: int, last: int | None) -> None:
    """Take a probe's text, and what stands around it, from its chunk.

    `first` and `last` are the characters of the chunk that its id means.
    """
    doc, text = block.docs[row], probe.doc.text
    codes, _, places = letters([doc.text or ""])
    whole = (doc.text or "")[first:last]
    low, high = np.searchsorted(places, [first, first + len(whole)]).tolist()
    probe.size, probe.chunk, probe.text = high - low, content(whole), whole
    origin, chunk_place = origin_of(probe.doc), place_of(doc)
    if text is not None:
        # From the character on that the item names; else wherever it is.
        is_named = origin[1] is not None and origin[0] == chunk_place[0]
        begin = (origin[1] or 0) - chunk_place[1] if is_named else 0
        pattern, inside = as_string(letters([text]).codes), as_string(codes[low:high])
        part = inside.find(pattern, int(np.searchsorted(places, begin)))
        part = inside.find(pattern) if part < 0 else part
        probe.text, probe.apart = text, part < 0 or not pattern
        if not probe.apart:
            low, high = low + part, low + part + len(pattern)
    if low < high:
        probe.begin = int(places[low])
    place = int(block.begins[row])
    begin, end = block.source(place + low)
    before = block.stream[max(begin, place + low - AROUND) : place + low]
    after = block.stream[place + high : min(end, place + high + AROUND)]
    probe.codes = np.concatenate((before, codes[low:high], after))
    probe.low, probe.high = len(before), len(before) + high - low
    # A document of which stretches are gold is their source, unless it names another.
    probe.source, start = origin_of(doc) if last is None else chunk_place
    if start is not None and probe.source is not None:
        probe.start = start + probe.begin
    elif text is not None and origin[1] is not None:
        probe.source, probe.start = origin


_NONE = np.empty(0, np.uint32)


class Index:
    """The grams of gold texts that are looked up in a corpus.

    Args:
        probes: the gold texts.
        gram_counts: how often their grams stand in the corpus that they are of. Those that stand in
            many places are looked up for no text that has others.

    Attributes:
        n_grams: how many of each text are looked up.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: GramCounts) -> None:
        # So many letters that were put into a gold text do not make two places of it.
        lengths = np.array([probe.high - probe.low for probe in probes], np.int64)
        self._slack: Ints = np.maximum(64, lengths // 2)
        hashes = [grams(probe.codes if probe.low < probe.high else _NONE) for probe in probes]
        looked_up = [_looked_up(of_text, gram_counts) for of_text in hashes]
        self.n_grams: Ints = np.array([*map(len, looked_up)], np.int64)
        every_hash = np.concatenate([np.empty(0, np.uint64), *map(np.take, hashes, looked_up)])
        order = np.argsort(every_hash, kind="stable")
        self._hashes = every_hash[order]
        self._letters = np.concatenate([np.empty(0, np.int64), *looked_up])[order].astype(np.int32)
        self._probes = np.repeat(np.arange(len(probes), dtype=np.int32), self.n_grams)[order]
        # Eight slots a gram or more: most grams of the corpus are dismissed without a search.
        bits = min(27, max(12, (8 * len(every_hash)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._some = np.zeros(1 << bits, bool)
        self._some[every_hash >> self._shift] = True

    def windows(self, block: Block) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
        """The probes that have grams in the own rows of a block which would begin about one letter.

        Yields:
            The probe, the source in the block's stream, the least and the most letter of it where
            the probe may begin.
        """
        probe, letter, place = self._hits(block.hashes)
        source, shift = np.searchsorted(block.bounds, place, side="right"), place - letter
        order = np.lexsort((shift, source, probe))
        probe, source, shift, place = (array[order] for array in (probe, source, shift, place))
        is_first = np.diff(shift, prepend=0) > self._slack[probe]
        is_first |= (np.diff(probe, prepend=-1) != 0) | (np.diff(source, prepend=-1) != 0)
        first = np.flatnonzero(is_first)
        if not first.size:
            return
        times, place = np.diff(first, append=len(probe)), np.minimum.reduceat(place, first)
        # What lies between two places is looked at for the nearer one.
        probe, half = probe[first], self._slack[probe[first]] // 2
        shifts = np.stack((shift[first] - half, shift[first + times - 1] + half), axis=1)
        # One gram alone, four words, is often an accident. What begins in a margin is another
        # block's.
        interior = block.interior_letters
        is_kept = times >= np.minimum(2, self.n_grams[probe])
        is_kept &= (place >= interior.start) & (place < interior.stop)
        for row in np.flatnonzero(is_kept).tolist():
            least, most = shifts[row].tolist()
            yield int(probe[row]), block.source(int(place[row])), (least, most)

    def _hits(self, hashes: Hashes) -> tuple[Ints, Ints, Ints]:
        """Every pair of a probe and a place in `hashes` that have the same gram.

        Returns:
            The probes, the letters of them where the gram begins, and the places.
        """
        hits = np.flatnonzero(self._some[hashes >> self._shift])
        first = np.searchsorted(self._hashes, hashes[hits])
        times = np.searchsorted(self._hashes, hashes[hits], side="right") - first
        grams_hit = ranges(first, times)
        probe, letter = (
            array[grams_hit].astype(np.int64) for array in (self._probes, self._letters)
        )
        return probe, letter, np.repeat(hits, times)


def _looked_up(hashes: Hashes, gram_counts: GramCounts) -> Ints:
    """Which grams of a text are looked up, by the letter where they begin.

    Every fourth; of a large corpus those that are counted, as long as the text has some of them. Of
    these all that stand in few places of the old corpus, and of a text that has not even a few of
    them the rarest.
    """
    number = np.arange(len(hashes))
    spaced = (number % STEP == 0) | (number == len(hashes) - 1)
    is_counted = gram_counts.sampled(hashes) if gram_counts.step > 1 else spaced
    letters = np.flatnonzero(is_counted if is_counted.sum() >= _RARE else is_counted | spaced)
    times = gram_counts.of(hashes[letters])
    # The rarest grams first, the earlier of those that are as rare.
    rank = np.argsort(np.argsort(times, kind="stable"))
    return letters[(times <= _COMMON) | ((times < MANY) & (rank < _RARE))]

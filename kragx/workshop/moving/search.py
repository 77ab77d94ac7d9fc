"""Both corpora, each read once: gold texts with what stands around them, and where they are now."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from kragx.data import Doc, normalise
from kragx.data.forbidden import stretch_of
from kragx.data.lists import Bools, Ints, ranges
from kragx.data.tokens import Grams
from kragx.workshop.folder.places import origin_of, place_of
from kragx.workshop.moving.letters import (
    GRAM,
    MARGIN,
    Block,
    GramCounts,
    as_text,
    blocks,
    letters,
    whole_grams,
)
from kragx.workshop.moving.places import GoldProbe, Place, align

_AROUND = 128  # letters on either side of a gold text by which places of it are told apart
_CROWD = 256  # places that are looked at for one gold text
_STEP = 4  # of the grams of gold every fourth is looked up; of the corpus all
_COMMON, _FEW = 16, 4  # places of a gram in the old corpus; counted grams that are enough
_MORE = 32  # letters that may be put in beyond the outermost gram
_SIDE = 3  # letters on either side of a place that a gram over it has at least


def _key(doc: Doc) -> str:
    """The id by which a chunk is known, whatever Unicode form it is written in."""
    return unicodedata.normalize("NFC", doc.id or "")


def _content(text: str) -> bytes:
    """A text's content, to know it again without holding it."""
    return blake2b(normalise(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def probes_of(docs: Sequence[Doc], corpus: Iterable[Doc]) -> tuple[list[GoldProbe], GramCounts]:
    """Read the corpus that gold is of, once.

    Args:
        docs: gold items and alternatives, each with id or text.
        corpus: the documents that they are of.

    Returns:
        A probe for each, and which of the corpus's texts stand in it more than once. A probe
        without a text is of an id that is not in the corpus.
    """
    probes = [GoldProbe(doc) for doc in docs]
    # By the id of a chunk those that it is of; with the stretch that their id names of it, if any.
    named: defaultdict[str, list[tuple[GoldProbe, int, int | None]]] = defaultdict(list)
    for probe in probes:
        if probe.doc.id is not None:
            named[_key(probe.doc)].append((probe, 0, None))
            if (stretch := stretch_of(_key(probe.doc))) is not None:
                named[stretch[0]].append((probe, *stretch[1:]))
    gram_counts = GramCounts()
    for block in blocks(corpus, gram_counts.banners):
        gram_counts.add(block.hashes[block.interior_letters])
        for row in block.interior:
            doc = block.docs[row]
            for probe, start, end in named.get(_key(doc), ()):
                is_stretch = end is not None and start < end <= len(doc.text or "")
                if end is None or (is_stretch and probe.chunk is None):
                    _read(probe, block, row, start, end)
    for probe in probes:
        if probe.text is None and probe.doc.text is not None:
            # Nobody knows where it stood.
            probe.text, probe.codes = probe.doc.text, letters([probe.doc.text]).codes
            probe.high = probe.size = len(probe.codes)
            _take_origin(probe)
        hashes = whole_grams(probe.codes)
        times = gram_counts.of(hashes)
        # What reaches over the end of a chunk is in none, however common it is.
        is_once = (times == 1) | ((times == 0) & (probe.chunk is None))
        probe.unique = np.flatnonzero(is_once & gram_counts.sampled(hashes)).astype(np.int32)
        probe.step = gram_counts.step
    return probes, gram_counts


def _take_origin(probe: GoldProbe) -> None:
    """Take where a text stands from what its gold item says."""
    if (origin := origin_of(probe.doc))[1] is not None:
        probe.source, probe.start = origin


def _read(probe: GoldProbe, block: Block, row: int, first: int, last: int | None) -> None:
    """Take a probe's text, and what stands around it, from its chunk.

    `first` and `last` are the characters of the chunk that its id means.
    """
    doc = block.docs[row]
    codes, _, places = letters([doc.text or ""])
    whole = (doc.text or "")[first:last]
    low, high = np.searchsorted(places, [first, first + len(whole)]).tolist()
    probe.size, probe.chunk = high - low, _content(whole)
    probe.text, text = whole, probe.doc.text
    if text is not None:
        pattern, chunk = as_text(letters([text]).codes), as_text(codes[low:high])
        begin = chunk.find(pattern, _first_letter(probe.doc, doc, places)) if pattern else -1
        if begin < 0 and pattern:  # it says where it begins, and stands before that
            begin = chunk.find(pattern)
        probe.text, probe.apart = text, begin < 0
        if begin >= 0:
            low, high = low + begin, low + begin + len(pattern)
    if low < high:
        probe.begin = int(places[low])
    place = int(block.row[row])
    begin, end = max(0, place + low - _AROUND), place + high + _AROUND
    probe.codes = np.concatenate(
        (block.stream[begin : place + low], codes[low:high], block.stream[place + high : end])
    )
    probe.low = place + low - begin
    probe.high = probe.low + high - low
    # A document of which stretches are gold is their source, unless it names another.
    probe.source, start = origin_of(doc) if last is None else place_of(doc)
    if start is not None and probe.source is not None:
        probe.start = start + probe.begin
    elif text is not None:
        _take_origin(probe)


def _first_letter(doc: Doc, chunk: Doc, places: Ints) -> int:
    """At which letter of its chunk a gold text begins, if it says so; else the first."""
    source, start = origin_of(doc)
    of_chunk, first = place_of(chunk)
    if start is None or source != of_chunk:
        return 0
    return int(np.searchsorted(places, min(max(start - first, 0), len(chunk.text or ""))))


@dataclass
class MoveSearch:
    """What a corpus has of gold texts.

    Attributes:
        places: of each probe.
        same: the probes whose chunk is there unchanged, under its id.
        crowded: probes that stand in so many places that not all were looked at.
        n_chunks: how many there are.
    """

    places: list[list[Place]]
    same: set[int] = field(default_factory=set)
    crowded: set[int] = field(default_factory=set)
    n_chunks: int = 0


def search(
    probes: Sequence[GoldProbe], gram_counts: GramCounts, corpus: Iterable[Doc]
) -> MoveSearch:
    """Read the corpus to which gold moves, once.

    Args:
        probes: what is looked for.
        gram_counts: the grams of the corpus that they are of.
        corpus: the documents of the new one.
    """
    index, result = _Index(probes, gram_counts), MoveSearch([[] for _ in probes])
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for number, probe in enumerate(probes):
        if probe.chunk is not None:
            by_key[_key(probe.doc)].append(number)
    n_places = np.zeros(len(probes), np.int64)
    # A place lies in one block as a whole, half as much put in and signs between its letters too.
    margin = max(MARGIN, 3 * int(index.lengths.max(initial=0)))
    for block in blocks(corpus, gram_counts.banners, margin=margin):
        for doc in block.docs[block.interior.start : block.interior.stop]:
            same = by_key.get(_key(doc), ())
            content = _content(doc.text or "") if same else None
            result.same.update(number for number in same if probes[number].chunk == content)
        result.n_chunks += len(block.interior)
        parts = [*_where(block, index, n_places)]
        # What costs a look at every letter is done for blocks alone that have some gold.
        is_old = _old(block, gram_counts) if parts else np.empty(0, bool)
        for number, stretch, shifts in parts:
            probe = probes[number]
            positions = align(probe, block, stretch, shifts)
            if (positions[probe.low : probe.high] >= 0).any():
                result.places[number].append(Place(probe, positions, block, is_old))
    crowded = (n_places > _CROWD) | ((index.n_grams == 0) & (index.lengths >= GRAM))
    result.crowded = set(np.flatnonzero(crowded).tolist())
    return result


class _Index:
    """The grams of gold texts that are looked up in a corpus: those that few places of the old had.

    Attributes:
        lengths: of the probes, in letters.
        slack: so many letters that were put into each do not make two places of it.
        n_grams: how many grams of each are looked up.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: GramCounts) -> None:
        self.lengths: Ints = np.array([len(probe.codes) for probe in probes], np.int64)
        sizes = np.array([probe.high - probe.low for probe in probes], np.int64)
        self.slack: Ints = np.maximum(64, sizes // 2)
        hashes, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for probe in probes:
            of_probe = whole_grams(probe.codes)
            places.append(_looked_up(of_probe, gram_counts))
            hashes.append(of_probe[places[-1]])
        self.n_grams: Ints = np.array([*map(len, places[1:])], np.int64)
        every_hash = np.concatenate(hashes)
        order = np.argsort(every_hash, kind="stable")
        self._hashes = every_hash[order]
        self._letters = np.concatenate(places)[order].astype(np.int32)
        self._probes = np.repeat(np.arange(len(probes), dtype=np.int32), self.n_grams)[order]
        # Eight slots a gram or more: most grams of the corpus are dismissed without a search.
        bits = min(27, max(12, (8 * len(every_hash)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._some = np.zeros(1 << bits, bool)
        self._some[every_hash >> self._shift] = True

    def hits(self, hashes: Grams) -> tuple[Ints, Ints, Ints]:
        """Every probe that has a gram of `hashes`, the letter where it would begin, and the place.

        By probes, and of each by that letter.
        """
        hits = np.flatnonzero(self._some[hashes >> self._shift])
        first = np.searchsorted(self._hashes, hashes[hits])
        times = np.searchsorted(self._hashes, hashes[hits], side="right") - first
        rows, place = ranges(first, times), np.repeat(hits, times)
        probe, shift = self._probes[rows].astype(np.int64), place - self._letters[rows]
        order = np.lexsort((shift, probe))
        return probe[order], shift[order], place[order]


def _looked_up(hashes: Grams, gram_counts: GramCounts) -> Ints:
    """Which grams of a text are looked up, by the letter where they begin.

    Every fourth; of a large corpus those that are counted, as long as the text has some of them. Of
    these all that stand in few places of the old corpus.
    """
    number = np.arange(len(hashes))
    spaced = (number % _STEP == 0) | (number == len(hashes) - 1)
    is_counted = gram_counts.sampled(hashes) if gram_counts.step > 1 else spaced
    letters = np.flatnonzero(is_counted if is_counted.sum() >= _FEW else is_counted | spaced)
    return letters[gram_counts.of(hashes[letters]) <= _COMMON]


def _where(block: Block, index: _Index, n_places: Ints) -> Iterator[tuple[int, range, range]]:
    """The probes that have grams in the interior of a block which would begin about one letter.

    Yields:
        The probe, the stretch of the block's stream that would be it, and the letters where it may
        begin.
    """
    probe, shift, place = index.hits(block.hashes)
    if not probe.size:
        return
    is_other = np.diff(probe, prepend=-1) != 0
    first = np.flatnonzero(is_other | (np.diff(shift, prepend=0) > index.slack[probe]))
    ends, least = np.append(first[1:], len(probe)), np.minimum.reduceat(place, first)
    # One gram alone, four words, is often an accident. What begins in a margin is another block's.
    interior = block.interior_letters
    is_kept = ends - first >= np.minimum(2, index.n_grams[probe[first]])
    is_kept &= (least >= interior.start) & (least < interior.stop)
    n_places += np.bincount(probe[first[is_kept]], minlength=len(n_places))
    for row, end in zip(first[is_kept].tolist(), ends[is_kept].tolist()):
        number, shifts = int(probe[row]), shift[row:end]
        if n_places[number] > _CROWD:
            continue
        # Not far from the middle one, however often a banner beside the text is repeated.
        near = np.abs(shifts - shifts[len(shifts) // 2]) <= index.slack[number]
        shifts, letters = shifts[near], (place[row:end] - shifts)[near]
        begin, last = int(shifts[letters.argmin()]), int(shifts[letters.argmax()])
        stretch = range(begin, last + int(index.lengths[number]))
        yield number, stretch, range(int(shifts[0]) - _MORE, int(shifts[-1]) + _MORE + 1)


def _old(block: Block, gram_counts: GramCounts) -> Bools:
    """At which letters of the stream what is before and behind stood together in the old corpus."""
    is_counted = gram_counts.sampled(block.hashes)
    is_known = is_counted & (gram_counts.of(block.hashes) > 0)
    # Sums up to each place, so that the grams over a place are counted by one subtraction.
    places = np.arange(len(is_counted) + 1)
    first, last = np.maximum(places - GRAM + _SIDE, 0), np.maximum(places - _SIDE + 1, 0)
    n, n_known = (
        sums[last] - sums[first]
        for sums in (np.concatenate(([0], np.cumsum(mask))) for mask in (is_counted, is_known))
    )
    return np.asarray((2 * n_known >= n) & (n_known > 1))

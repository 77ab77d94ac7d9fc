"""Which passages are taken, in which order, and which of them belong together."""

from __future__ import annotations

import unicodedata

import pytest

from kragx.data.documents import Doc
from kragx.workshop.questions.documents import LONGEST, CorpusPassages

LONG = "A sentence with enough words to be asked about, the one numbered "


def docs(n, **metadata):
    """Documents with metadata by functions of their number."""
    return [
        Doc(f"d{at}", f"{LONG}{at}.", {name: value(at) for name, value in metadata.items()})
        for at in range(n)
    ]


def groups(passages, n):
    """The ids of each passage of several parts."""
    return {tuple(part.id for part in passages.at(at, n)[0].parts) for at in range(len(passages))}


def test_each_once_in_every_round():
    """A round has every passage once, in an order by the seed; the next round is the same one."""
    passages = CorpusPassages(docs(20), seed=3)
    first = [passages.at(at)[0].text for at in range(20)]
    assert sorted(first) == sorted(doc.text for doc in docs(20))
    assert [passages.at(at)[0].text for at in range(20, 40)] == first
    assert {passages.at(at)[1] for at in range(20, 40)} == {1}
    assert first != [CorpusPassages(docs(20), seed=4).at(at)[0].text for at in range(20)]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        # The source goes before a field with more groups that mean nothing.
        ({"source": lambda at: f"f{at // 4}", "part": lambda at: f"p{at // 2}"},
         {("d0", "d1"), ("d1", "d2"), ("d2", "d3"), ("d4", "d5"), ("d5", "d6"), ("d6", "d7")}),
        # A source of each document alone joins nothing.
        ({"source": lambda at: f"f{at}"}, {(f"d{at}",) for at in range(8)}),
    ],
)  # fmt: skip
def test_neighbours(metadata, expected):
    """What belongs together stands side by side in the corpus, within one group."""
    assert groups(CorpusPassages(docs(8, **metadata)), 2) == expected


def test_titles_and_stretches():
    """A title that the text lacks stands above it; a long text is cut at white space."""
    titled = Doc("a", f"{LONG}0.", {"title": " Opening \n hours "})
    (part,) = CorpusPassages([titled]).at(0)[0].parts
    assert part.text == f"Opening hours\n\n{titled.text}"
    named = Doc("a", f"Opening hours. {LONG}0.", {"title": "Opening hours"})
    assert CorpusPassages([named]).at(0)[0].text == named.text
    text = " ".join(f"word{at}" for at in range(1500))
    passages = CorpusPassages([Doc("a", text)])
    parts = sorted(
        (passages.at(at)[0].parts[0] for at in range(len(passages))), key=lambda p: p.start
    )
    assert "".join(text[part.start : part.end] for part in parts) == text
    assert all(len(part.text) <= LONGEST for part in parts)
    assert len(passages.at(0, 3)[0].parts) == 3  # of one document, they belong together


def test_what_is_left_out():
    """The same text twice, and what says too little."""
    twice = [Doc("a", f"{LONG}0."), Doc("b", f"  {LONG}0. \n"), Doc("c", "Contents")]
    assert [part.id for part in CorpusPassages(twice).at(0)[0].parts] == ["a"]


def test_nearest():
    """Rare words weigh more than common ones; what shares none is not near."""
    corpus = [
        Doc("rare", f"{LONG} zeppelin."),
        Doc("other", "Nothing of the kind stands anywhere in here."),
        *docs(5),
    ]
    nfd = unicodedata.normalize("NFD", "반품은 십사 일 안에 하며 그 뒤에는 받지 않는다. " * 2)
    corpus.append(Doc("nfd", nfd))
    assert [part.id for part in CorpusPassages(corpus).nearest("반품은 언제까지?", 3)] == ["nfd"]
    near = CorpusPassages(corpus).nearest("Which sentence has the zeppelin and a number?", 9)
    assert near[0].id == "rare"
    assert "other" not in {part.id for part in near}

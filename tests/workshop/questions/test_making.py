"""Questions from templates: how many of which kind, from which documents, none twice."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import product
from math import ceil

import pytest
import yaml
from hypothesis import given, strategies as st

from kragx import UsageError
from kragx.data.gold import Query
from kragx.workshop.questions import Template, make_questions, read_templates
from kragx.workshop.questions.question import Sieve
from kragx.workshop.questions.targets import TARGETS, Kinds
from tests.docs.support import Document
from tests.thoroughness import all_cases, examples

THINGS = (
    "ferry",
    "kettle",
    "parcel",
    "voucher",
    "carton",
    "invoice",
    "plan",
    "label",
    "repair",
    "loan",
)
DOCS = [
    {
        "id": f"d{n}",
        "text": f"The {thing} is old. The {thing} is blue.",
        "metadata": {"title": f"All of {thing} number {n}"},
    }
    for n, thing in enumerate(THINGS)
]


def templates(*texts, kind="lookup", difficulty="easy", **fields):
    """A template for each text."""
    return [Template(f"t{n}", kind, difficulty, text, **fields) for n, text in enumerate(texts)]


def counted(questions):
    """How many questions have each type, and each difficulty."""
    return [Counter(getattr(made, name) for made in questions) for name in TARGETS]


def test_shares():
    """100 questions of kragx's own templates have the target shares, and are all different."""
    result = make_questions(DOCS, n=100)
    types, difficulties = counted(result.questions)
    assert types == {"general_inquiry": 50, "legal_interpretation": 25, "similar_case": 25}
    assert difficulties == {"easy": 40, "medium": 40, "hard": 20}
    assert len({made.text for made in result.questions}) == 100
    assert max(Counter(made.made_by["template"] for made in result.questions).values()) <= 3
    uses = Counter(source for made in result.questions for source in made.sources)
    assert len(uses) == len(DOCS)
    assert result.notes == ()


@examples(200)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 60),
)
def test_shares_in_whole_numbers(types, difficulties, n):
    """Every type, and every difficulty, has at most its share rounded up, and none falls behind.

    Where shares are whole numbers, so are they.
    """
    targets = {
        name: {f"{letter}{i}": weight / sum(weights) for i, weight in enumerate(weights)}
        for name, letter, weights in zip(TARGETS, "td", (types, difficulties))
    }
    kinds = Kinds(targets, [*product(*targets.values())])
    for _ in range(n):
        kinds.count(kinds.next())
    for name, shares in targets.items():
        exact = {value: n * share for value, share in shares.items()}
        assert kinds.counts[name].total() == n
        assert all(kinds.counts[name][value] <= ceil(exact[value] - 1e-9) for value in shares)
        assert all(kinds.counts[name][value] > exact[value] - 1.5 for value in shares)


def test_existing():
    """What exists counts towards the shares and a template's most, and is not asked again."""
    first = make_questions(DOCS, n=20)
    existing = [made.query for made in first.questions]
    existing += [
        Query(f"q{n}", f"thing {n}?", query_type="general_inquiry", metadata={"difficulty": "hard"})
        for n in range(20)
    ]
    more = make_questions(DOCS, n=60, existing=existing)
    types, difficulties = counted(more.questions)
    assert types == {"general_inquiry": 20, "legal_interpretation": 20, "similar_case": 20}
    assert difficulties["hard"] == 0  # of 100, 24 are hard already
    uses = Counter(made.made_by["template"] for made in (*first.questions, *more.questions))
    assert max(uses.values()) <= 3
    assert not {made.text for made in first.questions} & {made.text for made in more.questions}
    assert "40 that there were" in str(more)


def test_existing_of_no_kind():
    """Questions that nobody has given a type or a difficulty do not bend the shares."""
    result = make_questions(DOCS, n=20, existing=[Query(f"q{n}", f"is it {n}?") for n in range(50)])
    types, difficulties = counted(result.questions)
    assert types == {"general_inquiry": 10, "legal_interpretation": 5, "similar_case": 5}
    assert difficulties == {"easy": 8, "medium": 8, "hard": 4}


def test_deterministic():
    """The same seed gives the same questions, another one others; ids come from the text."""
    one, same, other = (make_questions(DOCS, n=30, seed=seed).questions for seed in (1, 1, 2))
    assert one == same
    assert {made.text for made in one} != {made.text for made in other}
    ids = {made.text: made.uid for made in one}
    assert all(ids.get(made.text, made.uid) == made.uid for made in other)


def test_other_kinds():
    """Templates whose types have no target share have equal ones."""
    mine = templates("Is the {{ noun }} far?", kind="where")
    mine += [Template("u", "why", "easy", "Why is it a {{ noun }}?")]
    types, _ = counted(make_questions(DOCS, mine, 6).questions)
    assert types == {"where": 3, "why": 3}


def test_what_cannot_be_reached():
    """Too few templates: as many as there can be, and why not more."""
    result = make_questions(DOCS, templates("Is the {{ noun }} far?", kind="similar_case"), 10)
    assert len(result.questions) == 3
    assert result.notes == (
        "7 questions could not be made: a template makes 3 at most, 0 asked again what there is, "
        "and 0 copied too much",
    )


def test_needs():
    """A document without what a template needs does not fill it; an empty one makes nothing."""
    docs = [DOCS[0], {**DOCS[1], "metadata": {"kind": "case"}}]
    assert {
        made.sources
        for text in (
            "{{ kind }}: {{ noun }}",
            "{% if metadata.kind == 'case' %}{{ noun }}{% endif %}",
        )
        for made in make_questions(docs, templates(text), 3).questions
    } == {("d1",)}


def test_most_leak():
    """No question copies more than it may; one that can only copy is not made."""
    mine = templates("{{ heading }}", "Somewhere over green mountains, a {{ noun }}")
    result = make_questions(DOCS, mine, 6, most_leak=0.3)
    assert [made.made_by["template"] for made in result.questions] == ["t1"] * 3
    assert all(made.leak <= 0.3 for made in result.questions)
    assert result.mean_leak == pytest.approx(sum(made.leak for made in result.questions) / 3)


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        ("Where is the ferry?", "where  is THE ferry"),
        ("환불은 며칠 걸리나요?", unicodedata.normalize("NFD", "환불은 며칠 걸리나요")),
        ("반품 접수 기간이 궁금합니다.", "반품 접수 기간을 알려 주세요"),
        (
            "old blue steel ferry with kettle",
            "Is the old blue steel ferry with a kettle and the parcel?",
        ),
    ],
)
def test_asked_again(asked, again):
    """Marks, case, forms of Unicode, particles and a word more do not make a question new."""
    assert again in Sieve([asked])


@all_cases(
    ("asked", "new"),
    [
        ("Where is the ferry?", "Where is the kettle?"),
        ("환불 기간이 며칠인가요?", "배송 기간이 며칠인가요?"),
        ("old blue steel ferry with kettle", "old blue steel parcel with kettle"),
        ("", "!?"),
        ("ferry", "ferry and kettle"),
    ],
)
def test_asked_for_the_first_time(asked, new):
    """What is about something else is new, however alike the rest."""
    assert (new in Sieve([asked])) == (new == "!?")


@all_cases(
    ("options", "problem"),
    [
        ({"n": 0}, "n: 0 is not a whole number"),
        ({"most_per_template": 0}, "most_per_template: 0 is not"),
        ({"most_leak": 60}, "most_leak: 60 is no share; write 0.6 for 60%"),
        ({"targets": {"difficulty": {"easy": 40}}}, "difficulty.easy: 40 is no share"),
        ({"targets": {"category": {"a": 0.5}}}, "targets: unknown key 'category'"),
        ({"templates": templates("a", "b")[:1] * 2}, "'t0' stands twice"),
    ],
)
def test_wrong_options(options, problem):
    """Errors name the argument."""
    with pytest.raises(UsageError, match=problem):
        make_questions(DOCS, **options)


def test_hostile_values():
    """What stands in metadata stays text in a question, on one line, whatever it looks like."""
    docs = [{"id": "d", "text": "x.", "metadata": {"title": "{{ 7*7 }}\n{% raw %}\x1b[31m<b>"}}]
    (made, *_) = make_questions(docs, templates("[{{ heading }}]"), 1).questions
    assert made.text == "[{{ 7*7 }} {% raw %} [31m<b>]"


_WORDS = st.sampled_from(
    [
        "the ferry",
        "a gift card.",
        "환불은",
        "환불을",
        "반품 접수",
        "{{ x }}",
        "# A",
        "\n",
        "?!",
        "\x00",
        "ᄒ",
    ]
)
_TEXT = st.lists(_WORDS | st.text(max_size=4), max_size=12).map(" ".join)


@pytest.mark.integration
@examples(60)
@given(
    st.lists(st.tuples(_TEXT, st.dictionaries(st.sampled_from(["title", "other", "noun"]), _TEXT)))
)
def test_any_corpus(documents):
    """Whatever documents hold: questions on one line, no two the same, of known sources."""
    docs = [
        {"id": f"d{n}", "text": text, "metadata": metadata}
        for n, (text, metadata) in enumerate(documents)
        if text.strip()
    ]
    if not docs:
        return
    result = make_questions(docs, n=5)
    texts = [made.text for made in result.questions]
    assert all(text == " ".join(text.split()) and len(text) <= 500 for text in texts)
    assert len({made.uid for made in result.questions}) == len(texts) <= 5
    for made in result.questions:
        assert {*made.sources} <= {doc["id"] for doc in docs}
        assert made.leak is None or 0 <= made.leak <= 1
    assert make_questions(docs, n=5) == result
    assert str(result)


@pytest.mark.parametrize("name", ["docs/questions.md", "docs/questions.ko.md"])
def test_the_page(name):
    """The templates on the page are read, and make what the page says of them."""
    (block,) = (block for block in Document(name).blocks if block.language == "yaml")
    shown = read_templates(yaml.safe_load(block.text))
    docs = [
        {**doc, "metadata": {"doc_type": kind}} for doc, kind in zip(DOCS, ("case", "case", "faq"))
    ]
    texts = {made.text for made in make_questions(docs, shown, 4).questions}
    assert any(text.startswith("How do I return the ") for text in texts)
    assert any(text.startswith("Did anybody win over the ") for text in texts)


def test_large_corpus():
    """Of 3,000 documents a part is looked at, whatever the corpus is given as."""
    docs = {f"d{n}": f"The part{n} is old. The part{n} is new." for n in range(3000)}
    result = make_questions(docs, templates("Is the {{ noun }} far?", kind="general_inquiry"), 2)
    assert len(result.questions) == 2
    assert (
        make_questions(docs, templates("Is the {{ noun }} far?", kind="general_inquiry"), 2)
        == result
    )

"""Markup is left out of what is compared, and code stays."""

from __future__ import annotations

import html
import runpy
import time
import unicodedata

import pytest
from hypothesis import given, strategies as st

from kragx.metrics.spans.reading import plain, reading, without_markup
from tests.docs.support import ROOT
from tests.thoroughness import USUAL, all_cases, examples

CODE = [
    "List<String> names = new ArrayList<>();",
    "if (a < b and c > d)",
    "if a<b and c>d:",
    "def f(*args, **kwargs): return g(**kwargs)",
    "#include <stdio.h>\n#include <map>",
    "snake_case_name and __init__",
    "argv[1]",
    "return values[1]",
    "the value of xs[994] is read when the loop has come to its end",
    "Each of a[1] and myList[2] and row_of[3] holds what the caller has given to it",
    "    the rows[1] of all the columns that were read before are kept",
    "# the rows[1] of all the columns that were read before are kept",
    "where rows[1] * 2 is more than all of the others together",
    "call first(rows[1]) of what was read before this",
    "argv[0] holds the name of the program as it was called by somebody",
    "unsigned char path[104]; unsigned int size",
    "what [12] and [994] say",
    '[["a", [1] ], [2]]',
    "x = values[1] + b[2]",
    "table[i](x), ab[1](2), f(x)[0], x[0][1]",
    "[&](int x) { return x; }",
    "Map<String, Integer>, Vec<Option<T>>, vector<object>, set<label>, Foo<S>",
    "std::cout<<x; cin >> y; a &= b && c",
    "2**3**2, a*b*c, char **p, **q; 5 * 3 * 2",
    '{"a": [1], "b": [2, 3]}',
    "km² and 10⁻³ and x²",
    "`<b>` and `[a](http://x.y)` are code",
    '```\n<div class="x">[1]</div>\n```',
    "[^0-9]+ matches https://a.b/c?x=1&y=2",
    "kragx run <config>",
    "[[ -f x ]] || a[[1,2]]",
    "pre- and post-war, two- or three-fold",
    "template<class T> void f(T t)",
]

MARKUP = {
    "[서울](https://ko.example.org/A_(B))은 **수도**이다.[1]": "서울은 수도이다.",
    "see [docs](a/b.md) and ![map](x.png 'Map')": "see docs and map",
    "[![alt](i.png)](https://x.y)": "alt",
    "[[대한민국|한국]]은 [[서울]]이": "한국은 서울이",
    "`서울`은 ~~수도~~가": "서울은 수도가",
    "수도[1][2]는 정책²은 말[출처 필요]이다": "수도는 정책은 말이다",
    "The policy¹ was kept, they say.[12] So": "The policy was kept, they say. So",
    "The capital[1] of the country is in the north[2][3], they say.": (
        "The capital of the country is in the north, they say."
    ),
    "word.[^1] Next": "word. Next",
    "the capital[12] of Korea": "the capital of Korea",
    "In 1919[12] it was 4,5[3] or 5%[4] there; so they say.": (
        "In 1919 it was 4,5 or 5% there; so they say."
    ),
    "The old-town[1] of the EU[2] (north)[3] is there": "The old-town of the EU (north) is there",
    "It was in 1919.[12] So they say,[3] too": "It was in 1919. So they say, too",
    "La société[1] des maïs[2] est là": "La société des maïs est là",
    "infor-\nmation and infor- mation": "information and information",
    "H<sub>2</sub>O, m<sup>2</sup>, capital<sup>3</sup>, word<sup>[3]</sup>": (
        "H2O, m², capital, word"
    ),
    "<b>정책</b>은 <i>길</i>고": "정책은 길고",
    "AT&amp;T &lt;b&gt; &#39;x&#39; &nosuch;": "AT&T <b> 'x' &nosuch;",
    "vector&lt;int&gt;": "vector<int>",
}


@all_cases("text", CODE)
def test_code_stays(text):
    """Nothing of code is left out."""
    assert without_markup(text) == text


@all_cases(("text", "seen"), MARKUP.items())
def test_by_hand(text, seen):
    """What a reader sees."""
    assert without_markup(text) == seen


@pytest.mark.integration
def test_indices_stay_and_citation_marks_go(monkeypatch):
    """Of the standard library's indices 1 in 200 at most is taken for a mark; of marks most go."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = runpy.run_path(str(ROOT / "examples" / "citation_marks.py"))
    left_out, words = example["left_out"], example["cited"](example["prose"]("en"))
    wrong, n_indices = left_out(example["code"]())
    assert n_indices > 2000  # Debian leaves a half of the library out, such as its own tests
    assert wrong <= n_indices / 200
    whole = " ".join(words)
    chunks = [whole[start : start + 300] for start in range(0, len(whole), 300)]
    gold = [" ".join(words[start : start + 5]) for start in range(0, len(words), 5)]
    for texts, least in ((chunks, 0.85), (gold, 0.95)):
        right, n_marks = left_out(texts)
        assert n_marks > 300
        assert right >= least * n_marks


def test_pages():
    """Tags of blocks are white space; comments, scripts and styles go with what they hold."""
    page = (
        '<!DOCTYPE html><style>p {color: red}</style><p class="a">One<br/>two</p>'
        "<script>var x = 1</script><!-- no --><ul><li>three<li>four</ul>"
    )
    assert without_markup(page).split() == ["One", "two", "three", "four"]


def test_cut_by_a_chunk():
    """A tag or link that the end of a chunk cuts is left out, as far as it is there."""
    assert without_markup('읽기 <a href="https://exa').strip() == "읽기"
    assert without_markup('ample.org" title="x">서울</a>은') == "서울은"
    assert without_markup("see [the docs](https://exam") == "see the docs"


@examples(USUAL)
@given(st.text(st.characters(exclude_characters="<[*`~&-¹²³⁴⁵⁶⁷⁸⁹\xad‐\\")))
def test_plain_texts(text):
    """A text without any of the characters that make markup is itself, the same object."""
    assert plain(text) is text


@examples(USUAL)
@given(
    st.lists(
        st.sampled_from(
            ["서", "²", "³", "[1]", "[각주 2]", "**강조**는", "é", "- ", "-\n", " ", "."]
        )
    ).map("".join)
)
def test_the_unicode_form_changes_nothing(text):
    """Markup is left out of Hangul in single letters (NFD, as macOS writes) as of whole ones."""
    decomposed = plain(unicodedata.normalize("NFD", text))
    assert unicodedata.normalize("NFC", decomposed) == unicodedata.normalize("NFC", plain(text))


@examples(2 * USUAL)
@given(st.text("<>/[]()*`~&;-\n ¹²ab서12=\"'^!#:.", max_size=60))
def test_any_text(text):
    """Any mixture of marks is read, and no letter comes out that was not there."""
    assert set(without_markup(text)) <= set(html.unescape(text) + text + " ⁰¹²³⁴⁵⁶⁷⁸⁹")


@pytest.mark.integration
@pytest.mark.parametrize(
    "unit",
    [
        "<a ",
        "[",
        "`",
        "*",
        '<a href="',
        "[a](",
        "](",
        "<sup>",
        "<!--",
        "<script>",
        "[[",
        "[1]",
        "<a b=c ",
        "`a ",
        "**a",
        "<x></",
        "<b>",
        "~~a",
        "a-\n",
        "[a][b",
        "&a",
        "¹,",
    ],
)
def test_time_is_linear(unit):
    """Ten times as many marks that nothing ends take about ten times as long, not a hundred."""

    def seconds(times: int) -> float:
        spent = []
        for _ in range(3):
            start = time.process_time()
            without_markup(unit * times)
            spent.append(time.process_time() - start)
        return min(spent)

    assert seconds(20_000) < 40 * max(seconds(2_000), 0.001)


def test_reading_for_spans():
    """Wrappers and markup both go; a budget, which counts what a model reads, keeps markup."""
    text = "<Document id='3'>**서울**은 [수도](https://x.y)</Document>"
    assert reading(text) == "서울은 수도"
    assert reading(text, markup=True) == "**서울**은 [수도](https://x.y)"

"""The page of many retrievers: columns, lists side by side, files, links, keys, screen readers."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import unicodedata
from pathlib import Path

import pytest

from kragx import Gold, GoldDataset, Query, Run, evaluate, write_html
from kragx.comparison import Settings
from tests.accessibility import violations
from tests.browser import expect, until

N = 30
RETRIEVERS = [f"{kind}-{size}" for kind in ("bm25", "dense", "hybrid") for size in range(N // 3)]
SYLLABLES = "가나다라마바사아자차카타파하고노도로모보소오조초"
FORMULA = '=HYPERLINK("http://example.invalid";"눌러")'


def gold_of(n):
    """Questions of two types; one is written in pieces (NFD), one would be a formula."""
    rng = random.Random(0)
    texts = [
        f"{number}번 규정 " + " ".join("".join(rng.choices(SYLLABLES, k=3)) for _ in range(9))
        for number in range(n)
    ]
    queries = [
        Query(f"q{number}", f"{text}?", (Gold(f"d{number}", text),), query_type="ab"[number % 2])
        for number, text in enumerate(texts)
    ]
    names = {1: unicodedata.normalize("NFD", "환불 기한은 언제까지인가요?"), 2: FORMULA}
    for number, text in names.items():
        if number < n:
            queries[number] = Query(f"q{number}", text, queries[number].gold, query_type="b")
    return GoldDataset(tuple(queries), name="사내 규정 / v2")


def run_of(name, gold, skill):
    """What a retriever finds, which has so much skill; documents carry metadata."""
    rng = random.Random(name)
    lists = {}
    for number, query in enumerate(gold):
        found = [rng.randrange(len(gold)) for _ in range(5)]
        if rng.random() < skill:
            found[rng.randrange(5)] = number
        lists[query.id] = [
            {
                "id": f"d{document}",
                "text": gold[f"q{document}"].gold[0].text,
                "metadata": {
                    "source": f"규정/{document % 3}.pdf",
                    "page": document,
                    "path": ["1장", "2절"],
                    "note": f"<img src=x onerror='window.stolen = 1'>\u202e{'길게 ' * 200}",
                },
            }
            for document in found
        ]
    return Run.from_documents(lists, name=name)


def written(path, n_retrievers, n_questions):
    """The page of so many retrievers: the later, the better."""
    gold = gold_of(n_questions)
    names = RETRIEVERS[:n_retrievers]
    runs = {
        name: run_of(name, gold, (place + 1) / (len(names) + 1)) for place, name in enumerate(names)
    }
    metrics = ["ndcg@5", "recall@5", "hit_rate@1"]
    evaluations = [evaluate(gold, run, metrics=metrics) for run in runs.values()]
    write_html(evaluations, path, runs=runs, settings=Settings(resamples=200))
    return path


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """The path of the page of thirty."""
    return written(tmp_path_factory.mktemp("many") / "report.html", N, 40)


@pytest.fixture(scope="session")
def few(tmp_path_factory):
    """The path of the page of one retriever and three questions."""
    return written(tmp_path_factory.mktemp("few") / "report.html", 1, 3)


def heads(page):
    """The names above the columns of questions, from the left."""
    names = page.locator("#head th.v bdi").all_inner_texts()
    return [name.replace("\n", "") for name in names]


def choose(page, *names):
    """Show these retrievers alone."""
    page.click("#chooser-title")
    page.click("#columns-pair")
    for name in names:
        page.click(f".chooser label:has(bdi:text-is('{name}'))")
    page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_question_has_room_beside_thirty_retrievers(opened, many, width):
    """Its column is wide enough to be read, and stays where it is when all are shown."""
    page = opened(path=many, width=width)
    least = 260 if width > 640 else 130
    question = page.locator("#head th.q")
    assert question.bounding_box()["width"] >= least
    assert len(heads(page)) >= 2
    page.click("#chooser-title")
    page.click("#columns-all")
    page.keyboard.press("Escape")
    assert len(heads(page)) == N
    assert question.bounding_box()["width"] >= least
    page.evaluate("document.getElementById('scroller').scrollLeft = 1e6")
    box, scroller = question.bounding_box(), page.locator("#scroller").bounding_box()
    assert box["x"] - scroller["x"] < 3
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0


def test_the_best_come_first_and_the_reader_chooses(opened, many):
    """In columns, table and figures; ticked ones are shown everywhere, at least one."""
    page = opened(path=many)
    means = page.locator(".metrics tbody td.chosen .number").all_inner_texts()
    values = [float(text.split()[-1]) for text in means]
    assert len(values) == N
    assert values == sorted(values, reverse=True)
    order = page.locator(".metrics tbody th bdi").all_inner_texts()
    assert heads(page) == [name for name in order if name in heads(page)]
    assert page.inner_text("#chooser-title") == f"Columns: {len(heads(page))} of 30 retrievers"
    choose(page, "dense-0")
    assert len(heads(page)) == 3
    assert heads(page)[2:] == ["dense-0"]  # behind the best and the next best, which were compared
    assert heads(page)[:2] == order[:2]
    assert page.locator(".metrics >> nth=0").locator("thead th").count() == 4
    assert page.locator("#figure-scores .small-multiple").count() == 3
    # The last one ticked cannot be taken away.
    page.click("#chooser-title")
    for box in page.locator(".chooser fieldset >> nth=0").locator("input:checked").all()[::-1]:
        page.click(f"#{box.get_attribute('id')}")
    assert len(heads(page)) == 1
    page.click("#columns-best")
    assert len(heads(page)) > 3
    for name in ("recall@5", "hit_rate@1"):
        page.click(f".chooser label:has-text('{name}')")
    assert page.locator(".metrics >> nth=0").locator("thead th").count() == 2


def test_no_two_retrievers_look_alike(opened, many):
    """Thirty pairs of colour and shape, thirty letters; each colour stands out by 3 to 1."""
    for theme in ("light", "dark"):
        page = opened(path=many, theme=theme)
        looks = page.evaluate(
            """() => [...document.querySelectorAll(".metrics tbody th .series")].map((series) => {
              const marker = series.querySelector(".marker"), own = marker.cloneNode();
              const shape = own.getAttribute("d") || own.tagName;
              return [getComputedStyle(marker).fill, shape, series.textContent];
            })"""
        )
        assert len(looks) == N
        assert len({(fill, shape) for fill, shape, _ in looks}) == N
        assert len({letter for _, _, letter in looks}) == N
        behind = page.evaluate(
            "getComputedStyle(document.querySelector('.scroll')).backgroundColor"
        )
        assert min(contrast(fill, behind) for fill, _, _ in looks) >= 3


def contrast(one, other):
    """The contrast of two colours as CSS writes them, by the formula of WCAG 2."""
    lights = []
    for colour in (one, other):
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    return max(lights) / min(lights)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
def test_search_takes_forms_of_a_text_for_the_same(opened, many, form):
    """Hangul in pieces or not, letters wide or not, more or less white space."""
    page = opened(path=many)
    for wanted, found in (("환불  기한은", "q1"), ("ＨＹＰＥＲＬＩＮＫ", "q2")):
        page.fill("#search", unicodedata.normalize(form, wanted))
        assert page.locator("#rows td.q small bdi").all_inner_texts() == [found]


def saved(page, button):
    """The text of the file that a button saves, its name, and what the page says, for a moment."""
    with page.expect_download() as waited:
        page.click(button)
        said = page.inner_text("body > .said")
    download = waited.value
    return Path(download.path()).read_bytes(), download.suggested_filename, said


def test_what_is_filtered_is_saved(opened, many):
    """CSV as Excel takes it, with no formula, and JSON with every metric; only what is left."""
    page = opened(path=many)
    page.select_option("#slice", label="query_type: b")
    choose(page, "dense-0")
    content, filename, said = saved(page, "#csv")
    assert filename == "사내-규정-v2-ndcg@5.csv"
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    shown = heads(page)
    assert list(rows[0])[:3] == ["query_id", "query", "query_type"]
    assert [name for name in rows[0] if name.endswith(": ndcg@5")] == [
        f"{name}: ndcg@5" for name in shown
    ]
    ids = [f"q{number}" for number in range(40) if number % 2 or number == 2]
    assert [row["query_id"] for row in rows] == ids
    assert {row["query_type"] for row in rows} == {"b"}
    by_id = {row["query_id"]: row for row in rows}
    assert by_id["q1"]["query"] == "환불 기한은 언제까지인가요?"  # in one piece
    assert by_id["q2"]["query"] == f"'{FORMULA}"
    assert "3 retrievers" not in said
    assert "21 questions" in said
    content, filename, _ = saved(page, "#json")
    assert filename.endswith(".json")
    document = json.loads(content)
    assert document["filters"]["slice"] == "query_type: b"
    assert (document["n"], document["of"]) == (21, 40)
    first = document["questions"][0]
    assert first["query_id"] == "q1"
    assert set(first["retrievers"]) == set(RETRIEVERS)
    best = shown[0]
    assert set(first["retrievers"][best]["metrics"]) == {"ndcg@5", "recall@5", "hit_rate@1"}
    for row, question in zip(rows, document["questions"], strict=True):
        value = question["retrievers"][best]["metrics"]["ndcg@5"]
        assert float(row[f"{best}: ndcg@5"]) == value
        rank = question["retrievers"][best]["rank"]
        assert row[f"{best}: rank"] == ("" if rank is None else str(rank))


def test_a_link_opens_what_was_seen(opened, many):
    """Columns, filters, order, lists and question: a fresh tab shows the same."""
    page = opened(path=many)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.select_option(".controls select", label="hit_rate@1")
    choose(page, "dense-3")
    page.select_option("#b", label="dense-3")
    page.select_option("#slice", label="query_type: b")
    page.fill("#search", "규정")
    page.click("button[data-sort='13']")
    page.click("#rows tr[data-at='1']")
    page.wait_for_selector("dialog .card")
    page.click(".all-retrievers button:has(bdi:text-is('hybrid-2'))")
    page.wait_for_selector(".sides.many")
    page.click("#copy-question")
    page.wait_for_selector("dialog .said:has-text('The link is copied')")
    link = page.evaluate("navigator.clipboard.readText()")
    expect(page).to_have_url(link)

    def seen(page):
        lists = page.locator("dialog .list select option:checked").all_inner_texts()
        title = page.inner_text("#detail-title")
        page.keyboard.press("Escape")
        page.wait_for_selector("#detail", state="hidden")
        until(page, "!location.hash.includes('q=')")  # the way back is over
        ids = page.locator("#rows td.q small bdi").all_inner_texts()
        inputs = [page.input_value(f"#{name}") for name in ("search", "a", "b", "slice")]
        return lists, title, heads(page), ids, inputs, page.input_value(".controls select")

    other = opened(path=many)
    other.goto("about:blank")
    other.goto(link)
    other.wait_for_selector("dialog .sides.many")
    told = seen(other)
    assert told == seen(page)
    assert len(told[0]) == 3
    assert "hybrid-2" in told[0]
    # A changed address in the same tab, too; what the page lacks is said.
    other.evaluate("location.hash = 'q=q7&retriever=bm25-1&retriever=gone'")
    other.wait_for_selector("dialog .card")
    assert "names what this report lacks: gone" in other.inner_text("dialog .said")
    other.keyboard.press("Escape")
    other.wait_for_selector("#detail", state="hidden")
    assert heads(other) == ["bm25-1"]
    assert other.input_value("#search") == ""


def test_a_link_is_shown_where_it_cannot_be_copied(opened, many):
    """A browser that forbids the clipboard leaves the link to be copied by hand."""
    page = opened(path=many)
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('no')))")
    page.fill("#search", "환불")
    page.click("#copy-page")
    page.wait_for_selector("body > .said:has-text('#search=')")


def test_lists_stand_side_by_side(opened, many):
    """More than two are added and taken away, each in its colour; the dialog stays as wide."""
    page = opened(path=many)
    page.click("#rows tr[data-at='3']")
    page.wait_for_selector("dialog .card")
    free = page.locator(".all-retrievers button[aria-pressed='false']")
    for count in (3, 4, 5):
        free.first.click()
        expect(page.locator("dialog .list")).to_have_count(count)
    colours = page.eval_on_selector_all(
        "dialog .list select", "all => all.map((each) => getComputedStyle(each).borderLeftColor)"
    )
    assert len(colours) == 5
    assert page.locator("dialog .gold .ranks >> nth=0").locator("li").count() == 5
    inner = "(d => d.scrollWidth - d.clientWidth)(document.getElementById('detail'))"
    assert page.evaluate(inner) == 0
    page.evaluate("document.querySelector('.sides').scrollLeft = 1e6")
    gold, sides = (page.locator(css).bounding_box() for css in (".side.gold", ".sides"))
    assert gold["x"] - sides["x"] < 30
    page.locator("dialog .away").first.click()
    expect(page.locator("dialog .list")).to_have_count(4)
    page.keyboard.press("j")  # the others stay for the next question
    page.wait_for_selector("#detail-title:has-text('4번')")
    assert page.locator("dialog .list").count() == 4


def test_metadata_is_folded_bounded_and_no_markup(opened, many):
    """Behind a summary that names the first fields; long texts are cut, and it says so."""
    page = opened(path=many)
    page.click("#rows tr[data-at='0']")
    page.wait_for_selector("dialog .card")
    metadata = page.locator("dialog .metadata").first
    assert metadata.locator("summary").inner_text() == "Metadata source, page …"
    assert not metadata.locator("dl").is_visible()
    metadata.locator("summary").click()
    terms = metadata.locator("dt").all_inner_texts()
    assert terms == ["source", "page", "path", "note"]
    source, number, path, note = metadata.locator("dd").all_inner_texts()
    assert source.startswith("규정/")
    assert number.isdigit()
    assert json.loads(path) == ["1장", "2절"]
    assert note.startswith("<img src=x onerror='window.stolen = 1'>U+202E")
    assert "more characters are not in this file" in note
    assert page.evaluate("window.stolen") is None


@pytest.mark.parametrize(
    ("names", "language", "theme", "width"),
    [
        (("report", "few", "many"), "en-US", "light", 1440),
        (("combined", "many"), "ko-KR", "dark", 1024),
        (("report", "many"), "ko-KR", "light", 390),
    ],
)
def test_axe_finds_nothing(opened, request, names, language, theme, width):
    """No breach of WCAG A and AA on the pages, with the columns' choice open, in a question."""
    many = request.getfixturevalue("many")
    for path in map(request.getfixturevalue, names):
        page = opened(path=path, language=language, theme=theme, width=width)
        assert violations(page) == []
        if page.locator("#chooser-title").count():
            page.click("#chooser-title")
            assert violations(page, "#chooser") == []
            page.keyboard.press("Escape")
        page.click("#rows tr[data-at='1']")
        page.wait_for_selector("dialog .card")
        if path == many:
            page.locator(".all-retrievers button[aria-pressed='false']").first.click()
            page.wait_for_selector(".sides.many")
        for summary in page.locator("dialog details:not([open]) > summary").all()[:2]:
            summary.click()
        # Of what is scrolled out of two boxes axe does not find the place, and gives up.
        page.evaluate(
            "document.querySelectorAll('dialog, .sides').forEach((own) => own.scrollTo(0, 0))"
        )
        assert violations(page, "dialog") == []


def test_every_control_is_reached_by_keyboard_and_seen(opened, few, many):
    """Tab goes through all controls, and each is outlined while it has the focus."""
    for path in (few, many):
        page = opened(path=path)
        wanted = page.evaluate(
            "[...document.querySelectorAll('button, select, input, summary, [tabindex=\"0\"]')]"
            ".filter((own) => own.checkVisibility() && !own.disabled && own.tabIndex >= 0"
            " && !own.closest('dialog')).length"
        )
        reached = page.evaluate("window.reached = new Set(), 0")
        for _ in range(wanted + 5):
            page.keyboard.press("Tab")
            outlined = page.evaluate(
                "(() => { const own = document.activeElement; if (own === document.body) return 1;"
                " window.reached.add(own); const style = getComputedStyle(own);"
                " return parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== 'none'; })()"
            )
            assert outlined, page.evaluate("document.activeElement.outerHTML")
        reached = page.evaluate("window.reached.size")
        assert reached >= wanted


def test_the_skip_link_leads_to_the_questions(opened, many):
    """First in the order of Tab; it changes nothing of what is chosen."""
    page = opened(path=many)
    choose(page, "dense-0")
    page.evaluate("document.activeElement.blur(), document.getElementById('skip').focus()")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the questions"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "search"
    assert "dense-0" in heads(page)
    expect(page).to_have_url(re.compile("retriever=dense-0"))


def test_tables_say_what_they_are(opened, many):
    """Each has a name and heads with a scope; what changes is said in a live region."""
    page = opened(path=many)
    tables = page.evaluate(
        "[...document.querySelectorAll('table')].map((table) =>"
        " [document.getElementById(table.getAttribute('aria-labelledby'))?.textContent,"
        "  [...table.querySelectorAll('th')].every((head) => head.scope)])"
    )
    assert len(tables) == 3
    assert all(named and scoped for named, scoped in tables)
    assert page.get_attribute("#count", "role") == "status"
    page.fill("#search", "환불")
    assert page.inner_text("#count") == "1 of 40 questions"


def test_escape_closes_what_is_open(opened, many):
    """The choice of columns, with the focus back where it was opened; then the question."""
    page = opened(path=many)
    page.click("#chooser-title")
    page.locator(".chooser input").first.focus()
    page.keyboard.press("Escape")
    assert not page.locator(".chooser-body").is_visible()
    assert page.evaluate("document.activeElement.id") == "chooser-title"
    page.click("#chooser-title")
    page.click("h1")
    assert not page.locator(".chooser-body").is_visible()
    page.click("#rows tr[data-at='2']")
    page.wait_for_selector("dialog .card")
    page.keyboard.press("Escape")
    page.wait_for_selector("#detail", state="hidden")
    expect(page.locator("#rows tr[data-at='2']")).to_be_focused()


def test_axe_sees_what_is_wrong(opened, few):
    """A control without a name and letters that are hard to read are breaches."""
    page = opened(path=few)
    page.evaluate(
        "document.querySelector('#main').insertAdjacentHTML('beforeend',"
        " '<button></button><p id=pale>pale letters</p>');"
        "document.getElementById('pale').style.color = '#bbbbbb'"
    )
    assert {rule for rule, *_ in violations(page)} == {"button-name", "color-contrast"}

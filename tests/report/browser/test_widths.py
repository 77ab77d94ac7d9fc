"""The table of questions in narrow windows, and whom it compares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kragx import Gold, GoldDataset, Query, Retrieved, Run, evaluate

LANGUAGES = ["en-US", "ko-KR"]
WIDTHS = [320, 390, 600, 700, 1280]


def document(number, text):
    """A document of the sources that gold comes from."""
    return {"id": f"d{number}", "text": text, "metadata": {"source": f"rules-{number % 7}"}}


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """The path of a report on four retrievers that miss gold in every way; the first is weakest."""
    queries, lists = [], {name: {} for name in ("weak", "middling one", "best", "failing")}
    for at in range(24):
        text = f"A customer may ask for repair number {at} within {at + 3} days of the order"
        own = Gold(text=text, metadata={"source": f"rules-{at % 7}"})
        queries.append(Query(f"question-{at:02}", f"Within how many days is repair {at}?", (own,)))
        near = " ".join(text.split()[3:9])
        ways = [
            [document(at, "Another passage of the same rules on delivery and returns")],
            [document(at + 1, f"Some say: {near} and so forth, though nobody knows why or when")],
            [document(at + 1, "nothing of the kind")],
            [],
        ]
        for number, answers in enumerate(lists.values()):
            is_hit = (at + number) % 4 < number + 1
            hit = [document(at + 1, "first"), document(at, text)][at % 2 :]
            answers[f"question-{at:02}"] = hit if is_hit else ways[(at // 4 + number) % 4]
    gold, runs = GoldDataset(tuple(queries)), {}
    for number, (name, answers) in enumerate(lists.items()):
        run = Run.from_documents(answers, name=name)
        results = {
            query_id: replace(own, seconds=0.0123 * (number + 1) * (1 + (place % 5) / 9))
            for place, (query_id, own) in enumerate(run.results.items())
        }
        if name == "failing":
            results |= dict.fromkeys(list(results)[:5], Retrieved(error="TimeoutError: 30 s"))
        runs[name] = replace(run, results=results)
    metrics = ["recall@5", "ndcg@5", "seconds_p50"]
    path = tmp_path_factory.mktemp("several") / "report.html"
    evaluate(gold, runs, metrics=metrics).report(path)
    return path


CUT = """() => {
  const frame = document.getElementById("scroller").getBoundingClientRect(), cut = [];
  const rows = [...document.querySelectorAll("#rows tr[data-at]")];
  const isOut = (box) => box.left < frame.left - 1 || box.right > frame.right + 1;
  for (const part of document.querySelectorAll("#head th, #rows td.v, #rows td.lead")) {
    if (!part.offsetWidth) continue;
    const words = document.createRange();
    words.selectNodeContents(part);
    const text = words.getBoundingClientRect(), own = part.getBoundingClientRect();
    const isCut = text.left < own.left - 1 || text.right > own.right + 1;
    if (isOut(own) || isCut) cut.push(part.innerText);
    const isBroken = /\\d\\n\\d/.test(part.innerText);
    if (isBroken || text.height > own.height) cut.push(part.innerText);
  }
  for (const row of rows) {
    const chips = [...row.querySelectorAll(".chip")].filter((chip) => chip.offsetWidth);
    const [chip] = chips, box = chip?.getBoundingClientRect();
    const end = (chip?.closest("small") || row).getBoundingClientRect().bottom;
    if (chips.length !== 1 || isOut(box) || box.bottom > end + 1) cut.push(row.innerText);
    else if (chip.scrollWidth > chip.clientWidth) cut.push(chip.innerText);
  }
  return rows.length ? cut : ["no rows"];
}"""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("metric", ["recall@5", "ndcg@5", "seconds_p50"])
def test_values_lead_and_reason_are_seen_whole(opened, several, language, width, metric):
    """Whatever the window's width, no row cuts them, nor needs to be moved sideways for them."""
    page = opened(path=several, width=width, language=language)
    page.select_option(".controls select", label=metric)
    assert page.evaluate(CUT) == []
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_questions_compare_those_of_the_verdict(opened, several, width):
    """The leader and the one whose distance the verdict says, whoever came first or is baseline."""
    page = opened(path=several, width=width)
    chosen = [page.locator(f"#{side} option:checked").inner_text() for side in "ab"]
    pair = page.locator(".verdict .both .retriever").all_inner_texts()
    assert chosen == pair == ["best", "middling one"]


def test_the_verdict_stays_within_its_card(opened, several):
    """In a window of 320 pixels, too."""
    page = opened(path=several, width=320)
    card = page.locator(".verdict").bounding_box()
    for part in page.locator(".figure-number > *").all():
        box = part.bounding_box()
        assert box["x"] + box["width"] <= card["x"] + card["width"]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_letter_of_a_figure_leaves_its_drawing(opened, several, width):
    """Values beside the dots, names and ticks are whole."""
    page = opened(path=several, width=width)
    outside = page.eval_on_selector_all(
        "figure svg[role=img] text",
        """all => all.filter((text) => {
            const own = text.getBoundingClientRect();
            const room = text.closest("svg").getBoundingClientRect();
            return own.right > room.right + 1 || own.left < room.left - 1;
        }).map((text) => text.textContent)""",
    )
    assert outside == []

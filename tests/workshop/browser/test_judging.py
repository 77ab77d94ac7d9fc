"""Judging in a browser: keys, the input method, evidence."""

import pytest

from kragx.workshop import services
from tests.browser import expect, until
from tests.workshop.browser.conftest import QUESTIONS, TEXTS, shop, withheld
from tests.workshop.serving import serving

READ = 400  # ms: longer than what counts as a double click


def pair(page):
    """The question and the passage that are shown."""
    return page.inner_text("#question"), page.inner_text(".passage .text")


def judge(page, act):
    """Let somebody read, and press a key or do something else; then the next pair stands there."""
    before = pair(page)
    page.wait_for_timeout(READ)
    if isinstance(act, str):
        page.keyboard.press(act)
    else:
        act()
    until(
        page,
        "([q, d]) => document.querySelector('.judge.over') || "
        "document.querySelector('#question').innerText !== q || "
        "document.querySelector('.passage .text').innerText !== d",
        list(before),
    )
    return before


def settled(page):
    """Everything that was said has arrived."""
    until(
        page,
        "() => !Object.keys(localStorage).some((key) => key.startsWith('kragx:') "
        "&& key.split(':').length === 3)",
    )


def said(served, name="김판정"):
    """What an annotator has said, oldest first, as (kind, grade)."""
    served.desk.state.refresh()
    person = services.people.annotator(served.desk, name)
    return [(row.kind, row.grade) for row in served.desk.state.history.get(person.uid, ())]


@pytest.fixture
def page(visit, served):
    """The page of an annotator."""
    return visit(served, served.annotator("김판정"))


def test_ten_seconds_suffice_to_judge_with_keys(page, served):
    """Digits grade and go on, s puts off, x is unusable, and u takes back what came last."""
    assert page.locator(".first p").count() == 2
    first = judge(page, "2")
    assert page.locator(".first").count() == 0
    judge(page, "s")
    judge(page, "x")
    last = judge(page, "3")
    judge(page, "u")
    assert pair(page) == last
    settled(page)
    assert said(served) == [("grade", 2), ("later", None), ("unusable", None)]
    assert first[0] in QUESTIONS
    assert first[1] in TEXTS.values()


def marks(served):
    """The marks of all people that count, as (name, kind, why, note)."""
    state = served.desk.state
    state.refresh()
    rows = [row for people in state.marked.values() for row in people]
    return sorted((state.people[r.person].name, r.kind, r.why, r.note) for r in rows)


def test_what_must_not_be_shown_is_marked_beside_the_grade(visit, page, served):
    """A key, a kind and a note; the pair stays and is graded; u takes back the mark, as a button.

    The other person sees nothing of it, and marks for a reason of their own.
    """
    caution = page.locator(".shown > .caution").last
    shown = pair(page)
    page.wait_for_timeout(READ)
    page.keyboard.press("f")
    page.keyboard.press("ArrowDown")
    page.fill("dialog textarea", "작년 가격표")
    page.locator("dialog textarea").press("Tab")
    page.keyboard.press("Enter")
    settled(page)
    assert pair(page) == shown
    assert "여기에 나오면 안 됨: 예전 것(stale) · 작년 가격표" in page.inner_text(".shown")
    assert marks(served) == [("김판정", "forbidden", "stale", "작년 가격표")]
    other = visit(served, served.annotator("이판정"))
    assert "나오면 안 됨" not in other.inner_text("main")
    other.wait_for_timeout(READ)
    other.click(".tool:has-text('노출 금지')")
    other.check("dialog input[value='']")
    other.fill("dialog input[maxlength='100']", "광고")
    other.click("dialog button.primary")
    settled(other)
    assert [row[2] for row in marks(served)] == ["stale", "광고"]
    page.keyboard.press("u")
    until(page, "() => document.querySelector('.last').innerText === '↶ 되돌렸습니다.'")
    settled(page)
    assert caution.is_hidden()
    assert [row[2] for row in marks(served)] == ["광고"]
    page.wait_for_timeout(READ)
    page.keyboard.press("f")
    page.click("dialog button.primary")
    page.keyboard.press("f")
    page.click("dialog button:has-text('표시 거두기')")
    settled(page)
    assert [row[1] for row in marks(served) if row[0] == "김판정"] == ["allowed", "forbidden"]
    judge(page, "0")
    settled(page)
    assert said(served) == [("grade", 0)]


def test_an_odd_question_goes_to_the_owner_and_another_comes(visit, page, served):
    """A key or a button, a line of why; the owner reads it beside the question."""
    question, _ = pair(page)
    page.wait_for_timeout(READ)
    page.keyboard.press("o")
    page.fill("dialog textarea", "무엇을 돌려보내는지?")
    judge(page, lambda: page.click("dialog button.primary"))
    assert pair(page)[0] != question
    settled(page)
    assert said(served) == [("later", None)]
    owner = visit(served)
    assert owner.inner_text("nav .count") == "1"
    owner.click("nav a[href$='questions']")
    row = owner.locator("tr", has_text=question)
    assert "김판정: 질문이 이상합니다. 무엇을 돌려보내는지?" in row.inner_text()
    assert owner.locator("tr", has_text="질문이 이상합니다").count() == 1


def test_progress_and_questions_in_words_that_cannot_be_misread(visit, served):
    """Types in Korean, questions with an answer beside pairs, no percentage of a few pairs."""
    kim = visit(served, served.annotator("김판정"))
    judge(kim, "3")
    settled(kim)
    kim.click("nav a[href$='questions']")
    kim.wait_for_selector("#rows")
    assert "옮긴 단어" not in kim.inner_text("main")
    owner = visit(served)
    owner.click("nav a[href$='questions']")
    owner.click("tr button:has-text('고치기')")
    kinds = owner.locator("dialog select").first
    assert {"일반 문의", "법령 해석", "문의"} <= set(kinds.locator("option").all_inner_texts())
    kinds.select_option("similar_case")
    owner.click("dialog button.primary")
    owner.wait_for_selector("td:has-text('유사 사례')")
    assert "4쌍 중 1쌍" in owner.inner_text("#rows")
    owner.click("nav a[href$='progress']")
    owner.wait_for_selector("h2")
    text = owner.inner_text("main")
    assert "제안된 8쌍 가운데 7쌍이 아직" in text
    assert "답을 찾은 질문 1/1" in text
    assert "건" not in text
    values = "['easy', 'hard', 'mine', 'medium']"
    order = f"import('./words.js').then(({{inOrder}}) => inOrder('difficulty', {values}))"
    assert owner.evaluate(order) == ["easy", "medium", "hard", "mine"]


def test_with_another_language_nothing_is_lost(visit, served):
    """A button turns the page's language, and back."""
    owner = visit(served)
    owner.wait_for_selector(".passage")
    assert "제안 8쌍" in owner.inner_text(".status")
    owner.click("button[lang=en]")
    assert "8 suggested" in owner.inner_text(".status")
    owner.click("button[lang=ko]")
    assert "제안 8쌍" in owner.inner_text(".status")


def dispatch(page, **event):
    """A keydown as the browser would tell it."""
    page.evaluate(
        """({keyCode, ...event}) => {
          const made = new KeyboardEvent("keydown", {bubbles: true, cancelable: true, ...event});
          if (keyCode) Object.defineProperty(made, "keyCode", {value: keyCode});
          document.activeElement.dispatchEvent(made);
        }""",
        event,
    )


@pytest.mark.parametrize(
    ("event", "row"),
    [
        ({"key": "Process", "code": "KeyX", "keyCode": 229}, ("unusable", None)),
        ({"key": "Unidentified", "code": "KeyX", "isComposing": True}, ("unusable", None)),
        ({"key": "ㅌ", "code": "KeyX", "isComposing": True}, ("unusable", None)),
        ({"key": "ㅌ", "code": ""}, ("unusable", None)),
        ({"key": "ㄴ", "code": "KeyS"}, ("later", None)),
        ({"key": "X", "code": "KeyX", "shiftKey": True}, ("unusable", None)),
        ({"key": "Process", "code": "Digit2", "keyCode": 229}, ("grade", 2)),
        ({"key": "3", "code": "Numpad3"}, ("grade", 3)),
        ({"key": "\uff13", "code": "Digit3"}, ("grade", 3)),
        ({"key": "&", "code": "Digit1"}, ("grade", 1)),  # a French keyboard
    ],
)
def test_the_same_keys_count_with_the_korean_input_method_on(page, served, event, row):
    """Whatever the input method makes of a key, the key itself counts."""
    judge(page, lambda: dispatch(page, **event))
    settled(page)
    assert said(served) == [row]


def test_keys_of_the_input_method_as_the_browser_itself_sends_them(page, served):
    """The same through Chromium's own events, below the page."""
    session = page.context.new_cdp_session(page)

    def press(key, code, virtual):
        event = {"key": key, "code": code, "windowsVirtualKeyCode": virtual}
        session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **event})
        session.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    judge(page, lambda: press("Process", "KeyX", 229))
    taken = judge(page, lambda: press("ㄴ", "KeyS", 229))
    judge(page, lambda: press("ㅕ", "KeyU", 229))
    assert pair(page) == taken
    settled(page)
    assert said(served) == [("unusable", None)]


@pytest.mark.parametrize(
    "event",
    [
        {"key": "2", "code": "Digit2", "ctrlKey": True},
        {"key": "2", "code": "Digit2", "altKey": True},
        {"key": "s", "code": "KeyS", "metaKey": True},
        {"key": "7", "code": "Digit7"},
        {"key": "@", "code": "Digit2", "shiftKey": True},
        {"key": "2", "code": "Digit2", "repeat": True},
    ],
)
def test_keys_that_mean_something_else_judge_nothing(page, served, event):
    """The browser's own shortcuts, grades that are not on the scale, a key that is held down."""
    before = pair(page)
    page.wait_for_timeout(READ)
    dispatch(page, **event)
    page.wait_for_timeout(200)
    assert pair(page) == before
    assert said(served) == []


def test_no_key_judges_while_somebody_is_writing(page, served):
    """In the note letters and digits are letters, with an input method as well; Escape leaves."""
    before = pair(page)
    page.wait_for_timeout(READ)
    page.keyboard.press("e")
    page.keyboard.type("2번 근거 sux")
    session = page.context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": "한", "selectionStart": 1, "selectionEnd": 1})
    dispatch(page, key="Process", code="KeyX", keyCode=229, isComposing=True)
    session.send("Input.insertText", {"text": "한글"})
    assert pair(page) == before
    page.keyboard.press("Escape")
    judge(page, "1")
    settled(page)
    (row,) = served.desk.state.history[services.people.annotator(served.desk, "김판정").uid]
    assert (row.grade, row.note) == (1, "2번 근거 sux한글")


def test_a_double_click_and_a_key_that_is_held_judge_one_pair(page, served):
    """What follows at once belongs to the pair before."""
    judge(page, lambda: page.locator(".grade").nth(2).dblclick())
    page.wait_for_timeout(READ)
    for _ in range(5):
        page.keyboard.down("1")
    page.keyboard.up("1")
    page.wait_for_timeout(READ)
    settled(page)
    assert said(served) == [("grade", 2), ("grade", 1)]


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
HAN = "\u1112\u1161\u11ab"  # 한, decomposed
ODD = {"odd": f"앞말 😀{FAMILY} {HAN}\u1100\u1173\u11af 그리고 근거 문장 \u202e뒤\u202c 끝."}


def select(page, part, end=None):
    """Select a stretch of the passage, from the start of one text to the end of another."""
    page.evaluate(
        """([part, end]) => {
          const body = document.querySelector(".passage .text");
          const nodes = [];
          const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) nodes.push(walker.currentNode);
          const at = (text, after) => {
            let place = body.textContent.indexOf(text) + (after ? text.length : 0);
            for (const node of nodes) {
              if (place < node.data.length + after) return [node, place];
              place -= node.data.length;
            }
          };
          const range = document.createRange();
          range.setStart(...at(part, false));
          range.setEnd(...at(end || part, true));
          document.getSelection().removeAllRanges();
          document.getSelection().addRange(range);
        }""",
        [part, end],
    )


def test_evidence_is_counted_in_characters_as_python_counts_them(visit, tmp_path):
    """Emoji, jamo of NFD and hidden characters before it do not move a stretch."""
    with serving(shop(tmp_path, QUESTIONS[:1], ODD)) as served:
        page = visit(served, served.annotator("김판정"), has_touch=True)
        text = ODD["odd"]
        for count, part in enumerate(("근거 문장", HAN, "끝"), start=1):
            select(page, part)
            page.locator(".offer").tap()
            expect(page.locator("mark")).to_have_count(count)
        page.locator("mark").nth(2).tap()
        expect(page.locator("mark")).to_have_count(2)
        judge(page, "3")
        settled(page)
        (row,) = served.desk.state.history[services.people.annotator(served.desk, "김판정").uid]
        assert [text[start:end] for start, end in row.spans] == [HAN, "근거 문장"]


def test_the_mouse_marks_and_unmarks_evidence(page, served):
    """Dragging marks, a stretch over two marks joins them, a click takes one away."""
    box = page.locator(".passage .text").bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 14)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 14, steps=4)
    page.mouse.up()
    page.wait_for_selector("mark")
    marked = page.inner_text("mark")
    assert pair(page)[1].startswith(marked)
    assert page.locator(".evidence button").count() == 1
    page.locator(".evidence button").click()
    assert page.locator("mark").count() == 0
    page.wait_for_timeout(500)
    page.mouse.move(box["x"] + 3, box["y"] + 14)
    page.mouse.down()
    page.mouse.move(box["x"] - 400, box["y"] + 14, steps=2)
    page.mouse.move(box["x"] + 60, box["y"] + 14, steps=4)
    page.mouse.up()
    page.wait_for_selector("mark")
    before = judge(page, "2")
    settled(page)
    (row,) = served.desk.state.history[services.people.annotator(served.desk, "김판정").uid]
    ((start, end),) = row.spans
    assert start == 0
    assert before[1][:end] == before[1][start:end]


def test_undo_brings_back_the_evidence_and_the_note(page):
    """What was marked and written for a pair is there again when it is taken back."""
    page.wait_for_timeout(READ)
    page.keyboard.press("e")
    page.keyboard.type("메모")
    page.keyboard.press("Control+Enter")
    select(page, pair(page)[1][:5])
    page.keyboard.press("Shift")
    page.locator(".offer").click()
    judge(page, "1")
    judge(page, "u")
    assert page.locator("mark").count() == 1
    assert page.input_value(".bar textarea") == "메모"


def test_space_grades_nothing_after_a_click(page, served):
    """A button that was pressed has no focus: Space, which scrolls, grades no pair unread."""
    judge(page, lambda: page.locator(".grade").nth(2).click())
    page.wait_for_timeout(READ)
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_timeout(READ)
    settled(page)
    assert said(served) == [("grade", 2)]
    assert "앞의 쌍: 2" in page.inner_text(".last")


def test_a_reload_keeps_the_note_and_the_evidence(page, served):
    """What was not said yet is there again, and goes with the grade."""
    before = pair(page)
    page.keyboard.press("e")
    page.keyboard.type("메모")
    page.keyboard.press("Escape")
    word = before[1].split()[0]
    select(page, word)
    page.locator(".offer").click()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert pair(page) == before
    assert page.locator("mark").count() == 1
    judge(page, "2")
    settled(page)
    (row,) = served.desk.state.history[services.people.annotator(served.desk, "김판정").uid]
    assert (row.note, row.spans) == ("메모", ((0, len(word)),))


FILLER = "이 문장은 다른 이야기를 한다. " * 120
BURIED = (
    f"{FILLER}단순 변심이면 며칠 안에 돌려보내는지 여기 쓰여 있다. 마음이 바뀌어도 같다. {FILLER}"
)


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_a_long_text_opens_where_most_of_the_questions_words_stand(visit, tmp_path, size):
    """They are underlined there, a sign at either end says that there is more; w turns it off."""
    window = {"viewport": {"width": size[0], "height": size[1]}}
    with serving(shop(tmp_path, QUESTIONS[:1], {"long": BURIED})) as served:
        page = visit(served, served.annotator("김판정"), **window)
        words = page.locator(".text u")
        assert {"마음", "돌려보내"} <= set(words.all_inner_texts())
        assert pair(page)[1] == BURIED
        drawn = "node => getComputedStyle(node).textDecorationLine"
        assert words.first.evaluate(drawn) == "underline"
        place, bar = words.first.bounding_box(), page.locator(".bar").bounding_box()
        top = page.locator("#question").bounding_box()
        low = bar["y"] if size[0] < 800 else size[1]
        assert place["y"] < low
        assert place["y"] > (top["y"] + top["height"] if size[0] < 800 else 0)
        for sign in ("before", "after"):
            own = page.locator(f".more.{sign}").bounding_box()
            assert 0 < own["y"] < low - own["height"]
        page.click(".more.before")
        until(page, "window.scrollY === 0")
        page.wait_for_selector(".more.before", state="hidden")
        page.keyboard.press("w")
        assert words.first.evaluate(drawn) == "none"
        page.reload()
        page.wait_for_selector(".text u")
        assert words.first.evaluate(drawn) == "none"
        assert page.evaluate("window.scrollY") == 0
        page.evaluate("window.scrollTo(0, 1e6)")
        page.wait_for_selector(".more.after", state="hidden")


def test_evidence_over_underlined_words_is_what_was_marked(page, served):
    """A mark that begins and ends within words keeps both, and goes without a trace."""
    text = pair(page)[1]
    select(page, text[1:-1])
    page.keyboard.press("Shift")
    page.locator(".offer").click()
    assert page.inner_text("mark") == text[1:-1]
    assert pair(page)[1] == text
    judge(page, "2")
    settled(page)
    (row,) = served.desk.state.history[services.people.annotator(served.desk, "김판정").uid]
    assert row.spans == ((1, len(text) - 1),)


def test_the_last_pairs_say_that_they_were_put_off(page, served):
    """Postponed again and again they do not seem to be work that is left by others."""
    for _ in range(8):
        assert page.locator(".caution:visible").count() == 0
        judge(page, "s")
        settled(page)
    for _ in range(3):
        assert "전에 미룬 쌍입니다" in page.inner_text(".caution:visible")
        judge(page, "s")
        settled(page)


@pytest.mark.parametrize("size", [(1366, 768), (360, 640)])
def test_the_buttons_stay_where_they_are(visit, tmp_path, size):
    """Whatever the length of question and passage, with a note and without one."""
    questions, texts = ("짧은 질문?", "긴 질문 " * 60), {"short": "짧은 글", "long": "긴 글 " * 300}
    with serving(shop(tmp_path, questions, texts)) as served:
        window = {"width": size[0], "height": size[1]}
        page = visit(served, served.annotator("김판정"), viewport=window)
        places = set()
        for left in (3, 2, 1, 0):
            places.add(page.locator(".grade").first.bounding_box()["y"])
            page.keyboard.press("e")
            places.add(page.locator(".grade").first.bounding_box()["y"])
            page.keyboard.press("Escape")
            if left:
                judge(page, "1")
        assert max(places) - min(places) <= 1
        assert max(places) < window["height"]


def test_the_guidelines_and_the_search_are_one_key_away(page):
    """? opens and closes the guidelines over the pair, and / leads to the search for it."""
    before = pair(page)
    page.keyboard.press("?")
    page.wait_for_selector("dialog h1, dialog h2")
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert pair(page) == before
    page.keyboard.press("/")
    page.wait_for_selector("html[data-ready=search]")
    assert page.locator("#for option:checked").inner_text() == before[0]
    page.keyboard.press("Escape")
    page.wait_for_selector("html[data-ready=judge]")
    assert pair(page) == before


def test_both_languages_stand_in_the_page(page):
    """The page begins in the browser's language, and a button changes it, for good."""
    assert "나중에" in page.inner_text(".tools")
    page.get_by_role("button", name="English").click()
    assert "Later" in page.inner_text(".tools")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "Later" in page.inner_text(".tools")


@pytest.mark.parametrize(
    ("locale", "later"), [("ko-KR", "나중에"), ("en-GB", "Later"), ("fr-FR", "나중에")]
)
def test_the_page_opens_in_the_browsers_language(visit, served, locale, later):
    """Where the page has it; else in the set's, which is Korean here."""
    page = visit(served, locale=locale)
    assert later in page.inner_text(".tools")


def test_before_there_is_anything_to_see(visit, served):
    """One moment, it says; keys that need no eyes act once there is a view, others are told."""
    page = visit(served, wait=False)
    with withheld(page, "**/api/me"):
        page.reload(wait_until="commit")
        page.wait_for_selector("main h2")
        assert page.inner_text("main") == "잠시만요…"
        page.keyboard.press("2")
        page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "2 키를 너무 일찍 눌렀습니다" in page.inner_text("#said")
    page.keyboard.press("Escape")
    assert page.inner_text(".status").startswith("내 판정 0쌍")


def test_without_its_scripts_it_says_one_moment(visit, served):
    """Until the first script has come, in both languages."""
    page = visit(served, wait=False)
    with withheld(page, "**/app.js"):
        page.reload(wait_until="commit")
        page.wait_for_selector("main span")
        assert page.inner_text("main") == "One moment… 잠시만요…"
        page.evaluate("import('/keys.js')")  # until it runs, nothing can hear a key
        page.keyboard.press("/")
    page.wait_for_selector("html[data-ready=search]")

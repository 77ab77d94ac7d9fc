"""A whole life in browsers: two people at once, what goes wrong, narrow windows."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from types import SimpleNamespace

import pytest

from kragx.data import read_dataset
from kragx.workshop import services
from kragx.workshop.questions.words import content_words
from tests.browser import expect, until
from tests.waiting import free_port, wait_until
from tests.workshop.browser.conftest import QUESTIONS, TEXTS, browsing, shop
from tests.workshop.browser.test_judging import READ, judge, pair, said, settled
from tests.workshop.serving import grade, opened, serving


def view(page, name):
    """Go to a view by its tab."""
    page.locator(f'nav a[href$="/{name}"]').click()
    page.wait_for_selector(f"html[data-ready={name}]")


def write_question(owner):
    """The first question of an empty set, with the documents that it was made from."""
    owner.get_by_role("button", name="질문 추가").click()
    owner.wait_for_selector("html[data-ready=questions]")
    owner.get_by_role("button", name="질문 추가").click()
    owner.locator("dialog textarea").first.fill(QUESTIONS[0])
    owner.locator("dialog select").first.select_option("general_inquiry")
    owner.locator("dialog summary").click()
    for number, words in enumerate(("청약 철회", "배송은", "무료로 수리"), start=1):
        owner.locator("dialog input[type=search]").fill(words)
        owner.keyboard.press("Enter")  # looks for it, and sends nothing
        owner.locator(".offers button").first.click()
        assert owner.locator(".taken li").count() == number
    content_words(QUESTIONS[0])  # Kiwi loads, which `Desk.start` sees to
    owner.get_by_role("button", name="저장").click()
    owner.wait_for_selector("table")
    assert QUESTIONS[0] in owner.inner_text("table")


def add_person(owner, name):
    """Somebody who judges; the token of their link."""
    owner.fill("#new-name", name)
    owner.get_by_role("button", name="추가").click()
    link = owner.locator("tr", has_text=name).locator("input")
    return link.input_value().partition("#")[2]


def released(owner, folder):
    """Press the button; the file holds what was decided, and the page names it."""
    view(owner, "releases")
    assert "질문 1개 중 1개와, 답이 되는 글이 있는 1쌍이" in owner.inner_text("main")
    owner.locator("form input").first.fill("첫 판")
    owner.click("#release")
    assert not (folder / "gold_v1.jsonl").exists()  # it is asked whether it shall be
    owner.locator("dialog button.primary").click()
    owner.wait_for_selector("text=릴리스했습니다: gold_v1.jsonl")
    (query,) = read_dataset(folder / "gold_v1.jsonl")
    assert query.text == QUESTIONS[0]
    assert [(item.id, item.grade) for item in query.gold if item.grade > 0] == [("refund", 1)]
    assert "첫 판" in (folder / "gold_v1.md").read_text("utf-8")


def found_in_own_words(person, words, text, key):
    """Search for a document, and judge it where it stands."""
    view(person, "search")
    person.select_option("#for", label=QUESTIONS[0])
    person.fill("#words", words)
    person.keyboard.press("Enter")
    person.wait_for_selector("article.hit:focus")
    while text not in person.inner_text("article.hit:focus"):
        person.keyboard.press("j")
    person.keyboard.press(key)
    person.wait_for_selector("article.hit [role=status]:not(:empty)")


def test_a_set_is_made_judged_by_two_settled_and_opened_again(chromium, tmp_path, database):
    """A question by hand, grades of two at once, a conflict, its decision; a stop loses nothing."""
    folder = shop(tmp_path, (), **({"database": database} if database else {}))
    with serving(folder) as served, browsing(chromium) as go:
        owner = go(served)
        assert "아직 질문이 없습니다" in owner.inner_text("main")
        write_question(owner)
        view(owner, "people")
        links = {name: add_person(owner, name) for name in ("김판정", "이판정")}
        kim, lee = (go(served, links[name]) for name in links)
        assert kim.locator("nav a").count() == 4
        for person in (kim, lee, kim, lee, kim, lee):  # both at once, step by step
            if person.locator(".judge:not(.over)").count():
                judge(person, "0")
                settled(person)
        judged = [said(served, name) for name in links]
        assert [len(rows) > 0 for rows in judged] == [True, True]
        for person, key in ((kim, "3"), (lee, "1")):
            found_in_own_words(person, "청약 철회", TEXTS["refund"], key)
            settled(person)
        owner.reload()
        owner.wait_for_selector("html[data-ready]")
        assert owner.inner_text("nav .count") == "1"
        view(owner, "conflicts")
        sides = owner.locator(".side").all_inner_texts()
        assert {side.split("\n")[0] for side in sides} == {"김판정", "이판정"}
        owner.wait_for_timeout(READ)
        owner.keyboard.press("2")
        owner.wait_for_selector("text=의견 차이가 없습니다")
        owner.wait_for_selector("nav .count", state="detached")
        view(owner, "progress")
        assert "뿐이라 아직 알 수 없습니다" in owner.inner_text("main")
        released(owner, folder)
    with serving(folder) as again, browsing(chromium) as go:
        (uid,) = again.desk.state.questions
        (decision,) = again.desk.state.decisions[uid, "refund"]
        assert decision.grade == 2
        for name, before in zip(links, judged):
            assert len(said(again, name)) >= len(before)
            assert said(again, name)[-1] == ("grade", {"김판정": 3, "이판정": 1}[name])
        owner = go(again)
        view(owner, "releases")
        assert "gold_v1.jsonl" in owner.inner_text("table")
        assert "지난 버전 이후로 바뀐 것이 없습니다" in owner.inner_text("main")
        assert owner.locator("#release").count() == 0
        kim = go(again, links["김판정"])
        kim.wait_for_timeout(READ)
        kim.keyboard.press("u")
        expect(kim.locator(".passage .text")).to_have_text(TEXTS["refund"])
        assert pair(kim) == (QUESTIONS[0], TEXTS["refund"])


def test_the_owner_makes_questions_from_templates(visit, tmp_path):
    """They are shown first, and only those that are left ticked are added; nobody else may."""
    texts = {f"d{n}": text * 3 for n, text in enumerate(TEXTS.values())}
    with serving(shop(tmp_path, (), texts)) as served:
        owner = visit(served)
        assert "관리자" in owner.inner_text(".brand")
        view(owner, "questions")
        owner.get_by_role("button", name="질문 틀로 만들기").click()
        owner.locator("dialog input[type=number]").fill("3")
        owner.locator("dialog button[type=submit]").click()
        owner.wait_for_selector(".made .check", timeout=90_000)
        shown = owner.locator(".made .check").all_inner_texts()
        assert served.desk.state.questions == {}
        owner.locator(".made input").first.uncheck()
        owner.get_by_role("button", name=f"질문 {len(shown) - 1}개 추가").click()
        owner.wait_for_selector("tbody tr")
        assert owner.locator("tbody tr").count() == len(shown) - 1
        assert len(served.desk.state.questions) == len(shown) - 1
        kim = visit(served, served.annotator("김판정"))
        view(kim, "questions")
        assert "질문 틀" not in kim.inner_text("main")
        assert served.ask("GET", "/api/templates", token=served.annotator("김판정"))[0] == 403


def test_what_is_searched_for_is_judged_with_evidence_and_a_note(visit, served):
    """The question stays in sight, what was found is counted and underlined, later is there."""
    page = visit(served, served.annotator("김판정"))
    page.wait_for_selector(".passage")
    judged = page.inner_text("#question")
    view(page, "search")
    assert page.locator(".search .asked h1").inner_text() == judged  # it need not be chosen again
    page.select_option("#for", label=QUESTIONS[0])
    page.fill("#words", "청약을 철회")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.hit")
    assert page.locator(".search .asked h1").inner_text() == QUESTIONS[0]
    assert "맞는 글이 1개" in page.inner_text(".hits")
    hit = page.locator("article.hit", has_text=TEXTS["refund"])
    assert {"청약", "철회"} <= set(hit.locator("u").all_inner_texts())
    hit.locator("u").first.dblclick()
    page.wait_for_selector("mark")
    hit.get_by_role("button", name="메모").click()
    hit.locator("textarea").fill("찾은 글")
    hit.get_by_role("button", name="2 답의 일부가 있음").click()
    settled(page)
    (row,) = served.desk.state.history[services.people.annotator(served.desk, "김판정").uid]
    assert (row.document, row.grade, row.note) == ("refund", 2, "찾은 글")
    assert len(row.spans) == 1
    hit.get_by_role("button", name="나중에").click()
    settled(page)
    assert said(served) == [("grade", 2), ("later", None)]


def test_what_was_asked_for_last_is_shown(visit, served):
    """An answer that comes late takes the place neither of another view nor of a later search."""
    page = visit(served, served.annotator("김판정"))
    late = []

    def first_is_late(path):
        """The answer to the first request there comes when what this gives is called."""
        page.route(path, lambda route: route.continue_() if late else late.append(route))

        def comes():
            with page.expect_response(path):
                late.pop().continue_()
            page.wait_for_timeout(READ)
            page.unroute(path)

        return comes

    comes = first_is_late("**/api/questions*")
    with page.expect_request("**/api/questions*"):
        page.click('nav a[href$="/search"]')
    view(page, "progress")
    comes()
    assert page.inner_text("main h1") == "진행"
    expect(page.locator("html")).to_have_attribute("data-ready", "progress")
    view(page, "search")

    def search(words):
        page.fill("#words", words)
        page.keyboard.press("Enter")

    comes = first_is_late("**/api/search*")
    search("배송")
    search("청약")
    hits = page.locator("article.hit .text")
    expect(hits).to_have_text([TEXTS["refund"]])
    comes()
    assert hits.all_inner_texts() == [TEXTS["refund"]]


def test_annotators_see_nothing_of_one_another(visit, served):
    """Nobody's grade is in anything that an annotator's page is sent."""
    texts = ""

    def keep(route):
        nonlocal texts
        answer = route.fetch(max_retries=5)  # a connection that was kept may have ended meanwhile
        texts += answer.text()
        route.fulfill(response=answer)

    lee = visit(served, served.annotator("이판정"))
    judge(lee, "3")
    settled(lee)
    kim = visit(served, served.annotator("김판정"), wait=False)
    kim.route("**/api/**", keep)
    kim.reload()
    kim.wait_for_selector("html[data-ready]")
    for name in ("search", "questions", "progress"):
        view(kim, name)
    assert QUESTIONS[0] in texts
    assert "이판정" not in texts
    assert '"rank"' not in texts
    assert '"score"' not in texts
    assert not {"judged_by", "agreement"} & set(texts.split('"'))
    for name in ("conflicts", "people", "releases"):
        kim.goto(f"http://127.0.0.1:{served.port}/#{served.annotator('김판정')}/{name}")
        kim.wait_for_selector("html[data-ready=judge]")
    kim.unroute_all(behavior="ignoreErrors")  # what is fetched ahead may still be on its way


HOSTILE = (
    "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'>"
    "{{7*7}} ${7*7} user\u202egnp.exe \u2067abc\u2069 </textarea></script> javascript:alert(1)"
)


def test_hostile_texts_names_and_notes_are_texts(chromium, tmp_path):
    """In every view markup is shown as it is written, and what is hidden is shown by its code."""
    folder = shop(tmp_path, (HOSTILE,), {HOSTILE: f"글 {HOSTILE}", "other": "다른 글"})
    (folder / "guidelines.md").write_text(
        f"# {HOSTILE}\n\n[link](javascript:alert(1)) ![x](http://foreign.example/x.png)\n"
    )
    with serving(folder) as served, browsing(chromium) as go:
        kim = go(served, served.annotator(f"김{HOSTILE[:80]}"))
        kim.wait_for_timeout(READ)
        kim.keyboard.press("e")
        kim.keyboard.type(HOSTILE)
        kim.keyboard.press("Escape")
        judge(kim, "3")
        settled(kim)
        (document,) = (row.document for (row,) in served.desk.state.history.values())
        (uid,) = served.desk.state.questions
        sent = grade(uid, document, 0, note=HOSTILE)
        assert served.ask("POST", "/api/judgements", sent, token=served.annotator("이"))[0] == 200
        owner = go(served)
        for name in ("search", "questions", "progress", "conflicts", "people"):
            view(owner, name)
            if name == "search":
                owner.fill("#words", "script")
                owner.keyboard.press("Enter")
                owner.wait_for_selector(".hit")
            if name == "questions":
                assert "<img src=x onerror" in owner.inner_text("table")
            assert owner.evaluate("() => window.stolen") is None
            assert owner.locator("main img, main script").count() == 0
        view(owner, "conflicts")
        assert "<script>" in owner.inner_text(".sides")
        assert owner.locator(".hidden-mark").count() > 0
        owner.get_by_role("button", name="판정 지침").click()
        owner.wait_for_selector(".guidelines h1")
        assert owner.locator("dialog img, dialog script, dialog a").count() == 0


@contextmanager
def command(folder, port):
    """`kragx workshop` as a process of its own, on a port; killed in the end."""
    arguments = [sys.executable, "-m", "kragx", "workshop", str(folder), "--no-browser"]
    process = subprocess.Popen(
        [*arguments, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def answers():
        asked = HTTPConnection("127.0.0.1", port, timeout=60)
        with suppress(OSError, HTTPException), closing(asked):
            asked.request("GET", "/style.css", headers={"Connection": "close"})
            return asked.getresponse().read()

    try:
        wait_until(answers, process)
        yield process
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_that_is_killed_loses_nothing_and_the_page_goes_on(chromium, tmp_path):
    """What is said meanwhile is kept, also over a reload, and is stored once when it is back."""
    folder = shop(tmp_path)
    with opened(folder) as desk:
        token = services.people.link_token(desk, services.people.annotator(desk, "김판정"))
    port = free_port()
    # No server in this process: the windows stay open when the one outside is killed.
    served = SimpleNamespace(port=port, token=token, visitors=ExitStack())
    # What Chromium says of a dead server depends on when it notices.
    dead = ("CONNECTION_REFUSED", "CONNECTION_RESET", "EMPTY_RESPONSE", "SOCKET_NOT_CONNECTED")
    in_an_answer = ("CONTENT_LENGTH_MISMATCH", "INCOMPLETE_CHUNKED_ENCODING")
    allow = tuple(f"net::ERR_{state}" for state in (*dead, *in_an_answer))
    with browsing(chromium) as go:
        with command(folder, port):
            page = go(served, allow=allow)
            judge(page, "3")
            settled(page)
            page.wait_for_timeout(READ)
        page.keyboard.press("2")  # the server is dead by now
        page.wait_for_selector("#banner:not([hidden])")
        assert "판정한 1쌍을 이 기기에 보관" in page.inner_text("#banner")
        with command(folder, port):
            page.wait_for_selector("#banner", state="hidden", timeout=90_000)
            settled(page)
            page.wait_for_timeout(READ)
            judge(page, "1")
            settled(page)
        page.wait_for_timeout(READ)
        page.keyboard.press("0")
        page.wait_for_selector("#banner:not([hidden])")
        with command(folder, port):
            page.reload()
            page.wait_for_selector("html[data-ready]")
            settled(page)
    with opened(folder) as desk:
        person = services.people.annotator(desk, "김판정")
        assert [row.grade for row in desk.state.history[person.uid]] == [3, 2, 1, 0]


def test_what_is_sent_twice_counts_once(visit, served):
    """An answer that never arrives is asked for again, with the same uid."""
    page = visit(served, served.annotator("김판정"), allow=("ERR_FAILED",))
    lost = []

    def lose(route):
        if not lost:
            lost.append(route.fetch())  # it is stored, and nobody hears of it
            route.abort()
        else:
            route.continue_()

    page.route("**/api/judgements", lose)
    judge(page, "2")
    settled(page)
    assert lost[0].status == 200
    assert said(served) == [("grade", 2)]


def test_a_question_that_is_dropped_meanwhile_is_said_and_stops_nobody(visit, served):
    """The grade is refused with words, and the next pair is there."""
    page = visit(served, served.annotator("김판정"), allow=("409",))
    (first, _) = pair(page)
    page.wait_for_timeout(READ)
    for uid, question in list(served.desk.state.questions.items()):
        if question.text == first:
            assert served.ask("POST", "/api/questions/drop", {"uid": uid, "why": "x"})[0] == 200
    page.keyboard.press("2")
    page.wait_for_selector("text=저장하지 못했습니다")
    assert said(served) == []


@pytest.mark.parametrize("token", ["", "wrong", "x" * 43])
def test_a_link_that_is_nobodys_says_how_to_get_one(visit, served, token):
    """Without its end, or with a wrong one, the page explains itself."""
    page = visit(served, token or "/", allow=("401",))
    assert "링크" in page.inner_text("main")
    assert page.locator("nav").count() == 0


def test_two_links_in_one_window(visit, served):
    """Whoever opens another person's link in the same window is that person from then on."""
    page = visit(served, served.annotator("김판정"))
    page.goto(f"http://127.0.0.1:{served.port}/#{served.annotator('이판정')}")
    page.wait_for_selector("text=이판정")
    judge(page, "2")
    settled(page)
    assert said(served, "이판정") == [("grade", 2)]
    assert said(served, "김판정") == []


LONG = " ".join(f"{number}번째 문장은 청약 철회를 자세히 설명한다." for number in range(400))


@pytest.mark.parametrize("width", [320, 360, 768])
def test_narrow_windows_need_no_sideways_scrolling(visit, tmp_path, width):
    """Every view fits, its tab in sight; with a long passage question and buttons are, too."""
    word = "https://example.com/" + "a" * 300
    texts = {"long": LONG, "word": word}
    with serving(shop(tmp_path, ("가" * 150, word), texts)) as served:
        page = visit(served, viewport={"width": width, "height": 640}, has_touch=True)
        views = ("judge", "search", "questions", "progress", "conflicts", "people", "releases")
        for name in views:
            view(page, name)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            tab = "document.querySelector('nav [aria-current]').getBoundingClientRect()"
            assert 0 <= page.evaluate(f"{tab}.left") <= page.evaluate(f"{tab}.right") <= width, name
            small = page.evaluate(
                "() => [...document.querySelectorAll('button:not(.link), nav a, select')]"
                ".filter((one) => one.offsetHeight && one.offsetHeight < 44).length"
            )
            assert small == 0, name
            cut = page.evaluate(
                "() => [...document.querySelectorAll('.scroll')]"
                ".filter((one) => one.scrollWidth > one.clientWidth + 1).length"
            )
            assert cut == 0, name
        view(page, "judge")
        for _ in range(2):  # each of two questions may have the word first
            if len(page.inner_text(".text")) < 1000:
                judge(page, page.locator(".grade").first.tap)
        assert len(page.inner_text(".text")) > 1000
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight / 2)")
        for part in ("#question", ".grade >> nth=3"):
            box = page.locator(part).bounding_box()
            assert 0 <= box["y"] < 640, part
        judge(page, lambda: page.locator(".grade").nth(3).tap())
        settled(page)


def test_ten_thousand_characters_and_five_hundred_questions(visit, tmp_path):
    """A long passage scrolls with the question in sight; a long list is drawn in parts."""
    questions = [f"{number}번 질문은 무엇을 묻나요?" for number in range(500)]
    with serving(shop(tmp_path, questions, {"long": LONG})) as served:
        page = visit(served)
        page.mouse.wheel(0, 3000)
        until(page, "window.scrollY > 0")
        box = page.locator("#question").bounding_box()
        assert 0 <= box["y"] < 700
        view(page, "questions")
        assert page.locator("tbody tr").count() == 100
        page.locator(".filters input").fill("499번")
        assert page.locator("tbody tr").count() == 1

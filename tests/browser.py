"""What tests of pages share: to wait for what a page will show, and to try that on a slow one."""

from __future__ import annotations

import os
import time

_PATIENCE = 30  # seconds, as Playwright has
_LATE = """(() => {
  const later = () => new Promise((done) => setTimeout(done, LATE));
  const after = (own, name) => {
    const plain = own[name];
    own[name] = async function (...given) {
      const answer = await plain.apply(this, given);
      await later();
      return answer;
    };
  };
  after(window, "fetch");
  after(Response.prototype, "text");
  if (window.Clipboard) after(Clipboard.prototype, "writeText");
  const back = history.back;
  history.back = () => void later().then(() => back.call(history));
  const listen = window.addEventListener;
  window.addEventListener = function (name, act, ...more) {
    const slow = name === "hashchange" ? (event) => later().then(() => act(event)) : act;
    return listen.call(this, name, slow, ...more);
  };
})()"""


def expect(subject):
    """Playwright's assertions that wait, for as long as it waits elsewhere.

    What follows an action later than at once (an answer, a text that is unpacked, the history, the
    address) is asserted with them, never read right away: the 5 s that they wait by themselves are
    soon over on a busy machine.
    """
    from playwright.sync_api import expect

    expect.set_options(timeout=1000 * _PATIENCE)
    return expect(subject)


def until(page, expression, arg=None):
    """Wait until an expression, or a function of `arg`, is true on a page.

    `wait_for_function` fails instead where the page's policy forbids `eval` and it is not true yet.
    """
    end = time.monotonic() + _PATIENCE
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"not true in {_PATIENCE} s: {expression}"
        page.wait_for_timeout(20)


def slowed(browser):
    """The browser, as slow as KRAGX_SLOW wants it.

    With 6 scripts take six times as long, and what a page waits for (an answer of the server, a
    text that is unpacked, a step back in the history, a changed address) comes 300 ms late, so that
    whoever reads it right after a click reads too early.
    """
    rate = int(os.environ.get("KRAGX_SLOW", "1"))
    if rate == 1:
        return browser
    plain = browser.new_context

    def new_context(**options):
        context = plain(**options)
        context.add_init_script(_LATE.replace("LATE", str(50 * rate)))
        new_page = context.new_page

        def slow_page():
            page = new_page()
            session = context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
            return page

        context.new_page = slow_page
        return context

    browser.new_context = new_context
    browser.new_page = lambda **options: new_context(**options).new_page()
    return browser

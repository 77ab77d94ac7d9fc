"""What axe-core (Deque's checker, in the package axe-playwright-python) finds wrong with a page."""

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")


def violations(page, within=None):
    """Each breach of WCAG 2.1 A and AA on what a page shows now: the rule, and where it is broken.

    Of the whole page, or of what a CSS selector names, once nothing fades in or moves any more;
    contrast is among what is checked, and no rule was given up.
    """
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("Promise.allSettled(document.getAnimations().map((own) => own.finished))")
    answer = Axe().run(page, within, options={"runOnly": list(RULES)}).response
    assert "error-occurred" not in str(answer["incomplete"])
    assert "color-contrast" in {rule["id"] for rule in answer["passes"] + answer["violations"]}
    return [
        (rule["id"], node["target"], node["failureSummary"])
        for rule in answer["violations"]
        for node in rule["nodes"]
    ]

"""Retrieved text without what could pass for a fence or steer a chat model."""

import re

_FENCE = re.compile(r"<{3,}|>{3,}")
_CONTROL = re.compile(r"<\|(?=\w)|(?<=\w)\|>")


def neutralise(text: str, token: str) -> str:
    """`text` without anything that could pass for a fence or a control token.

    Fence marks become ‹‹‹ and ›››, the bar of ``<|name|>`` becomes ¦, and the token is cut in two.
    """
    if "<<<" in text or ">>>" in text:
        text = _FENCE.sub(lambda mark: ("‹" if mark[0][0] == "<" else "›") * len(mark[0]), text)
    if "<|" in text or "|>" in text:
        text = _CONTROL.sub(lambda mark: mark[0].replace("|", "¦"), text)
    if token not in text.lower():
        return text
    half = len(token) // 2
    return re.sub(re.escape(token), lambda t: f"{t[0][:half]}·{t[0][half:]}", text, flags=re.I)

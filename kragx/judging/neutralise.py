"""Retrieved text without what could pass for a fence or steer a chat model.

Servers put messages into a chat template and read the whole with the tokens of the template's
family, whoever wrote them: ``<|im_end|>`` in a document may end the user's message. So one sign of
each such token is replaced by one that looks alike: a bar by ¦, ``<`` by ‹, ``[`` by 〔. This is a
seat belt: it knows the families of today, and no words in so many letters (``### System:``).
"""

import re

_FENCE = re.compile(r"<{3,}|>{3,}")

# What tokenizers take for one sign (NFKC) stands in one class. What repeats is bounded and never
# given back, and each pattern begins with a class, so that no text takes long.
_LT, _GT, _OPEN, _SHUT, _BAR = "<＜﹤", ">＞﹥", r"\[［", r"\]］", "|｜∣￨"
_NAME, _GAP = r'[\w▁/"]', r"\s{0,4}+"
# Without what stands for others, so that a text which was changed is not changed again.
_ANY = rf"[^{_LT}{_GT}{_OPEN}{_SHUT}{_BAR}‹›〔〕¦]{{1,64}}+"

# <|name and name|>, DeepSeek's full-width bars and ▁, [|name and name|] of Korean models.
_BARS = re.compile(rf"[{_BAR}](?:(?<=[{_LT}{_OPEN}].)(?={_NAME})|(?<={_NAME}.)(?=[{_GT}{_SHUT}]))")
# The same with spaces, where it is whole: F#, R and Elixir write |> between words; and with one
# bar, as in <|turn> and <turn|>.
_SPACED = re.compile(
    rf"[{_LT}]{_GAP}(?:[{_BAR}]{_ANY}[{_BAR}]?|{_NAME}{{1,64}}+{_GAP}[{_BAR}]){_GAP}[{_GT}]"
    rf"|[{_OPEN}]{_GAP}[{_BAR}]{_ANY}[{_BAR}]{_GAP}[{_SHUT}]"
)
_ANGLED = "|".join(
    (
        "s|bos|eos|pad|unk|cls|sep|mask|sop|eo[pthamd]",
        "(?:bos|eos|eot|eop|pad|unk|cls|sep|mask)_token",
        r"(?:start|end|begin|beginning)_?of_?\w{1,40}+",
        r"extra_id_\d{1,9}+|(?:tokens_)?(?:unused|reserved|special)_?(?:token_?)?\d{1,9}+",
        r"fim_\w{1,20}+|think|thinking|thought|image_soft_token|(?:seed|minimax):\w{1,40}+",
        "tools?|tool_(?:call|response|result|output|declaration)s?|function_calls?",
    )
)
_BRACKETED = "|".join(
    (
        "inst|system_prompt|available_tools|tool_(?:calls|results|content)|call_id|model_settings",
        "think|[gs]mask|bos|eos|eot|img_break|img_end|begin_audio",
        # In small letters these are what code indexes by: x[mask].
        "(?-i:SYS|ARGS|MASK|CLS|SEP|PAD|UNK|IMG|AUDIO|PREFIX|MIDDLE|SUFFIX)",
    )
)
_NAMED = re.compile(
    rf"[{_LT}{_OPEN}{_SHUT}](?i:"
    rf"(?<=[{_LT}])(?={_GAP}(?:/{_GAP})?(?:(?:{_ANGLED}){_GAP}[{_GT}]|(?:function|parameter){_GAP}=)"
    rf"|[{_LT}]{_GAP}(?:/{_GAP})?sys{_GAP}[{_GT}])"
    rf"|(?<=[{_OPEN}])(?={_GAP}(?:/{_GAP})?(?:{_BRACKETED}){_GAP}[{_SHUT}]|e~[{_OPEN}])"
    rf"|(?<=[{_SHUT}])(?=~!?b[{_OPEN}{_SHUT}]))"  # MiniMax, as e~[
)
_ALIKE = str.maketrans("<＜﹤[［]］|｜∣￨", "‹‹‹〔〔〕〕¦¦¦¦")
_BARRED = re.compile(rf"[{_BAR}]")


def neutralise(text: str, token: str) -> str:
    """`text` without anything that could pass for a fence or a control token.

    Fence marks become ‹‹‹ and ›››, a sign or two of each control token ones that look alike, and
    the fences' token is cut in two. Nothing else is touched, and a second time nothing at all.
    """
    if "<<<" in text or ">>>" in text:
        text = _FENCE.sub(lambda mark: ("‹" if mark[0][0] == "<" else "›") * len(mark[0]), text)
    if _BARRED.search(text):
        text = _SPACED.sub(_alike, _BARS.sub(_alike, text))
    text = _NAMED.sub(_alike, text)
    if token not in text.lower():
        return text
    half = len(token) // 2
    return re.sub(re.escape(token), lambda t: f"{t[0][:half]}·{t[0][half:]}", text, flags=re.I)


def _alike(match: re.Match[str]) -> str:
    return match[0].translate(_ALIKE)

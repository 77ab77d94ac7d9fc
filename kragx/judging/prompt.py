"""From a question to its messages.

Everything retrieved is data. It stands between fences that carry a token derived from the
question's key, so that a text cannot know the fence that will close it; should the token, or
anything that looks like a fence or like a chat template's control token, stand in a text all the
same, it is broken up first.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kragx.judging.client import Message, Request
from kragx.judging.forms import FORMS
from kragx.judging.question import Example, Question, digest_of_example
from kragx.judging.rubric import key_of, words_around
from kragx.judging.template import parts


def request_for(question: Question, key: str, timeout: float) -> Request:
    """The request with which a question is asked, at once or in a batch."""
    form = FORMS[question.rubric.asks]
    return Request(messages(question, key), form.schema(question), timeout, form.about_output)


def messages(question: Question, key: str) -> tuple[Message, ...]:
    """The system message (rubric and rules) and the user message (the fenced texts).

    Under a prompt of the user's own that is the user message, and the rules are the system's.
    """
    rubric, token = question.rubric, key[:16]
    words, rubric_words = words_around(rubric), rubric.words
    rules = words["rules_with_examples" if question.examples else "rules"]
    rules = rules.format(token=token, most=question.most, kind=question.kind)
    blocks = {name: fenced(name, text, token) for name, text in question.texts.items()}
    if rubric.prompt is None:
        system = "\n\n".join(
            (rubric_words["instruction"], f"{words['grades']}\n{rubric_words['grades']}", rules)
        )
        user = "\n\n".join(f"{words[name]}:\n{block}" for name, block in blocks.items())
    else:
        system = rules
        user = _on_lines(parts(rubric.prompt, tuple(rubric_words.items()), tuple(blocks)), blocks)
    if question.examples:
        # What is the same for all questions comes first: providers charge less for it, or nothing.
        mark = words["to_grade"].format(token=token)
        around = tuple((name, words[name]) for name in _AROUND)
        user = "\n\n".join((_graded(question.examples, around), mark, user))
    return ("system", system), ("user", user)


def _on_lines(pieces: Iterable[tuple[str, str]], blocks: Mapping[str, str]) -> str:
    """Words with the blocks that come after them, each block on lines of its own."""
    written = ""
    for words, name in pieces:
        # What touches a block, but for spaces, goes to a line of its own.
        after_block = words.lstrip(" ") if written else words
        written += f"\n{after_block}" if written and after_block[:1] not in "\n" else after_block
        if name:
            written = written.rstrip(" ")
            written += f"\n{blocks[name]}" if written[-1:] not in "\n" else blocks[name]
    return written.strip()


_AROUND = ("examples", "example", "query", "gold", "reference", "example_document", "example_grade")


@lru_cache(maxsize=64)  # the same few for thousands of questions
def _graded(examples: tuple[Example, ...], around: tuple[tuple[str, str], ...]) -> str:
    """Pairs with the grades that people gave them, their texts as data like any others."""
    words = dict(around)
    token = key_of("\n".join(map(digest_of_example, examples)))[:16]
    lines = [words["examples"].format(token=token)]
    for number, example in enumerate(examples, start=1):
        lines.append(words["example"].format(number=number))
        for name, text in example.texts.items():
            called = words["example_document" if name == "document" else name]
            lines.append(f"{called}:\n{fenced(name, text, token)}")
        lines.append(f"{words['example_grade']}: {example.grade}")
    return "\n\n".join(lines)


def fenced(name: str, text: str, token: str) -> str:
    """A text as data: between two lines that carry the token, and unable to close them."""
    return f"<<<{name} {token}>>>\n{escape_control_tokens(text, token)}\n<<<end {token}>>>"


# -- retrieved text without what could pass for a fence or steer a chat model --------------------

# Servers put messages into a chat template and read the whole with the tokens of the template's
# family, whoever wrote them: <|im_end|> in a document may end the user's message. So one sign of
# each such token is replaced by one that looks alike: a bar by ¦, < by ‹, [ by 〔. This is a seat
# belt: it knows the families of today, and no words in so many letters (### System:).

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


def escape_control_tokens(text: str, token: str) -> str:
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

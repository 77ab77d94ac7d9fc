"""Tokens that steer chat models are broken up in judged texts, and nothing else is."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx.judging.prompt import escape_control_tokens
from tests.thoroughness import all_cases, examples

FENCE = "f3a9c1d27b604e85"

# By family, as their tokenizers and chat templates write them.
TOKENS = [
    *(
        "<|im_start|>",
        "<|im_end|>",
        "<|im_sep|>",
        "<|endoftext|>",
        "<|fim_prefix|>",
    ),
    *("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"),
    *("<|python_tag|>", "<|header_start|>", "<|eot|>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    *("<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<mask>"),  # SentencePiece
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]"),  # Mistral
    *("[/TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]", "[CALL_ID]"),
    *("<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<unused42>", "<|turn>", "<turn|>"),
    *(
        "<｜begin▁of▁sentence｜>",
        "<｜User｜>",
        "<｜Assistant｜>",
        "<｜tool▁calls▁begin｜>",
    ),
    *("<｜end▁of▁sentence｜>", "<｜fim▁hole｜>", "<think>", "</think>", "<thought>", "</thought>"),
    *(
        "[|system|]",
        "[|user|]",
        "[|assistant|]",
        "[|endofturn|]",
        "[BOS]",
        "[EOS]",
        "[EOT]",
    ),
    *("[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|observation|>"),  # GLM
    *("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<BOS_TOKEN>", "<EOS_TOKEN>"),  # Command R
    *("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|start_of_role|>", "<|end_of_role|>"),
    *("<｜hy_User｜>", "<｜hy_place▁holder▁no▁2｜>", "<|startoftext|>", "<|extra_0|>"),  # Hunyuan
    *("<|im_system|>", "<|im_middle|>", "<|tool_calls_section_begin|>"),  # Kimi
    *("<|start|>", "<|channel|>", "<|message|>", "<|return|>", "<|call|>"),  # gpt-oss
    *("<extra_id_0>", "<extra_id_99>", "<SPECIAL_10>", "<reserved_106>", "<TOKENS_UNUSED_1>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "<tools>", "</tools>", "<function=f>"),
    *(
        "<parameter=p>",
        "]~b]",
        "]~!b[",
        "[e~[",
        "<minimax:tool_call>",
        "<seed:bos>",
        "<seed:think>",
    ),
    *("<beginning_of_sentence>", "<end_of_sentence>", "<eoh>", "<eoa>"),
]
WIDE = str.maketrans("<>[]|", "＜＞［］｜")


def plain(text: str) -> str:
    """A text in small ASCII signs, without the spaces next to what delimits tokens."""
    text = text.translate({wide: sign for sign, wide in WIDE.items()}).lower()
    text = re.sub(r"(?<=[<\[|/=])\s{1,4}(?!\s)", "", text)
    return re.sub(r"(?<!\s)\s{1,4}(?=[>\]|/=])", "", text)


def spaced(token: str, gap: str) -> str:
    """A token with spaces between its name and its signs."""
    inner = re.fullmatch(r"([<\[]+[|｜]?/?)(.*?)([|｜]?[>\]]+)", token)
    return token if inner is None else gap.join(inner.groups())


@all_cases("token", TOKENS)
def test_each_token(token):
    """No token survives: in any case, with spaces, with full-width signs."""
    forms = [token, token.upper(), token.lower(), spaced(token, " "), spaced(token, "  ")]
    for form in [*forms, *(form.translate(WIDE) for form in forms)]:
        result = escape_control_tokens(f"가{form}나 {form}{form}", FENCE)
        assert plain(token) not in plain(result), form
        assert len(result) == len(f"가{form}나 {form}{form}")


PIECES = [
    *TOKENS,
    *"<>[]|｜/ \n",
    "<|",
    "|>",
    "<<",
    "im_end",
    "s",
    "SYS",
    "inst",
    "a",
    "한글",
    FENCE,
]


@st.composite
def hostile(draw):
    """Texts of tokens and their pieces, one inside another, in any case, with spaces."""
    text = ""
    for piece in draw(st.lists(st.sampled_from(PIECES), max_size=12)):
        form = draw(st.sampled_from([str, str.upper, str.lower, lambda one: spaced(one, " ")]))(
            piece
        )
        at = draw(st.integers(0, len(text)))
        text = text[:at] + form + text[at:]
    return text


@examples(300)
@given(hostile())
def test_whatever_is_built_of_them(text):
    """None survives, overlapping and nested ones either, and a second time nothing changes."""
    result = escape_control_tokens(text, FENCE)
    shown = plain(result)
    assert not [token for token in TOKENS if plain(token) in shown]
    assert "<<<" not in result
    assert FENCE not in result.lower()
    assert escape_control_tokens(result, FENCE) == result


@examples(300)
@given(st.text(alphabet="<>[]|｜/▁ ab_s1=~!\n"))
def test_only_signs_change(text):
    """Each change is one sign for one that looks alike; letters, digits and spaces stay."""
    result = escape_control_tokens(text, FENCE)
    alike = {"<": "‹", ">": "›", "[": "〔", "]": "〕", "|": "¦", "｜": "¦"}
    assert len(result) == len(text)
    assert all(new in (old, alike.get(old)) for old, new in zip(text, result))


@all_cases(
    "text",
    [
        "if (a << 2 < s && b > s || c >> 1) { std::cout << s << std::endl; }",
        "df |> filter(x > 1) |> mean()  # R;  f <| g <| x in F#",
        "<p>one</p><pre>two</pre><table><tr><td>|</td></tr></table><br/>",
        "x[mask] = a[args][prefix]; d['pad']; rows[sep]; list[int | None]",
        "| name | value |\n|---|:--:|\n| a | [link](http://x) |",
        r"\left< x | y \right> \| v \| [0, 1] \langle \psi | \phi \rangle",
        "vector<string> v; Map<K, V> m; a<b and c>d; 1 < 2 > 1",
        "한국어 글은 <제목> 그대로 [1] 「인용」 《책》 있다.",
        "user: hello\nsystem: ok\n### Instruction:",
    ],
)
def test_ordinary_text_stays(text):
    """Code, HTML, Markdown, LaTeX and prose have signs like these, and no tokens."""
    assert escape_control_tokens(text, FENCE) == text


def test_kragxs_own_texts_stay():
    """Of docs that name no tokens, English and Korean, only fence marks (>>>) are changed."""
    docs = Path(__file__).parents[2] / "docs"
    for path in docs.glob("[!j]*.md"):
        text = path.read_text(encoding="utf-8")
        assert escape_control_tokens(text, FENCE).replace("›››", ">>>") == text, path.name


@pytest.mark.integration
@pytest.mark.parametrize(
    "unit", ["<", "[", "<|", "[|", "< ", "<|a", "| >", "<s", "<extra_id_1", "]~"]
)
def test_time_in_proportion(unit):
    """Four times the text takes no more than some four times as long."""

    def seconds(size):
        text = unit * (size // len(unit))
        best = 1e9
        for _ in range(3):
            start = time.process_time()
            escape_control_tokens(text, FENCE)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(80_000) < 12 * seconds(20_000) + 0.01

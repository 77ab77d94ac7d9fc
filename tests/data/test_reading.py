"""Reading JSON Lines: encodings, line ends, broken lines, streams and surrogates."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kragx import DataError, Evaluation, evaluate, read_gold, read_results
from kragx.data.source import Reading

from .support import written

LINE = json.dumps({"query_id": "가", "query": "물음", "retrieved": []}, ensure_ascii=False)
SECOND = json.dumps({"query_id": "나", "query": "둘째", "retrieved": []}, ensure_ascii=False)


def ids(content: bytes, folder: Path) -> list[str]:
    """The query ids of a file with this content."""
    path = folder / "file.jsonl"
    path.write_bytes(content)
    return [query.id for query in read_gold(path)]


@pytest.mark.parametrize(
    "content",
    [
        f"{LINE}\n{SECOND}\n",
        f"{LINE}\n{SECOND}",
        f"\ufeff{LINE}\n{SECOND}\n",
        f"{LINE}\r\n{SECOND}\r\n",
        f"\ufeff{LINE}\r\n{SECOND}",
        f"\n\n{LINE}\n\n  \t\n{SECOND}\n\n\n",
        f"\ufeff\n{LINE}\n{SECOND}\n",
        f"\r\n{LINE}\r\n\r\n{SECOND}\r\n\r\n",
        f"  {LINE}  \n\t{SECOND}\n",
    ],
    ids=repr,
)
def test_bom_line_ends_and_blank_lines_do_not_matter(content: str, tmp_path: Path) -> None:
    """A BOM, Windows line ends, blank lines and a missing last line end change nothing."""
    assert ids(content.encode(), tmp_path) == ["가", "나"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0c", "\x1c"])
def test_only_line_feeds_end_lines(separator: str, tmp_path: Path) -> None:
    """Other separators inside a text do not cut its line in two."""
    line = json.dumps({"query_id": f"가{separator}나"}, ensure_ascii=False)
    assert ids(line.encode(), tmp_path) == [f"가{separator}나"]


@pytest.mark.parametrize("read", [read_gold, read_results, partial(evaluate, no_gold="zero")])
def test_a_dash_is_standard_input(
    read: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``-`` reads UTF-8 from standard input, whatever the terminal's encoding is."""
    content = f"\ufeff{LINE}\r\n{SECOND}\n".encode()
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stdin)
    value = read("-")
    first = value[0] if isinstance(value, tuple) else value
    assert first.name == "stdin"  # type: ignore[attr-defined]
    is_evaluated = isinstance(first, Evaluation)
    query_ids = first.query_ids if is_evaluated else tuple(query.id for query in first)
    assert query_ids == ("가", "나")


def test_an_error_in_standard_input_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken line of standard input is named as ``-:2``."""
    stdin = io.TextIOWrapper(io.BytesIO(f"{LINE}\n{{\n".encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(DataError, match=r"^-:2: not valid JSON"):
        read_gold("-")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON"),
        ('{"query_id": "b"', "not valid JSON"),
        ('{"query_id": "b", "query": "잘린 물', "not valid JSON"),
        ("{'query_id': 'b'}", "not valid JSON"),
        ('{"query_id": "b"} {"query_id": "c"}', "each line must hold one whole JSON object"),
        ("query_id,query", "not valid JSON"),
        ('["b"]', "a JSON object is expected, not ['b']"),
        ('"b"', "a JSON object is expected, not 'b'"),
        ("5", "a JSON object is expected, not 5"),
        ("null", "a JSON object is expected, not None"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("9" * 5000, "not valid JSON"),
    ],
    ids=lambda value: value[:40],
)
@pytest.mark.parametrize("last", [True, False])
def test_a_broken_line_is_named(line: str, message: str, last: bool, tmp_path: Path) -> None:
    """A broken line, the last one of a truncated file too, is named with file and number."""
    after = [] if last else [SECOND]
    path = written(tmp_path, LINE, "", line, *after)
    if last:
        path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    with pytest.raises(DataError) as caught:
        read_gold(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert message in str(caught.value)


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    """A file that is not UTF-8 is named with its first such line, and what to do."""
    path = tmp_path / "gold.jsonl"
    path.write_bytes(LINE.encode("cp949"))
    with pytest.raises(DataError, match=r"gold\.jsonl:1: not UTF-8 .*save the file as UTF-8"):
        read_gold(path)


def test_a_broken_character_is_named_with_line_and_byte(tmp_path: Path) -> None:
    """A character cut in two is not replaced in silence: line and byte are named."""
    path = tmp_path / "gold.jsonl"
    path.write_bytes(LINE.encode() + b'\n{"query_id": "\xea\xb0"}\n')
    with pytest.raises(DataError, match=r"gold\.jsonl:2: not UTF-8 \(byte 15 of the line\)"):
        read_gold(path)


@pytest.mark.parametrize("content", [b"", b"\n \n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_an_empty_file_is_refused(content: bytes, tmp_path: Path) -> None:
    """A file without a query is an error, not a gold set of nothing."""
    with pytest.raises(DataError, match=r"file\.jsonl: the file holds no query"):
        ids(content, tmp_path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """A missing file and a folder are data errors that name the path."""
    with pytest.raises(DataError, match=r"no_such\.jsonl: cannot be read: No such file"):
        read_gold(tmp_path / "no_such.jsonl")
    with pytest.raises(DataError, match=r"cannot be read"):
        read_results(tmp_path)


def test_a_file_is_read_as_a_stream(tmp_path: Path) -> None:
    """Each query is yielded before the lines after it are read, so a broken end comes last."""
    path = written(tmp_path, LINE, SECOND, "{ broken")
    stream = iter(Reading(path, strict=True))
    assert [next(stream)[1].id, next(stream)[1].id] == ["가", "나"]
    with pytest.raises(DataError, match=":3: not valid JSON"):
        next(stream)


def test_standard_input_is_read_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query is yielded while the writer of a pipe is still writing."""

    def lines():
        yield LINE.encode() + b"\n"
        raise AssertionError("read on before the first query was taken")

    class Stdin:
        buffer = lines()

    monkeypatch.setattr(sys, "stdin", Stdin())
    _, query, _ = next(iter(Reading("-", strict=True)))
    assert query.id == "가"


def test_escaped_surrogates_are_replaced_and_counted(tmp_path: Path) -> None:
    r"""Lone ``\ud800`` escapes in ids, texts, metadata and its keys become U+FFFD, all counted."""
    line = (
        r'{"query_id": "q\ud800", "query": "\uDFFF물음", "reference": "\udbff",'
        r' "gold": [{"id": "g\udc00", "text": "반쪽 \ud83d", "metadata": {"k\ud801": ["\ud802"]},'
        r' "alternatives": [{"id": "\ud803"}]}],'
        r' "retrieved": [{"id": "d\ud804", "text": "\ud805\ud806", "metadata": {"p": "\ud807"}}],'
        r' "metadata": {"deep": {"er": "\ud808"}}}'
    )
    dataset, run = read_results(written(tmp_path, line))
    (query,) = dataset
    assert (query.id, query.text, query.reference) == ("q\ufffd", "\ufffd물음", "\ufffd")
    (gold,) = query.gold
    assert (gold.id, gold.text, gold.metadata) == (
        "g\ufffd",
        "반쪽 \ufffd",
        {"k\ufffd": ["\ufffd"]},
    )
    assert gold.alternatives[0].id == "\ufffd"
    (doc,) = run["q\ufffd"].documents
    assert (doc.id, doc.text, doc.metadata) == ("d\ufffd", "\ufffd\ufffd", {"p": "\ufffd"})
    assert query.metadata == {"deep": {"er": "\ufffd"}}
    assert dataset.n_replaced_surrogates + run.n_replaced_surrogates == 13


@pytest.mark.parametrize("escape", [r"\ud800", r"\uD800", r"\udfff", r"\uDfFF"])
def test_an_escape_may_be_written_in_any_case(escape: str, tmp_path: Path) -> None:
    """A surrogate in metadata alone is mended, in small letters or capitals."""
    line = f'{{"query_id": "a", "metadata": {{"title": "{escape}"}}}}'
    dataset = read_gold(written(tmp_path, line))
    assert dataset["a"].metadata == {"title": "\ufffd"}
    assert dataset.n_replaced_surrogates == 1


def test_whole_pairs_are_kept(tmp_path: Path) -> None:
    """An escaped pair is one character and nothing is replaced or counted."""
    dataset = read_gold(
        written(tmp_path, r'{"query_id": "a", "query": "\ud83d\ude42 \uD83D\uDE42"}')
    )
    assert dataset["a"].text == "🙂 🙂"
    assert dataset.n_replaced_surrogates == 0


def test_an_escaped_backslash_is_not_a_surrogate(tmp_path: Path) -> None:
    r"""A text about ``\ud800`` holds a backslash and letters, which stay as they are."""
    dataset = read_gold(written(tmp_path, r'{"query_id": "a", "query": "\\ud800"}'))
    assert dataset["a"].text == r"\ud800"
    assert dataset.n_replaced_surrogates == 0


def test_surrogates_as_bytes_are_replaced_and_counted(tmp_path: Path) -> None:
    """A surrogate that some tools write as three bytes is mended as an escaped one is."""
    path = tmp_path / "gold.jsonl"
    path.write_bytes(b'{"query_id": "a", "query": "\xed\xa0\xbd!"}\n')
    dataset = read_gold(path)
    assert (dataset["a"].text, dataset.n_replaced_surrogates) == ("\ufffd!", 1)


def test_ids_that_become_equal_by_mending_are_refused(tmp_path: Path) -> None:
    """Two query ids that differ only in what was replaced are the same query, and refused."""
    path = written(tmp_path, r'{"query_id": "a\ud800"}', r'{"query_id": "a\udc00"}')
    with pytest.raises(DataError, match=r":2: query_id: .* stands twice \(first on line 1\)"):
        read_gold(path)


def test_an_evaluation_counts_what_was_replaced(tmp_path: Path) -> None:
    """The result of a results file says how many surrogates were replaced in it."""
    line = r'{"query_id": "a", "gold": [{"id": "\ud800"}], "retrieved": [{"id": "\ud801"}]}'
    result = evaluate(written(tmp_path, line), match="id")
    assert result.counts["n_replaced_surrogates"] == 2


def test_deep_metadata_with_a_surrogate_is_no_crash(tmp_path: Path) -> None:
    """However deep JSON is nested, mending it ends in a query or in a data error."""
    for depth in (500, 900, 950, 980, 5000):
        deep = "[" * depth + r'"\ud800"' + "]" * depth
        path = written(tmp_path, f'{{"query_id": "a", "metadata": {{"deep": {deep}}}}}')
        try:
            assert read_gold(path).n_replaced_surrogates == 1
        except DataError as error:
            assert "nested too deeply" in str(error)  # noqa: PT017

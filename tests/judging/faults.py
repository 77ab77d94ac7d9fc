"""A server that goes wrong in every way that is known, each by its name.

A document that says ``fault NAME`` gets the fault of that name until the server is `well`; any
other gets the grade that it names (``grade-2``). `FAULTS` is the table of them: what a judgement
becomes (the kind of a failure, or kinds; GRADE where the answer is to be used all the same), and
what the server does. Statuses, headers, bodies, connections and contents are the same in every
protocol; the forms of a message are a protocol's own.

A good answer is a chat completion, or what Anthropic's and Ollama's protocols call one.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import threading
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GRADE = None
"""What becomes of a fault that is none: the grade."""

TIMEOUT = 5.0
"""Seconds that the tests' clients wait; a server that hangs does so until it is closed."""

HANGS = 60.0

ANSWER = '{"reason": "as the document says", "grade": 2}'
LISTED = {
    "nuggets": '{"facts": [{"fact": "as the document says", "grade": 1}]}',
    "holds": '{"facts": [{"number": 1, "reason": "as the document says", "grade": 2}]}',
    "questions": '{"questions": [{"question": "Who?", "answer": "as it says", "grade": 2}]}',
}
"""Good answers to questions that are answered with a list."""
LATER = {"date": "Mon, 01 Jan 2024 00:00:00 GMT", "retry-after": "Sun, 31 Dec 2023 00:00:00 GMT"}
AZURE = {
    "code": "content_filter",
    "message": "the prompt was filtered",
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}


# -- what a server does -------------------------------------------------------------------------


def status(code, error=None, **headers):
    """An error in its usual form; `error` may be another message, a whole body, or bytes."""

    def act(exchange):
        body = error
        if error is None or isinstance(error, (str, dict)):
            about = error if isinstance(error, dict) else {"message": error or "it went wrong"}
            body = {"error": {"type": "error", "param": None, "code": None, **about}}
        exchange.reply(body, code, headers)

    return act


def body(raw, code=200, **headers):
    """A body of its own: bytes, a value as JSON, or made from the bytes of the good one."""

    def act(exchange):
        made = raw(exchange.good()) if callable(raw) else raw
        exchange.reply(made, code, headers)

    return act


def says(text):
    """A model that says this."""
    return lambda exchange: exchange.reply(exchange.good(text))


def form(*path_and_value):
    """A good answer in which what stands at this path is something else."""
    *path, last, value = path_and_value

    def act(exchange):
        answer = json.loads(exchange.good())
        inner = answer
        for name in path:
            inner = inner[name]
        if value is MISSING:
            del inner[last]
        else:
            inner[last] = value
        exchange.reply(answer)

    return act


def sends(raw, *, reset=False, then=0.0):
    """Bytes on the bare connection, then silence for some seconds, then its end."""

    def act(exchange):
        sent = raw(exchange.http()) if callable(raw) else raw
        exchange.close_connection = True
        exchange.wfile.write(sent)
        exchange.server.wait(then)
        if reset:
            linger = struct.pack("ii", 1, 0)  # the end is an RST then
            exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            exchange.connection.close()

    return act


def drips(exchange):
    """A good answer, a byte at a time, each well within the time that reading one may take."""
    exchange.close_connection = True
    for byte in exchange.http():
        exchange.wfile.write(bytes([byte]))
        if exchange.server.wait(0.05):
            return


def endless(exchange):
    """200 MB of a JSON text."""
    exchange.close_connection = True
    head = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"choices": "'
    exchange.wfile.write(head)
    for _ in range(200):
        exchange.wfile.write(b"x" * 1_000_000)
        exchange.server.megabytes += 1


def keeps_talking(exchange):
    """A body that is longer than its length."""
    sent = exchange.http()
    head, _, rest = sent.partition(b"\r\n\r\n")
    head = re.sub(rb"content-length: \d+", b"connection: close\r\ncontent-length: 40", head)
    exchange.close_connection = True
    exchange.wfile.write(head + b"\r\n\r\n" + rest)


def answers_twice(exchange):
    """A good answer, and one more with another grade, on a connection that is to be kept."""
    more = exchange.good(ANSWER.replace("2", "1"))
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(more)
    exchange.wfile.write(exchange.http() + head + more)


def goes_away(exchange):
    """A good answer on a connection that is to be kept, and is closed at once."""
    exchange.reply(exchange.good())
    exchange.close_connection = True


def elsewhere(exchange):
    """Another host, which must not learn anything."""
    other = f"http://localhost:{exchange.server.elsewhere.server_address[1]}{exchange.path}"
    exchange.reply({}, 307, {"location": other})


MISSING = object()


# -- the table ----------------------------------------------------------------------------------

STATUSES = {
    "201": (GRADE, body(lambda good: good, 201)),
    "202": (GRADE, body(lambda good: good, 202)),
    "204": ("api_error", body(b"", 204)),
    "205": ("api_error", body(b"", 205)),
    "300": ("api_error", status(300)),
    "301": ("api_error", status(301, location="/v2/chat/completions")),
    "302-to-a-login": ("api_error", body(b"<html>", 302, location="https://user:pass@login/?t=1")),
    "302-nowhere": ("api_error", status(302)),
    "303": ("api_error", status(303, location="/elsewhere")),
    "304": ("api_error", body(b"", 304)),
    "307-loop": ("api_error", status(307, location="/v1/chat/completions")),
    "307-another-host": ("api_error", elsewhere),
    "308": ("api_error", status(308, location="//[broken")),
    "400": ("api_error", status(400)),
    "400-empty": ("api_error", body(b"", 400)),
    "400-html": ("api_error", body(b"<html><h1>Bad Request</h1></html>", 400)),
    "400-list": ("api_error", body([{"error": {"message": "no"}}], 400)),
    "400-brackets": ("api_error", body(b'{"error":' * 9_000, 400)),
    "400-text-error": ("api_error", body({"error": "what is this?"}, 400)),
    "400-code-is-an-object": ("api_error", status(400, {"code": {"a": [1]}, "message": ["x", 1]})),
    "400-too-long": ("length", status(400, {"code": "context_length_exceeded"})),
    "400-too-long-in-words": ("length", status(400, "the maximum context length is 4096 tokens")),
    "400-content-filter": ("content_filter", status(400, AZURE)),
    "400-surrogate": ("api_error", body(b'{"error": {"message": "half \\ud83d of it"}}', 400)),
    "429-in-words": ("rate_limit", status(429, "wait for the next month")),
    "403": ("api_error", status(403, "this text is not for us")),
    "403-html": ("api_error", body(b"<html>Forbidden by the proxy</html>", 403)),
    "404": ("api_error", status(404, "no such page")),
    "404-text": ("api_error", body(b"404 page not found\n", 404)),
    "405": ("api_error", body(b"", 405, allow="GET")),
    "406": ("api_error", status(406)),
    "408": ("timeout", status(408)),
    "409": ("api_error", status(409)),
    "410": ("api_error", status(410)),
    "413": ("length", body(b"Request Entity Too Large", 413)),
    "415": ("api_error", status(415)),
    "418": ("api_error", status(418, "I am a teapot")),
    "422-fastapi": ("api_error", body({"detail": [{"msg": "field required", "loc": ["x"]}]}, 422)),
    "425": ("api_error", status(425)),
    "431": ("api_error", body(b"", 431)),
    "451": ("api_error", status(451)),
    "499": ("api_error", body(b"", 499)),
    "500": ("api_error", status(500)),
    "500-empty": ("api_error", body(b"", 500)),
    "500-null": ("api_error", body(b"null", 500)),
    "500-bad-utf-8": ("api_error", body(b'{"error": "\xff\xfe"}', 500)),
    "500-megabyte": ("api_error", status(500, "sorry " * 200_000)),
    "501": ("api_error", status(501)),
    "502-html": ("api_error", body(b"<html><h1>502 Bad Gateway</h1></html>", 502)),
    "503": ("api_error", status(503, {"type": "overloaded_error"})),
    "504": ("api_error", body(b"upstream request timeout", 504)),
    "520": ("api_error", body(b"error code: 520", 520)),
    "529-overloaded": ("api_error", status(529, {"type": "overloaded_error"})),
    "599": ("api_error", body(b"", 599)),
    "700": ("api_error", body(b"", 700)),
    "999": ("api_error", body(lambda good: good, 999)),
}

HEADERS = {
    "429": ("rate_limit", status(429)),
    "429-wait-none": ("rate_limit", status(429, retry_after="0")),
    "429-wait-negative": ("rate_limit", status(429, retry_after="-5")),
    "429-wait-garbage": ("rate_limit", status(429, retry_after="soon, I hope")),
    "429-wait-nan": ("rate_limit", status(429, retry_after="nan")),
    "429-wait-infinite": ("rate_limit", status(429, retry_after="inf")),
    "429-wait-empty": ("rate_limit", status(429, retry_after="")),
    "429-wait-in-the-past": ("rate_limit", status(429, **LATER)),
    "429-wait-year-1": ("rate_limit", status(429, retry_after="Mon, 01 Jan 0001 00:00:00 GMT")),
    "429-wait-ms-garbage": ("rate_limit", status(429, retry_after_ms="1e999")),
    "503-wait": ("api_error", status(503, retry_after="1")),
    "says-html": (GRADE, body(lambda good: good, content_type="text/html")),
    "says-nothing": (GRADE, body(lambda good: good, content_type="")),
    "says-event-stream": (GRADE, body(lambda good: good, content_type="text/event-stream")),
    "unknown-charset": (GRADE, body(lambda good: good, content_type="text/x; charset=klingon")),
    **{
        f"charset-{name}": (
            GRADE,
            body(lambda good: good, content_type=f"application/json; charset={name}"),
        )
        for name in ("utf-16", "hex", "base64", "undefined", "zip", "rot13", "punycode", '"')
    },
    "500-charset-hex": ("api_error", status(500, content_type="text/plain; charset=hex")),
    "header-of-bytes": (GRADE, body(lambda good: good, x_name="\xff\xfe \xe9")),
    "many-cookies": (GRADE, body(lambda good: good, set_cookie="a=b; " * 2_000)),
    "gzip": (GRADE, body(gzip.compress, content_encoding="gzip")),
    "gzip-in-capitals": (GRADE, body(gzip.compress, content_encoding="GZIP")),
    "deflate": (GRADE, body(zlib.compress, content_encoding="deflate")),
    "gzip-that-is-none": ("api_error", body(lambda good: good, content_encoding="gzip")),
    "gzip-cut": (
        "api_error",
        body(lambda good: gzip.compress(good)[:-12], content_encoding="gzip"),
    ),
    "gzip-of-garbage": ("api_error", body(lambda _: gzip.compress(b"\0"), content_encoding="gzip")),
    "gzip-bomb": (
        "api_error",
        body(lambda _: gzip.compress(bytes(9 << 20)), content_encoding="gzip"),
    ),
    "gzip-not-said": ("api_error", body(gzip.compress)),
    "packed-otherwise": ("api_error", body(b"\x8b\x00\x80", content_encoding="br")),
    "packed-twice": ("api_error", body(lambda good: good, content_encoding="gzip, gzip")),
    "packed-as-nonsense": ("api_error", body(lambda good: good, content_encoding="rot13")),
}

BODIES = {
    "empty": ("api_error", body(b"")),
    "blank": ("api_error", body(b" \r\n ")),
    "null": ("api_error", body(b"null")),
    "true": ("api_error", body(b"true")),
    "number": ("api_error", body(b"2")),
    "string": ("api_error", body(b'"grade 2"')),
    "list": ("api_error", body(b"[]")),
    "list-of-a-good-one": ("api_error", body(lambda good: b"[" + good + b"]")),
    "object": ("api_error", body(b"{}")),
    "half": ("api_error", body(lambda good: good[: len(good) // 2])),
    "twice": ("api_error", body(lambda good: good + good)),
    "trailing-text": ("api_error", body(lambda good: good + b"\nthat was it")),
    "html": ("api_error", body(b"<!doctype html><title>Log in</title>")),
    "xml": ("api_error", body(b'<?xml version="1.0"?><error/>')),
    "plain-text": ("api_error", body(b"upstream is starting")),
    "events": ("api_error", body(lambda good: b"data: " + good + b"\n\ndata: [DONE]\n\n")),
    "events-error": ("api_error", body(b'event: error\ndata: {"error": "overloaded"}\n\n')),
    "comment-first": ("api_error", body(lambda good: b": keep-alive\n\n" + good + b"\n: x")),
    "byte-order-mark": (GRADE, body(lambda good: b"\xef\xbb\xbf" + good)),
    "utf-16": ("api_error", body(lambda good: good.decode().encode("utf-16"))),
    "bad-utf-8": ("api_error", body(lambda good: good.replace(b"says", b"\xc3\x28\xff"))),
    "cp949": ("api_error", body(lambda good: good.replace(b"says", "말한다".encode("cp949")))),
    "zero-bytes": ("api_error", body(lambda good: good.replace(b"says", b"\0\0"))),
    "brackets": ("api_error", body(b"[" * 100_000)),
    "braces": ("api_error", body(b'{"a":' * 50_000)),
    "nested": ("api_error", body(b"[" * 5_000 + b"]" * 5_000)),
    "nested-a-little-less": ("api_error", body(b"[" * 900 + b"]" * 900)),
    "megabyte-of-blanks": (GRADE, body(lambda good: good + b" " * 1_000_000)),
    "error": ("api_error", body({"error": {"message": "it went wrong"}})),
    "error-text": ("api_error", body({"error": "it went wrong"})),
    "error-rate-limit": ("rate_limit", body({"error": {"code": "rate_limit_exceeded"}})),
    "error-429": ("rate_limit", body({"error": {"code": 429, "message": "slow down"}})),
    "error-502": ("api_error", body({"error": {"code": 502, "message": "upstream"}})),
    "error-too-long": ("length", body({"error": {"code": "context_length_exceeded"}})),
    "error-filtered": ("content_filter", body({"error": AZURE})),
    "error-is-a-list": ("api_error", body({"error": ["it", "went", "wrong"]})),
    "error-is-a-number": ("api_error", body({"error": 7})),
    "error-is-nested": ("api_error", body({"error": {"error": {"error": {"message": "deep"}}}})),
    "detail": ("api_error", body({"detail": "it went wrong"})),
    "message": ("api_error", body({"message": "no such route", "code": 5})),
}

CONNECTIONS = {
    "closed": ("connection", sends(b"")),
    "reset": ("connection", sends(b"", reset=True)),
    "half-a-status": ("connection", sends(b"HTTP/1.1 20")),
    "half-the-headers": ("connection", sends(lambda good: good[:40])),
    "reset-after-headers": (
        "connection",
        sends(lambda good: good.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", reset=True),
    ),
    "half-the-body": ("connection", sends(lambda good: good[:-30])),
    "half-the-body-reset": ("connection", sends(lambda good: good[:-30], reset=True)),
    "half-the-body-hangs": ("timeout", sends(lambda good: good[:-30], then=HANGS)),
    "hangs": ("timeout", sends(b"", then=HANGS)),
    "hangs-after-a-status": ("timeout", sends(b"HTTP/1.1 200 OK\r\n", then=HANGS)),
    "drips": ("timeout", drips),
    "no-http": ("connection", sends(b"hello, this is FTP\r\n")),
    "tls": ("connection", sends(b"\x15\x03\x03\x00\x02\x02\x28")),
    "http-0.9": ("connection", sends(b'{"choices": []}')),
    "http-2": ("connection", sends(b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80")),
    "endless-headers": ("connection", sends(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000)),
    "bad-header": ("connection", sends(b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n")),
    "bad-status": ("connection", sends(b"HTTP/1.1 abc OK\r\n\r\n")),
    "length-is-no-number": ("connection", sends(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n")),
    "length-negative": ("connection", sends(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n")),
    "lengths-differ": (
        "connection",
        sends(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
    ),
    "length-too-short": ("api_error", keeps_talking),
    "bad-chunk": (
        "connection",
        sends(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    ),
    "chunks-cut": (
        "connection",
        sends(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    ),
    "early-hints": (GRADE, sends(lambda good: b"HTTP/1.1 103 Early Hints\r\n\r\n" + good)),
    "without-length": (
        GRADE,
        sends(lambda good: re.sub(rb"content-length: \d+\r\n", b"", good)),
    ),
    "answers-twice": (GRADE, answers_twice),
    "kept-alive-and-closed": (GRADE, goes_away),
}

CONTENTS = {
    "content-empty": ("api_error", says("")),
    "content-blank": ("api_error", says(" \n")),
    "prose": ("invalid_json", says("I would say that this is a 2 out of 3.")),
    "prose-around": ("invalid_json", says(f"Here you are: {ANSWER}")),
    "prose-after": ("invalid_json", says(f"{ANSWER}\nI hope that this helps!")),
    "thoughts-before": ("invalid_json", says(f"<think>grade 3?</think>{ANSWER}")),
    "cut": ("invalid_json", says(ANSWER[:-1])),
    "cut-in-the-reason": ("invalid_json", says(ANSWER[:20])),
    "answer-twice": ("invalid_json", says(ANSWER * 2)),
    "fence": (GRADE, says(f"```json\n{ANSWER}\n```")),
    "fence-bare": (GRADE, says(f"\n```\n{ANSWER}\n```\n")),
    "fence-and-prose": ("invalid_json", says(f"```json\n{ANSWER}\n```\nas I said")),
    "fences": ("invalid_json", says(f"```json\n{ANSWER}\n```\n```json\n{ANSWER}\n```")),
    "fence-open": ("invalid_json", says(f"```json\n{ANSWER}")),
    "fence-of-prose": ("invalid_json", says("```\ngrade 2\n```")),
    "mark-first": (GRADE, says(f"\ufeff{ANSWER}")),
    "single-quotes": ("invalid_json", says("{'reason': 'x', 'grade': 2}")),
    "trailing-comma": ("invalid_json", says('{"reason": "x", "grade": 2,}')),
    "comment": ("invalid_json", says('{"reason": "x", "grade": 2} // sure')),
    "json-null": ("invalid_json", says("null")),
    "json-number": ("invalid_json", says("2")),
    "json-string": ("invalid_json", says(json.dumps(ANSWER))),
    "json-list": ("invalid_json", says(f"[{ANSWER}]")),
    "json-empty": ("invalid_json", says("{}")),
    "json-deep": ("invalid_json", says("[" * 9_000)),
    "json-deep-grade": (
        "invalid_json",
        says(f'{{"reason": "x", "grade": {"[" * 900}{"]" * 900}}}'),
    ),
    "grade-twice": ("invalid_json", says('{"reason": "x", "grade": 2, "grade": 3}')),
    "reason-twice": ("invalid_json", says('{"reason": "x", "reason": "y", "grade": 2}')),
    "grade-nan": ("invalid_json", says('{"reason": "x", "grade": NaN}')),
    "grade-infinity": ("invalid_json", says('{"reason": "x", "grade": -Infinity}')),
    "grade-float": ("invalid_json", says('{"reason": "x", "grade": 2.0}')),
    "grade-exponent": ("invalid_json", says('{"reason": "x", "grade": 2e0}')),
    "grade-text": ("invalid_json", says('{"reason": "x", "grade": "2"}')),
    "grade-true": ("invalid_json", says('{"reason": "x", "grade": true}')),
    "grade-false": ("invalid_json", says('{"reason": "x", "grade": false}')),
    "grade-null": ("invalid_json", says('{"reason": "x", "grade": null}')),
    "grade-list": ("invalid_json", says('{"reason": "x", "grade": [2]}')),
    "grade-object": ("invalid_json", says('{"reason": "x", "grade": {"value": 2}}')),
    "grade-missing": ("invalid_json", says('{"reason": "x"}')),
    "grade-in-capitals": ("invalid_json", says('{"reason": "x", "GRADE": 2}')),
    "grade-negative": ("out_of_range", says('{"reason": "x", "grade": -1}')),
    "grade-above": ("out_of_range", says('{"reason": "x", "grade": 4}')),
    "grade-huge": ("out_of_range", says(f'{{"reason": "x", "grade": 1{"0" * 400}}}')),
    "grade-of-5000-digits": ("invalid_json", says(f'{{"reason": "x", "grade": 1{"0" * 5000}}}')),
    "reason-missing": ("invalid_json", says('{"grade": 2}')),
    "reason-null": ("invalid_json", says('{"reason": null, "grade": 2}')),
    "reason-number": ("invalid_json", says('{"reason": 2, "grade": 2}')),
    "one-key-more": ("invalid_json", says('{"reason": "x", "grade": 2, "sure": true}')),
    "reason-empty": (GRADE, says('{"reason": "", "grade": 2}')),
    "reason-megabyte": (GRADE, says(f'{{"reason": "{"so " * 350_000}", "grade": 2}}')),
    "reason-surrogate": (GRADE, says('{"reason": "half \\ud83d of it", "grade": 2}')),
    "reason-zero-byte": (GRADE, says('{"reason": "a\\u0000b", "grade": 2}')),
    "reason-escapes": (GRADE, says('{"reason": "\\u001b[2J\\u0007\\u009b31m", "grade": 2}')),
    "reason-emoji": (GRADE, says('{"reason": "\\ud83d\\ude00 이모지", "grade": 2}')),
}

# The forms of a chat completion, as servers that are nearly compatible send them.
_CHOICE = ("choices", 0)
_MESSAGE = ("choices", 0, "message")
_TEXT = {"type": "text", "text": ANSWER}
_HALVES = [{"type": "text", "text": ANSWER[:9]}, {"type": "text", "text": ANSWER[9:]}]
_THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "grade 3?"}]}
_CALL = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
_TOKENS = ("usage", "prompt_tokens")
_OTHER = {
    "index": 1,
    "message": {"role": "assistant", "content": ANSWER.replace("2", "0")},
    "finish_reason": "stop",
}
_ITSELF = {
    "index": 0,
    "message": {"role": "assistant", "content": ANSWER},
    "finish_reason": "stop",
}
OPENAI_FORMS = {
    "choices-null": ("api_error", form("choices", None)),
    "choices-missing": ("api_error", form("choices", MISSING)),
    "choices-empty": ("api_error", form("choices", [])),
    "choices-object": ("api_error", form("choices", {"0": {"message": {"content": ANSWER}}})),
    "choices-text": ("api_error", form("choices", ANSWER)),
    "choice-null": ("api_error", form("choices", [None])),
    "choice-text": ("api_error", form("choices", [ANSWER])),
    "choice-of-completions": ("api_error", form("choices", [{"text": ANSWER}])),
    "choice-of-a-stream": ("api_error", form("choices", [{"delta": {"content": ANSWER}}])),
    "choice-error": ("api_error", form(*_CHOICE, "error", {"code": 502, "message": "upstream"})),
    "choice-error-429": ("rate_limit", form(*_CHOICE, "error", {"code": 429, "message": "slow"})),
    "choices-of-two": (GRADE, form("choices", [_ITSELF, _OTHER])),
    "choices-of-two-turned-round": (GRADE, form("choices", [_OTHER, _ITSELF])),
    "message-null": ("api_error", form(*_MESSAGE, None)),
    "message-missing": ("api_error", form(*_MESSAGE, MISSING)),
    "message-text": ("api_error", form(*_MESSAGE, ANSWER)),
    "message-list": ("api_error", form(*_MESSAGE, [{"content": ANSWER}])),
    "message-empty": ("api_error", form(*_MESSAGE, {})),
    "content-null": ("api_error", form(*_MESSAGE, "content", None)),
    "content-missing": ("api_error", form(*_MESSAGE, "content", MISSING)),
    "content-object": ("invalid_json", form(*_MESSAGE, "content", json.loads(ANSWER))),
    "content-number": ("invalid_json", form(*_MESSAGE, "content", 2)),
    "content-true": ("invalid_json", form(*_MESSAGE, "content", True)),
    "content-part": (GRADE, form(*_MESSAGE, "content", [_TEXT])),
    "content-halves": (GRADE, form(*_MESSAGE, "content", _HALVES)),
    "content-after-thoughts": (GRADE, form(*_MESSAGE, "content", [_THOUGHT, _TEXT])),
    "content-thoughts-alone": ("api_error", form(*_MESSAGE, "content", [_THOUGHT])),
    "content-no-parts": ("api_error", form(*_MESSAGE, "content", [])),
    "content-odd-parts": ("api_error", form(*_MESSAGE, "content", [None, 2, {"type": "text"}])),
    "content-refusal-part": (
        "refusal",
        form(*_MESSAGE, "content", [{"type": "refusal", "refusal": "I would rather not."}]),
    ),
    "reasoning-alone": (
        "api_error",
        form(*_MESSAGE, {"content": "", "reasoning_content": f"It is {ANSWER}"}),
    ),
    "reasoning-cut": (
        "length",
        form(
            *_CHOICE, {"message": {"content": None, "reasoning": "hm"}, "finish_reason": "length"}
        ),
    ),
    "refusal": ("refusal", form(*_MESSAGE, {"content": None, "refusal": "I would rather not."})),
    "refusal-object": ("refusal", form(*_MESSAGE, {"content": None, "refusal": {"why": 1}})),
    "refusal-empty": (GRADE, form(*_MESSAGE, "refusal", "")),
    "tool-call": ("invalid_json", form(*_MESSAGE, {"content": None, "tool_calls": [_CALL]})),
    "tool-calls-null": (GRADE, form(*_MESSAGE, "tool_calls", None)),
    "role-odd": (GRADE, form(*_MESSAGE, "role", 7)),
    "finish-length": ("length", form(*_CHOICE, "finish_reason", "length")),
    "finish-filter": ("content_filter", form(*_CHOICE, "finish_reason", "content_filter")),
    "finish-error": ("api_error", form(*_CHOICE, "finish_reason", "error")),
    "finish-unknown": (GRADE, form(*_CHOICE, "finish_reason", "eos")),
    "finish-odd": ("api_error", form(*_CHOICE, "finish_reason", "tired")),
    "finish-odd-and-nothing": (
        "api_error",
        form(*_CHOICE, _OTHER | {"finish_reason": "guardrail"}),
    ),
    "finish-null": (GRADE, form(*_CHOICE, "finish_reason", None)),
    "finish-object": (GRADE, form(*_CHOICE, "finish_reason", {"type": "stop"})),
    "error-beside": ("api_error", form("error", {"message": "half of it is missing"})),
    "error-null": (GRADE, form("error", None)),
    "id-null": (GRADE, form("id", None)),
    "object-odd": (GRADE, form("object", ["chat"])),
    "created-text": (GRADE, form("created", "yesterday")),
    "created-nan": (GRADE, body(lambda good: good.replace(b"1700000000", b"NaN"))),
    "model-null": (GRADE, form("model", None)),
    "model-number": (GRADE, form("model", 4.1)),
    "model-megabyte": (GRADE, form("model", "m" * 1_000_000)),
    "model-surrogate": (GRADE, form("model", "half \ud83d")),
    "fingerprint-object": (GRADE, form("system_fingerprint", {"a": 1})),
    "usage-null": (GRADE, form("usage", None)),
    "usage-missing": (GRADE, form("usage", MISSING)),
    "usage-text": (GRADE, form("usage", "a lot")),
    "usage-list": (GRADE, form("usage", [1, 2])),
    "usage-empty": (GRADE, form("usage", {})),
    "usage-floats": (GRADE, form("usage", {"prompt_tokens": 12.5, "completion_tokens": 3.0})),
    "usage-texts": (GRADE, form("usage", {"prompt_tokens": "12", "completion_tokens": "many"})),
    "usage-true": (GRADE, form(*_TOKENS, True)),
    "usage-negative": (GRADE, form(*_TOKENS, -5)),
    "usage-10^30": (GRADE, form(*_TOKENS, 10**30)),
    "usage-nan": (GRADE, form(*_TOKENS, float("nan"))),
    "usage-infinite": (GRADE, form(*_TOKENS, float("inf"))),
    "usage-object": (GRADE, form(*_TOKENS, {"total": 3})),
    "usage-details-text": (GRADE, form("usage", "prompt_tokens_details", "cached")),
    "usage-details-list": (GRADE, form("usage", "completion_tokens_details", [1])),
    "usage-more-cached": (
        GRADE,
        form("usage", "prompt_tokens_details", {"cached_tokens": 10**8}),
    ),
}

ENDLESS = {"body-of-200-MB": ("api_error", endless)}

# The forms of a message of Anthropic's. Where a tool was offered, the answer is its input.
_BLOCK = {"type": "text", "text": ANSWER}
_USE = {"type": "tool_use", "id": "t", "name": "judgement"}
ANTHROPIC_FORMS = {
    "content-null": ("api_error", form("content", None)),
    "content-missing": ("api_error", form("content", MISSING)),
    "content-empty-list": ("api_error", form("content", [])),
    "content-text": ("api_error", form("content", ANSWER)),
    "content-object": ("api_error", form("content", _BLOCK)),
    "block-null": ("api_error", form("content", [None])),
    "block-unknown": ("api_error", form("content", [{"type": "song", "song": "la"}])),
    "block-text": (GRADE, form("content", [_BLOCK])),
    "block-thoughts-first": (
        GRADE,
        form("content", [{"type": "thinking", "thinking": "3?", "signature": "s"}, _BLOCK]),
    ),
    "block-thoughts-alone": (
        "api_error",
        form("content", [{"type": "thinking", "thinking": ANSWER, "signature": "s"}]),
    ),
    "input-null": (("invalid_json", "api_error"), form("content", [{**_USE, "input": None}])),
    "input-text": (("invalid_json", "api_error"), form("content", [{**_USE, "input": "2"}])),
    "input-list": (("invalid_json", "api_error"), form("content", [{**_USE, "input": [2]}])),
    "input-empty": ("invalid_json", form("content", [{**_USE, "input": {}}])),
    "stop-max-tokens": ("length", form("stop_reason", "max_tokens")),
    "stop-refusal": ("refusal", form("stop_reason", "refusal")),
    "stop-unknown": ("api_error", form("stop_reason", "tired")),
    "stop-null": (GRADE, form("stop_reason", None)),
    "role-odd": (GRADE, form("role", "poet")),
    "type-odd": (GRADE, form("type", "massage")),
    "model-null": (GRADE, form("model", None)),
    "error-anthropic": (
        "rate_limit",
        body({"type": "error", "error": {"type": "rate_limit_error"}}),
    ),
    "error-overloaded": (
        "api_error",
        body({"type": "error", "error": {"type": "overloaded_error"}}),
    ),
    "usage-zero": (GRADE, form("usage", {"input_tokens": 0, "output_tokens": 0})),
    "usage-null": ((GRADE, "api_error"), form("usage", None)),
    "usage-missing": ((GRADE, "api_error"), form("usage", MISSING)),
    "usage-text": ((GRADE, "api_error"), form("usage", "input_tokens", "many")),
    "usage-negative": (GRADE, form("usage", "input_tokens", -5)),
    "usage-10^30": (GRADE, form("usage", "input_tokens", 10**30)),
}

# The lines of Ollama's protocol.
OLLAMA_FORMS = {
    "message-null": ("api_error", form("message", None)),
    "message-missing": ("api_error", form("message", MISSING)),
    "message-text": ("api_error", form("message", ANSWER)),
    "content-null": ("api_error", form("message", "content", None)),
    "content-object": ("api_error", form("message", "content", {"grade": 2})),
    "content-list": ("api_error", form("message", "content", [ANSWER])),
    "thoughts-alone": (
        "api_error",
        form("message", {"role": "assistant", "content": "", "thinking": ANSWER}),
    ),
    "two-lines": (GRADE, body(lambda good: _lines(good, 20))),
    "second-line-broken": ("api_error", body(lambda good: _lines(good, 20)[:-40])),
    "second-line-missing": ("invalid_json", body(lambda good: _lines(good, 20).split(b"\n")[0])),
    "second-line-error": (
        "api_error",
        body(lambda good: _lines(good, 20).split(b"\n")[0] + b'\n{"error": "out of memory"}\n'),
    ),
    "error-line": ("api_error", body({"error": "model runner has unexpectedly stopped"})),
    "done-length": ("length", form("done_reason", "length")),
    "done-load": ("api_error", form("message", {"role": "assistant", "content": ""})),
    "done-null": (GRADE, form("done_reason", None)),
    "done-unknown": ("api_error", form("done_reason", "tired")),
    "counts-missing": (GRADE, form("eval_count", MISSING)),
    "counts-null": (GRADE, form("prompt_eval_count", None)),
    "counts-text": ((GRADE, "api_error"), form("eval_count", "many")),
    "counts-negative": (GRADE, form("eval_count", -5)),
    "counts-10^30": ((GRADE, "api_error"), form("eval_count", 10**30)),
    "model-null": (GRADE, form("model", None)),
}


def _lines(good, length):
    """A good answer of Ollama's in two lines, the first with so many letters of it."""
    last = json.loads(good)
    text = last["message"]["content"]
    first = last | {"done": False, "message": {"role": "assistant", "content": text[:length]}}
    first = {name: first[name] for name in ("model", "created_at", "message", "done")}
    last["message"]["content"] = text[length:]
    return b"\n".join(json.dumps(line).encode() for line in (first, last)) + b"\n"


ANY_PROTOCOL = {**STATUSES, **HEADERS, **BODIES, **CONNECTIONS, **CONTENTS}
FAULTS = {
    "openai": {**ANY_PROTOCOL, **ENDLESS, **OPENAI_FORMS},
    "anthropic": {**ANY_PROTOCOL, **ENDLESS, **ANTHROPIC_FORMS},
    "ollama": {**ANY_PROTOCOL, **ENDLESS, **OLLAMA_FORMS},
}
"""What may go wrong in each protocol, by name: (what becomes of a judgement, what is done)."""

STOPPING = {
    "401": ("api_error", status(401, {"code": "invalid_api_key", "message": "no such key"})),
    "402": ("rate_limit", status(402, "Insufficient Balance")),
    "404-no-model": ("api_error", status(404, {"code": "model_not_found"})),
    "429-quota": ("rate_limit", status(429, {"code": "insufficient_quota"})),
    "200-quota": ("rate_limit", body({"error": {"code": "insufficient_quota"}})),
    "400-credit": ("rate_limit", status(400, "Your credit balance is too low")),
}
"""Those after which every other question would fail the same way."""


# -- the server ---------------------------------------------------------------------------------


class FaultServer(ThreadingHTTPServer):
    """The server; `well` ends its faults.

    `asked` counts how often each document was asked for, `n_connections` the connections.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Exchange)
        self.well = False
        self.asked = Counter()
        self.megabytes = 0
        self.n_connections = 0
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.elsewhere = None

    @property
    def address(self):
        """Without a path."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def base_url(self):
        """What a client of chat completions is told."""
        return f"{self.address}/v1"

    def wait(self, seconds):
        """Wait; whether the server was closed meanwhile."""
        return self.over.wait(seconds) if seconds else False

    def handle_error(self, request, client_address):
        """A client that went away is no news."""


@contextmanager
def faulty():
    """A running server, and another one elsewhere that nothing must reach."""
    servers = FaultServer(), FaultServer()
    servers[0].elsewhere = servers[1]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield servers[0]
    finally:
        for server in servers:
            server.over.set()
            server.shutdown()
            server.server_close()


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0

    def setup(self):
        """A connection more."""
        super().setup()
        with self.server.lock:
            self.server.n_connections += 1

    def do_POST(self):
        """Answer, as the document says."""
        self.asks = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = str(self.asks).rsplit("<<<document", 1)[-1]
        document = re.search(r"(fault \S+ )?grade-(\d)", text)
        with self.server.lock:
            self.server.asked[document[0]] += 1
        self.grade = document[2]
        name = (document[1] or "").removeprefix("fault ").strip()
        act = goes_well
        if name and not self.server.well:
            _, act = (FAULTS[self.protocol] | STOPPING)[name]
        with suppress(ConnectionError):  # a client that has had enough
            act(self)

    def do_GET(self):
        """What a redirect that is followed would ask."""
        with self.server.lock:
            self.server.asked["GET"] += 1
        self.reply({}, 404)

    @property
    def protocol(self):
        """By the path."""
        ends = {"/messages": "anthropic", "/api/chat": "ollama"}
        return next((name for end, name in ends.items() if self.path.endswith(end)), "openai")

    def good(self, text=None):
        """The bytes of a good answer in the protocol's form; `text` is what the model says."""
        if text is None:
            text = LISTED[kind] if (kind := self.listed) else ANSWER.replace("2", self.grade)
        made = json.dumps(FORMS[self.protocol](self.asks, text))
        return made.replace(json.dumps(AS_IT_IS), text).encode()

    @property
    def listed(self):
        """What is asked for that is answered with a list; None for a grade."""
        asked = str(self.asks)
        kinds = {
            "Numbered facts": "holds",
            "Importance of a fact": "nuggets",
            "Difficulty of a question": "questions",
        }
        return next((kind for words, kind in kinds.items() if words in asked), None)

    def http(self):
        """A good answer with its status and headers."""
        good = self.good()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(good)}"
        return head.encode() + b"\r\n\r\n" + good

    def reply(self, made, code=200, headers=()):
        """Send a response; names of headers with underscores."""
        sent = made if isinstance(made, bytes) else json.dumps(made).encode()
        named = {"content_type": "application/json", **dict(headers)}
        lines = [f"HTTP/1.1 {code} {'OK' if code == 200 else 'No'}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
        bare = code in (204, 304)
        lines += [] if bare else [f"content-length: {len(sent)}"]
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        self.wfile.write(head + (b"" if bare else sent))

    def log_message(self, *args):
        """Say nothing."""


def goes_well(exchange):
    """A good answer."""
    exchange.reply(exchange.good())


def chat_completion(asks, text):
    """As OpenAI sends it, as a tool's call where tools were offered."""
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": f"{asks['model']}-2025-01-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


AS_IT_IS = "<what the model says, with all its mistakes>"


def anthropic_message(asks, text):
    """As Anthropic sends it: the use of a tool, but where the model says no object."""
    block, reason = {"type": "text", "text": text}, "end_turn"
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(text), dict):
            name, reason = asks["tools"][0]["name"], "tool_use"
            block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": AS_IT_IS}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{asks['model']}-2025-01-01",
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def ollama_line(asks, text):
    """As Ollama sends it, in one line."""
    return {
        "model": f"{asks['model']}-2025-01-01",
        "created_at": "2025-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 100,
        "eval_count": 20,
    }


FORMS = {"openai": chat_completion, "anthropic": anthropic_message, "ollama": ollama_line}

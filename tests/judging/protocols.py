"""The local server in the protocols of Anthropic, Ollama and Gemini, beside OpenAI's.

The same words in a document mean the same; see `tests.judging.server`. What a protocol has no
word for is said as its services do: Ollama's models refuse in prose, and Gemini's filter does.
"""

from __future__ import annotations

import json

from tests.judging.server import Handler

USED = 20  # tokens of an answer


def text_of(content):
    """The text of a message, which may be a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


class Polyglot(Handler):
    """One connection; the path says in which protocol."""

    @property
    def protocol(self):
        """Whose it is."""
        kinds = {"/messages": "anthropic", "/api/chat": "ollama", ":generateContent": "gemini"}
        return next((kind for end, kind in kinds.items() if self.path.endswith(end)), "openai")

    def body(self):
        """What was asked, with the messages as OpenAI has them."""
        body = super().body()
        if self.protocol == "gemini":
            said = [body.get("systemInstruction", {"parts": ""}), *body["contents"]]
            body["messages"] = [{"content": text_of(content["parts"])} for content in said]
            body["model"] = self.path.rpartition("/")[2].partition(":")[0]
        if self.protocol == "anthropic":
            said = [body.get("system", ""), *(each["content"] for each in body["messages"])]
            body["messages"] = [{"content": text_of(content)} for content in said]
        return body

    def say(self, body, content, refusal=None, finish="stop"):
        """An answer in the protocol's form; after ``farewell`` the connection is closed."""
        if "farewell" in body["messages"][-1]["content"]:
            self.close_connection = True
        own = getattr(self, f"say_{self.protocol}", None)
        if own is None:
            super().say(body, content, refusal, finish)
        else:
            sent = sum(len(str(each["content"])) for each in body["messages"]) // 4
            self.reply(200, own(body, content, refusal, finish, sent))

    def say_anthropic(self, body, content, refusal, finish, sent):
        """A message: a block of text, or the use of a tool if tools were offered."""
        block = {"type": "text", "text": content or refusal or ""}
        ending = {"length": "max_tokens", "content_filter": "refusal"}.get(finish, "end_turn")
        if body.get("tools") and content is not None:
            try:
                called = json.loads(content)
            except ValueError:
                called = {} if finish == "length" else None  # cut off, or prose
            if called is not None:
                name = body["tools"][0]["name"]
                block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": called}
                ending = "tool_use" if finish == "stop" else ending
        return {
            "id": "msg_local",
            "type": "message",
            "role": "assistant",
            "model": f"{body['model']}-20250101",
            "content": [] if ending == "refusal" else [block],
            "stop_reason": "refusal" if refusal else ending,
            "stop_sequence": None,
            "usage": {
                "input_tokens": sent,
                "output_tokens": USED,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 0,
            },
        }

    def say_ollama(self, body, content, refusal, finish, sent):
        """One line, the first and last of what could be a stream."""
        return {
            "model": f"{body['model']}:latest",
            "created_at": "2025-01-01T00:00:00.000000Z",
            "message": {"role": "assistant", "content": content or refusal or ""},
            "done": True,
            "done_reason": finish,
            "total_duration": 1,
            "prompt_eval_count": sent,
            "eval_count": USED,
        }

    def say_gemini(self, body, content, refusal, finish, sent):
        """A candidate."""
        endings = {"length": "MAX_TOKENS", "content_filter": "PROHIBITED_CONTENT"}
        ending = "SAFETY" if refusal else endings.get(finish, "STOP")
        candidate = {"index": 0, "finishReason": ending}
        if content is not None:
            candidate["content"] = {"role": "model", "parts": [{"text": content}]}
        return {
            "candidates": [candidate],
            "modelVersion": f"{body['model']}-001",
            "usageMetadata": {
                "promptTokenCount": sent,
                "candidatesTokenCount": USED,
                "totalTokenCount": sent + USED,
            },
        }

    def error(self, status, code, message, headers=()):
        """An error in the protocol's form."""
        forms = {
            "anthropic": {"type": "error", "error": {"type": code, "message": message}},
            "ollama": {"error": message},
            "gemini": {"error": {"code": status, "message": message, "status": code.upper()}},
        }
        if self.protocol in forms:
            self.reply(status, forms[self.protocol], headers)
        else:
            super().error(status, code, message, headers)

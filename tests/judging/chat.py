"""A small LangChain chat model over the `openai` client, for tests without another package."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import AsyncOpenAI

ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class SmallChat(BaseChatModel):
    """Asks with a tool, as most integrations do for structured output."""

    model: str = "local-judge"
    base_url: str
    seconds: float = 30.0

    @property
    def _llm_type(self) -> str:
        return "small"

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Any:
        """Offer tools; the first must be called."""
        offered = [convert_to_openai_tool(tool) for tool in tools]
        choice = {"type": "function", "function": {"name": offered[0]["function"]["name"]}}
        return self.bind(tools=offered, tool_choice=choice)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        sent = [{"role": ROLES[each.type], "content": each.content} for each in messages]
        asked = {name: kwargs[name] for name in ("tools", "tool_choice") if name in kwargs}
        async with AsyncOpenAI(
            api_key="none", base_url=self.base_url, max_retries=0, timeout=self.seconds
        ) as client:
            done = await client.chat.completions.create(model=self.model, messages=sent, **asked)
        choice = done.choices[0]
        calls = [
            {"name": call.function.name, "args": call.function.arguments, "id": call.id}
            for call in choice.message.tool_calls or ()
        ]
        message = AIMessage(
            content=choice.message.content or "",
            additional_kwargs={
                "refusal": choice.message.refusal,
                "tool_calls": [
                    {
                        "id": call["id"],
                        "type": "function",
                        "function": {"name": call["name"], "arguments": call["args"]},
                    }
                    for call in calls
                ],
            },
            **_parsed(calls),
            response_metadata={
                "model_name": done.model,
                "system_fingerprint": done.system_fingerprint,
                "finish_reason": choice.finish_reason,
            },
            usage_metadata={
                "input_tokens": done.usage.prompt_tokens,
                "output_tokens": done.usage.completion_tokens,
                "total_tokens": done.usage.total_tokens,
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _parsed(calls: Any) -> Any:
    try:
        return {"tool_calls": [{**call, "args": json.loads(call["args"])} for call in calls]}
    except ValueError:
        wrong = [{**call, "error": "not JSON", "type": "invalid_tool_call"} for call in calls]
        return {"invalid_tool_calls": wrong}

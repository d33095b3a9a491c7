"""Runs tool-calling loops against the server with openai and langchain-openai. Prints one JSON object."""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import OpenAI

model = sys.argv[1]


@tool
def add(a: float, b: float) -> float:
    """Adds."""
    return a + b


def langchain_loop(**options):
    chat = ChatOpenAI(model=model, max_retries=0, **options).bind_tools([add])
    messages = [HumanMessage("2+3=")]
    results = []
    for _ in range(5):
        reply = None
        for part in chat.stream(messages) if options.get("streaming") else [chat.invoke(messages)]:
            reply = part if reply is None else reply + part
        if not reply.tool_calls:
            return [results, reply.text != ""]
        messages.append(reply)
        for call in reply.tool_calls:
            results.append(add.invoke(call["args"]))
            messages.append(ToolMessage(str(results[-1]), tool_call_id=call["id"]))
    return "no end"


def openai_loop():
    client = OpenAI(max_retries=0)
    parameters = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    tools = [{"type": "function", "function": {"name": "add", "parameters": parameters}}]
    messages = [{"role": "user", "content": "2+3="}]
    results = []
    for _ in range(5):
        with client.chat.completions.stream(model=model, messages=messages, tools=tools) as stream:
            choice = stream.get_final_completion().choices[0]
        if choice.finish_reason != "tool_calls":
            return [results, choice.message.content != "", choice.finish_reason == "stop"]
        messages.append(choice.message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        for call in choice.message.tool_calls:
            results.append(add.invoke(json.loads(call.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(results[-1])})
    return "no end"


json.dump(
    {
        "openai": openai_loop(),
        "chat": langchain_loop(),
        "streamed": langchain_loop(streaming=True),
        "responses": langchain_loop(use_responses_api=True),
    },
    sys.stdout,
)

"""Chat messages as nodes of a verifiers trace (0.4)."""

import json


def append_messages(trace, messages, sampled=True):
    """Appends messages to the only branch of a trace. `sampled`: whether the model wrote the assistant's messages."""
    from verifiers.v1.graph import MessageNode

    for message in messages:
        parent = len(trace.nodes) - 1 if trace.nodes else None
        trace.nodes.append(MessageNode(parent=parent, message=message, sampled=sampled and message.role == "assistant"))


def tool_turn(trace, calls, results):
    """Returns the messages of one turn: the assistant's calls and their results."""
    from verifiers.v1.types import AssistantMessage, ToolCall, ToolMessage

    first = sum(len(message.tool_calls or []) for message in trace.assistant_messages) + 1
    made = [
        ToolCall(id=f"call_{first + place}", name=str(call["name"]), arguments=_arguments(call["arguments"]))
        for place, call in enumerate(calls)
    ]
    answers = [
        ToolMessage(tool_call_id=call.id, name=call.name, content=str(result["value"]))
        for call, result in zip(made, results)
    ]
    return [AssistantMessage(content=None, tool_calls=made or None), *answers]


def from_chat(messages):
    """Converts chat messages from a trainer or a dataset to the library's messages."""
    from verifiers.v1.types import AssistantMessage, SystemMessage, ToolMessage, UserMessage

    found, waiting, count = [], [], 0
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "system":
            found.append(SystemMessage(content=content))
        elif role == "user":
            found.append(UserMessage(content=content))
        elif role == "assistant":
            calls, waiting = message.get("tool_calls") or [], []
            for call in calls:
                count += 1
                waiting.append((f"call_{count}", call.get("function") or call))
            found.append(AssistantMessage(content=_text(content), tool_calls=[_call(*one) for one in waiting] or None))
        elif role == "tool":
            identifier, call = waiting.pop(0) if waiting else ("call_0", {"name": message.get("name") or "tool"})
            found.append(ToolMessage(tool_call_id=identifier, name=str(call.get("name")), content=_text(content) or ""))
    return found


def _call(identifier, function):
    from verifiers.v1.types import ToolCall

    return ToolCall(id=identifier, name=str(function.get("name")), arguments=_arguments(function.get("arguments")))


def _arguments(value):
    return value if isinstance(value, str) else json.dumps(value)


def _text(content):
    if content is None or isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content if isinstance(part, dict))

"""Lists and calls tools of an MCP server with the official client.

Reads a JSON object from standard input: `servers`, each with `mode` and either `command`, `args` and `env` or `url` and
`token`; and `calls`, each with `tool`, `arguments` and, for paged tools, `limit`. A value in `arguments` that is an object
{"of": INDEX, "key": KEY} stands for a value from an earlier answer. Prints each server's answers, and the resources
that it lists afterwards.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from importlib.metadata import version

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def call(client, tool, arguments):
    """Returns the structured content, which must be the same as the text."""
    result = await client.call_tool(tool, arguments)
    [block] = result.content
    answer = json.loads(block.text)
    if result.is_error:
        return answer
    assert answer == result.structured_content, tool
    return answer


async def paged(client, tool, arguments, limit):
    """Returns the items of all pages, and the number of pages."""
    items, cursor, pages = [], 0, 0
    while cursor is not None:
        answer = await call(client, tool, {**arguments, "limit": limit, "cursor": cursor})
        if "error" in answer:
            return answer
        assert len(answer["items"]) <= limit, tool
        items += answer["items"]
        cursor = answer.get("next_cursor")
        pages += 1
    return {"items": items, "pages": pages}


def filled(arguments, answers):
    """Returns arguments with values from earlier answers filled in."""
    taken = lambda value: isinstance(value, dict) and set(value) == {"of", "key"}
    return {
        name: answers[value["of"]][value["key"]] if taken(value) else value for name, value in arguments.items()
    }


async def transport(stack, server):
    if "url" in server:
        headers = {"Authorization": f"Bearer {server['token']}"}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        return streamable_http_client(server["url"], http_client=http)
    return stdio_client(StdioServerParameters(command=server["command"], args=server["args"], env=server["env"]))


async def talk(server, calls):
    async with AsyncExitStack() as stack:
        opened = await transport(stack, server)
        client = await stack.enter_async_context(Client(opened, mode=server["mode"], read_timeout_seconds=60))
        tools = (await client.list_tools()).tools
        answers = []
        for each in calls:
            arguments = filled(each["arguments"], answers)
            if "limit" in each:
                answers.append(await paged(client, each["tool"], arguments, each["limit"]))
            else:
                answers.append(await call(client, each["tool"], arguments))
        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        prompts = (await client.list_prompts()).prompts
        return {
            "protocol": client.protocol_version,
            "server": client.server_info.name,
            "tools": [{"name": tool.name, "read_only": tool.annotations.read_only_hint} for tool in tools],
            "prompts": [prompt.name for prompt in prompts],
            "resources": resources,
            "answers": answers,
        }


async def main():
    request = json.load(sys.stdin)
    said = [await talk(server, request["calls"]) for server in request["servers"]]
    print(json.dumps({"version": version("mcp"), "servers": said}))


asyncio.run(main())

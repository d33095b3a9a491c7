"""Queries the server with the official openai client. Prints one JSON object."""

import json
import sys

from openai import BadRequestError, OpenAI

client = OpenAI(max_retries=0)
model = client.models.list().data[0].id
chat = [{"role": "user", "content": "1+1="}]
said = {"model": model}

reply = client.chat.completions.create(
    model=model, messages=[{"role": "system", "content": "Be brief."}, *chat], n=3, logprobs=True, top_logprobs=2
)
said["chat"] = [choice.message.content for choice in reply.choices]
said["reasoning"] = reply.choices[0].message.reasoning_content
said["chat_tokens"] = "".join(token.token for token in reply.choices[0].logprobs.content)

stopped = client.chat.completions.create(model=model, messages=chat, stop=["2"])
said["stopped"] = [stopped.choices[0].message.content, stopped.choices[0].finish_reason]

prefilled = client.chat.completions.create(
    model=model, messages=[*chat, {"role": "assistant", "content": "<think>one "}]
)
said["prefilled"] = prefilled.choices[0].message.reasoning_content

with client.chat.completions.stream(model=model, messages=chat) as stream:
    said["streamed"] = "".join(event.delta for event in stream if event.type == "content.delta")

texts = client.completions.create(model=model, prompt=["1+1=", "2+2="], n=2, echo=True)
said["completions"] = [choice.text for choice in texts.choices]
generated = client.completions.create(model=model, prompt="1+1=", logprobs=1).choices[0]
said["generated"] = ["".join(generated.logprobs.tokens), generated.text]

# A checkpoint scores the given tokens and generates one more.
checkpoint = OpenAI(base_url=sys.argv[1], max_retries=0)
read = checkpoint.completions.create(
    model=checkpoint.models.list().data[0].id, prompt="3+4=<answer>7</answer>", echo=True, logprobs=1, max_tokens=1
).choices[0]
said["read"] = {
    "text": read.text,
    "tokens": read.logprobs.tokens,
    "lengths": [len(read.logprobs.token_logprobs), len(read.logprobs.top_logprobs), len(read.logprobs.text_offset)],
    "offsets": read.logprobs.text_offset,
}

response = client.responses.create(model=model, instructions="Be brief.", input="1+1=")
said["response"] = [response.status, response.output_text]
with client.responses.stream(model=model, input="1+1=") as stream:
    said["response_streamed"] = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    said["response_final"] = stream.get_final_response().output_text

try:
    client.chat.completions.create(model=model, messages=[{"role": "user", "content": "\u00e4"}])
except BadRequestError as error:
    said["refused"] = [error.status_code, error.code]
try:
    client.chat.completions.create(
        model=model, messages=chat, tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}]
    )
except BadRequestError as error:
    said["tools"] = [error.status_code, error.param]
json.dump(said, sys.stdout)

"""Queries the server with langchain-openai: chat, batch, stream, responses, log-probabilities. Prints one JSON object.
"""

import json
import sys

from langchain_openai import ChatOpenAI, OpenAI

model = sys.argv[1]
messages = [("system", "Be brief."), ("human", "1+1=")]
chat = ChatOpenAI(model=model, max_retries=0)
scored = ChatOpenAI(model=model, max_retries=0, logprobs=True).invoke(messages)
responses = ChatOpenAI(model=model, max_retries=0, use_responses_api=True)
batch = chat.batch([[("human", "1+1=")], [("human", "2+2=")]] * 20)
json.dump(
    {
        "chat": chat.invoke(messages).content,
        "streamed": "".join(part.content for part in chat.stream(messages)),
        "batch": sorted(message.content for message in batch),
        "response": responses.invoke(messages).text,
        "logprobs": len(scored.response_metadata["logprobs"]["content"]),
        "text": OpenAI(model=model, max_retries=0).invoke("2+2="),
    },
    sys.stdout,
)

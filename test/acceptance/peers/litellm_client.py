"""Queries the server with litellm: chat, stream, text completion. Prints one JSON object."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

litellm.telemetry = False
base = {"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
model = sys.argv[1]
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1="}]
chat = litellm.completion(model=f"openai/{model}", messages=messages, **base)
parts = litellm.completion(model=f"openai/{model}", messages=messages, stream=True, **base)
text = litellm.text_completion(model=f"text-completion-openai/{model}", prompt="2+2=", **base)
json.dump(
    {
        "chat": chat.choices[0].message.content,
        "reasoning": chat.choices[0].message.reasoning_content,
        "tokens": chat.usage.completion_tokens,
        "streamed": "".join(part.choices[0].delta.content or "" for part in parts),
        "text": text.choices[0].text,
    },
    sys.stdout,
)

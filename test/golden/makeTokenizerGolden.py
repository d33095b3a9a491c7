"""Writes test/fixtures/golden/tokenizer.json: how Hugging Face `tokenizers` handles our tokenizer.json.

Usage: pip install tokenizers; node test/golden/tokenizerInput.ts | python3 test/golden/makeTokenizerGolden.py
"""

import json
import pathlib
import sys

import tokenizers

given = json.load(sys.stdin)
tokenizer = tokenizers.Tokenizer.from_str(given["tokenizer"])
cases = []
for text in given["texts"]:
    with_bos = tokenizer.encode(text)
    plain = tokenizer.encode(text, add_special_tokens=False)
    cases.append(
        {
            "text": text,
            "ids": plain.ids,
            "promptIds": with_bos.ids,
            "decoded": tokenizer.decode(with_bos.ids),
        }
    )
unknown = []
for text in given["unknown"]:
    try:
        tokenizer.encode(text)
        unknown.append(False)
    except Exception:
        unknown.append(True)
out = {
    "tokenizers": tokenizers.__version__,
    "tokenizer": given["tokenizer"],
    "cases": cases,
    "unknown": [{"text": text, "fails": fails} for text, fails in zip(given["unknown"], unknown)],
}
path = pathlib.Path(__file__).parent.parent / "fixtures" / "golden" / "tokenizer.json"
rows = ",\n".join(json.dumps(case) for case in out.pop("cases"))
path.write_text(json.dumps(out)[:-1] + ',\n"cases": [\n' + rows + "\n]}\n")

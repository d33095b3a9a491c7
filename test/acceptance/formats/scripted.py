"""An OpenAI-compatible server that adds the numbers in the last message, and is off by one every second time."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    calls = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = request["messages"][-1]["content"].replace("?", "").split()
        Model.calls += 1
        total = sum(int(word) for word in words if word.isdigit()) + (Model.calls % 2 == 0)
        body = {
            "id": f"chatcmpl-{Model.calls}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": request["model"],
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": f"It is {total}."}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serve():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()

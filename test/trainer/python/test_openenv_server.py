"""Replies of servers that are not OpenEnv servers."""

from __future__ import annotations

import socket
import threading

import pytest
from _reward_host.module_file import LoadFault
from _reward_host.openenv_server import read_json

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "reply",
    [b"SSH-2.0-OpenSSH_9.6\r\n", HEAD + b"Content-Length: 9000\r\n\r\n{'", HEAD + b"\r\n" + b"[" * 100_000],
    ids=["another protocol", "cut off", "nested"],
)
def test_a_server_of_another_kind_is_unavailable(reply: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(LoadFault) as raised:
            read_json(f"http://127.0.0.1:{listening.getsockname()[1]}/schema")
        thread.join()
    assert raised.value.data["reason"] == "unavailable"

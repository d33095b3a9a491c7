"""Runs an OpenEnv folder's server in a thread of this process, and sends requests to any OpenEnv server."""

import http.client
import importlib
import json
import os
import socket
import sys
import threading
import time
import urllib.parse
import urllib.request

from . import libraries

_MAX_BYTES = 4 << 20
_SECONDS = 10
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class FolderServer:
    """Serves the app specified in a folder's openenv.yaml on a free loopback port. The server stops when this process exits."""

    def __init__(self, folder, passing=()):
        declared = _declared_in(folder)
        self.name = str(declared.get("name") or os.path.basename(folder))
        application = self._load(folder, str(declared.get("app") or "server.app:app"), passing)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._serve(application)

    def _load(self, folder, named, passing):
        module, _, attribute = named.partition(":")
        # Environments import their models relative to the folder or to its parent.
        sys.path[:0] = [folder, os.path.dirname(folder)]
        try:
            loaded = importlib.import_module(module)
            libraries.require_from_folder(loaded, folder)
            return getattr(loaded, attribute or "app")
        except passing:
            raise
        except libraries.LoadFault:
            raise
        except BaseException as error:
            raise libraries.imported_fault(error, f"{named} in {folder}")

    def _serve(self, application):
        import uvicorn

        config = uvicorn.Config(application, log_level="critical", lifespan="on", ws_ping_interval=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[self._socket]), name="openenv-server", daemon=True)
        thread.start()
        end = time.monotonic() + 30
        while not server.started:
            if not thread.is_alive() or time.monotonic() > end:
                raise libraries.fault("invalid", f"The server for {self.name} did not start")
            time.sleep(0.01)


def _declared_in(folder):
    path = os.path.join(folder, "openenv.yaml")
    try:
        import yaml

        with open(path, encoding="utf-8") as file:
            declared = yaml.safe_load(file.read(1 << 20))
    except Exception as error:
        raise libraries.fault("invalid", f"{path} cannot be read ({error})", file=path)
    if not isinstance(declared, dict):
        raise libraries.fault("invalid", f"{path} is not a mapping", file=path)
    return declared


def web_address(written):
    """Returns the HTTP URL of a server. Raises LoadFault."""
    parts = urllib.parse.urlsplit(written)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    if scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise libraries.fault("invalid", f"{written} is not a server address", "Use http://HOST:PORT.")
    return urllib.parse.urlunsplit((scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def read_json(address, optional=False):
    """Returns the object at an address. Redirects are not followed. Raises LoadFault."""
    handlers = [_NoRedirects()]
    if urllib.parse.urlsplit(address).hostname in _LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(address, timeout=_SECONDS) as reply:
            text = reply.read(_MAX_BYTES + 1)
        if len(text) > _MAX_BYTES:
            raise ValueError("the reply is too long")
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ValueError("the reply is not an object")
        return value
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        if optional:
            return {}
        base = address.rpartition("/")[0]
        message = f"No OpenEnv server responded at {base} ({error})"
        raise libraries.fault("unavailable", message, "Check the address, and that the server is running.")

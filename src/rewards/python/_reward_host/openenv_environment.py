"""Adapts an OpenEnv environment (`openenv-core` 0.3): its actions are tools, and the sum of its rewards is the reward,
as in the library's own integrations. The library's client connects to a server at an address, or to one started from a
folder with openenv.yaml.
"""

import json
import os
import re

from . import libraries
from .openenv_server import FolderServer, read_json, web_address
from .plain_schema import plain_tool

_NAMES = ("openenv-core", "openenv")
_OLDEST = (0, 3)
# Action schema titles in environments whose actions are the tools of an MCP server.
_MCP_TITLES = ("Action", "CallToolAction", "ListToolsAction")
# Columns of a row that are not arguments of reset.
_NOT_RESET = ("prompt", "answer", "calls", "tools")
_REWARDS = ("sum", "last")


class OpenEnvEnvironment:
    """Raises LoadFault if the server cannot be used."""

    def __init__(self, target, arguments, passing=()):
        self._passing = passing
        # The library's client would follow redirects to any other server (websockets/asyncio/client.py reads this once).
        os.environ["WEBSOCKETS_MAX_REDIRECTS"] = "1"
        module, self.version = libraries.require(_NAMES, "openenv.core.generic_client", _OLDEST)
        self._client_type = module.GenericEnvClient
        self.sums = _summed(arguments)
        self._folder = target if os.path.isabs(target) else None
        self._server = None if self._folder is None else FolderServer(self._folder, passing)
        self.address = web_address(target) if self._server is None else self._server.address
        schema = read_json(f"{self.address}/schema")
        metadata = read_json(f"{self.address}/metadata", optional=True)
        self.name = str(metadata.get("name") or (self._server.name if self._server else "OpenEnv"))[:200]
        self._about = str(metadata.get("description") or "")[:2000]
        try:
            self.actions = self._actions_of(schema.get("action") if isinstance(schema.get("action"), dict) else {})
        except (AttributeError, TypeError, KeyError) as error:
            raise libraries.fault("invalid", f"The actions of {self.address} cannot be read ({_words(error)})")
        if not self.actions:
            raise libraries.fault("invalid", f"The actions of {self.address} cannot be described as tools")
        # Servers accept one session by default. Instances then share it, one episode at a time.
        self.concurrent = self._accepts_two()
        self._only = None

    @property
    def files(self):
        return [] if self._folder is None else libraries.local_files_below(self._folder)

    def describe(self):
        return {
            "name": re.sub(r"\W+", "_", self.name).strip("_") or "OpenEnv",
            "tools": [
                {"name": name, "isAsync": False, "location": None, "schema": schema, "fault": None}
                for name, (schema, _) in self.actions.items()
            ],
            "resetParameters": ["seed"],
            "resetTakesAll": True,
            "asyncReset": False,
            "ownsReward": True,
            "reportsDone": True,
            "location": {"line": 1, "endLine": 1},
            "places": {},
            "library": f"openenv {self.version}",
            "concurrent": self.concurrent,
        }

    def rows(self, count):
        """Returns rows that differ by seed: OpenEnv has no datasets."""
        prompt = self._about or self.name
        return [{"prompt": prompt, "answer": None, "seed": seed} for seed in range(count)]

    def create(self):
        if self.concurrent:
            return OpenEnvEpisode(self, _Session(self))
        self._only = self._only or _Session(self)
        return OpenEnvEpisode(self, self._only)

    def tools_of(self, instance):
        return {name: _tool(instance, payload) for name, (_, payload) in self.actions.items()}

    def connect(self):
        """Returns a connected client. Raises EpisodeEnd."""
        client = self._client_type(base_url=self.address).sync()
        try:
            client.connect()
        except self._passing:
            raise
        except Exception as error:
            raise self.vanished(error)
        return client

    def vanished(self, error):
        return libraries.EpisodeEnd("server", f"The server {self.address} cannot be reached ({_words(error)}). Start it again.")

    def total(self, rewards):
        return float(sum(rewards)) if self.sums else float(rewards[-1] if rewards else 0.0)

    def _actions_of(self, schema):
        """Returns {tool: (plain schema, function from arguments to the action)}."""
        if schema.get("title") in _MCP_TITLES:
            return self._mcp_actions()
        variants = schema.get("oneOf") or schema.get("anyOf") or [schema]
        definitions = schema.get("$defs") or {}
        actions = {}
        for variant in variants:
            reference = str(variant.get("$ref", "")).rpartition("/")[2]
            variant = {"$defs": definitions, **(definitions.get(reference) or variant)}
            properties = variant.get("properties") or {}
            # The tool already determines the field that distinguishes the variants.
            fixed = {key: value["const"] for key, value in properties.items() if isinstance(value, dict) and "const" in value}
            name = _tool_name(variant.get("title"))
            about = variant.get("description") or self._about
            if name in actions:
                raise libraries.fault("invalid", f"Two actions of {self.address} are named {name}")
            shown = plain_tool(name, about, variant, without=("metadata", *fixed))
            actions[name] = (shown, _with(fixed))
        return actions

    def _mcp_actions(self):
        client = self.connect()
        try:
            observation = client.step({"type": "list_tools"}).observation
        except self._passing:
            raise
        except Exception as error:
            raise libraries.fault("invalid", f"{self.address} does not list its tools ({_words(error)})")
        finally:
            client.close()
        tools = observation.get("tools") if isinstance(observation, dict) else None
        return {
            str(tool["name"]): (plain_tool(str(tool["name"]), tool.get("description"), tool.get("input_schema")), _calling(tool))
            for tool in (tools if isinstance(tools, list) else [])
            if isinstance(tool, dict) and str(tool.get("name")).isidentifier()
        }

    def _accepts_two(self):
        clients = []
        try:
            for _ in range(2):
                clients.append(self.connect())
                try:
                    clients[-1].state()
                except RuntimeError as error:
                    if "CAPACITY_REACHED" in str(error):
                        return False
            return True
        except libraries.EpisodeEnd as error:
            raise libraries.fault("unavailable", str(error))
        except self._passing:
            raise
        except Exception:
            return False
        finally:
            for client in clients:
                client.close()


class _Session:
    """A connection to the server, which runs one episode at a time."""

    def __init__(self, environment):
        self._environment = environment
        self._client = None
        self.owner = None

    def ask(self, work):
        """Runs a request. Raises RuntimeError if the server rejects it, and EpisodeEnd if the server is gone."""
        if self._client is None:
            self._client = self._environment.connect()
        try:
            return work(self._client)
        except RuntimeError as error:
            message = str(error)
            # The server answered. Anything else means that the connection is unusable.
            if not message.startswith("Server error:"):
                self.close()
                raise self._environment.vanished(error)
            if any(code in message for code in ("CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR")):
                self.close()
                raise libraries.EpisodeEnd("server", f"The server {self._environment.address} rejected the episode: {message}")
            raise
        except Exception as error:
            self.close()
            raise self._environment.vanished(error)

    def close(self):
        client, self._client = self._client, None
        if client is not None:
            try:
                client.close()
            except Exception:
                pass


class OpenEnvEpisode:
    """One episode in progress."""

    def __init__(self, environment, session):
        self._environment = environment
        self._session = session
        self._rewards = []
        self.done = False

    def reset(self, **row):
        self._rewards, self.done = [], False
        self._session.owner = self
        given = {key: value for key, value in row.items() if key not in _NOT_RESET and value is not None}
        result = self._session.ask(lambda client: client.reset(**given))
        return self._observe(result)

    def act(self, action):
        if self._session.owner is not self:
            raise libraries.EpisodeEnd(
                "server", f"The server {self._environment.address} runs one episode at a time, and another has started"
            )
        if self.done:
            raise ValueError("The episode is over.")
        return self._observe(self._session.ask(lambda client: client.step(action)))

    @property
    def turn_rewards(self):
        """Step rewards, if the episode earns their sum."""
        return self._rewards if self._environment.sums else None

    def get_reward(self):
        return self._environment.total(self._rewards)

    def _observe(self, result):
        self.done = bool(result.done)
        reward = result.reward
        if reward is not None:
            if not isinstance(reward, (int, float)):
                raise libraries.EpisodeEnd("invalid", f"The server returned {type(reward).__name__} as a reward")
            self._rewards.append(float(reward))
        return _text_of(result.observation)

    def _summary(self):
        state = {}
        if self._session.owner is self:
            try:
                state = self._session.ask(lambda client: client.state())
            except (Exception, libraries.EpisodeEnd) as error:
                state = {"state": f"({_words(error)})"}
        # Episode ids are random, so they would look like nondeterminism.
        shown = {key: value for key, value in state.items() if key != "episode_id"} if isinstance(state, dict) else {}
        return {**shown, "rewards": list(self._rewards)}

    def _close(self):
        if self._environment.concurrent:
            self._session.close()


def _summed(arguments):
    unknown = [key for key in arguments if key != "reward"]
    value = arguments.get("reward", "sum")
    if unknown or value not in _REWARDS:
        message = f'Unknown argument "{unknown[0]}"' if unknown else f'"reward" cannot be {json.dumps(value)}'
        raise libraries.fault("invalid", message, 'OpenEnv environments have one argument: {"reward": "sum"} or {"reward": "last"}.')
    return value == "sum"


def _tool(instance, payload):
    return lambda **arguments: instance.act(payload(arguments))


def _with(fixed):
    return lambda arguments: {**arguments, **fixed}


def _calling(tool):
    return lambda arguments: {"type": "call_tool", "tool_name": tool["name"], "arguments": arguments}


def _tool_name(title):
    """Returns `guess_word` for `GuessWordAction`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"Action$", "", str(title or ""))).lower()
    return name if name.isidentifier() else "step"


def _text_of(observation):
    """Returns an observation as text: a single text field unchanged, the result of an MCP tool (None if it has none),
    or JSON.
    """
    if isinstance(observation, dict) and {"tool_name", "result", "error"} <= observation.keys():
        error = observation["error"]
        if error is not None:
            raise ValueError(str(error.get("message") if isinstance(error, dict) else error))
        return None if observation["result"] is None else _result_text(observation["result"])
    if isinstance(observation, dict) and len(observation) == 1:
        (only,) = observation.values()
        if isinstance(only, str):
            return only
    return json.dumps(observation, ensure_ascii=False)


def _result_text(result):
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        texts = [part.get("text") for part in result["content"] if isinstance(part, dict)]
        if texts and all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _words(error):
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]

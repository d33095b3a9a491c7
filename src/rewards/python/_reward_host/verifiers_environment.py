"""Adapts a verifiers package (0.4): tasks are rows, toolsets are tools, and the task's rewards are the reward.
Everything comes from the library: tasks and configurations from its loaders, tools from its MCP server, rewards and
stop conditions from `Task`. Only its model loop is replaced, because here the caller is the model.
"""

import inspect
import itertools
import os
import sys

from . import libraries
from .plain_schema import plain_tool
from .scoring import event_loop
from .tool_calls import ToolFailed
from .verifiers_messages import append_messages, from_chat, tool_turn

_OLDEST = (0, 4)
# Library internals (0.4) that this adapter relies on; later versions might not have them.
_INTERNAL = {"verifiers.v1.mcp.server": ("_call_state",), "verifiers.v1.session": ("hook_boundary",)}
_MAX_CACHED = 100_000


class VerifiersEnvironment:
    """Raises LoadFault if the package cannot be used."""

    def __init__(self, target, arguments, passing=()):
        self._passing = passing
        _, self.version = libraries.require(("verifiers",), "verifiers.v1", _OLDEST)
        self._check_library()
        self.folder = target if os.path.isabs(target) else None
        self.identifier = target if self.folder is None else _named_in(self.folder)
        self._taskset = self._open(arguments)
        self._config = self._taskset.config.task
        self._task_type = type(self._taskset).task_type()
        self._iterator = None
        self._tasks = []
        self._shared = self._start(type(self._taskset).toolsets(self._taskset.config))
        self._schemas = self._list_tools()

    @property
    def files(self):
        return [] if self.folder is None else libraries.local_files_below(self.folder)

    def describe(self):
        return {
            "name": type(self._taskset).__name__,
            "tools": [
                {"name": name, "isAsync": False, "location": None, "schema": schema, "fault": None}
                for name, schema in self._schemas.items()
            ],
            "resetParameters": ["task_index", "task_key"],
            "resetTakesAll": True,
            "asyncReset": False,
            "ownsReward": True,
            "reportsDone": self._has_stops(),
            "location": {"line": 1, "endLine": 1},
            "places": {},
            "library": f"verifiers {self.version}",
        }

    def rows(self, count):
        """Returns the first tasks as dataset rows."""
        rows = []
        for index in range(count):
            task = self.task(index)
            if task is None:
                break
            rows.append(_row(task, index))
        return rows

    def task(self, index):
        """Returns the task at a position in the taskset, or None."""
        if self._iterator is None:
            self._iterator = iter(self._taskset)
        missing = index + 1 - len(self._tasks)
        if missing > 0 and index < _MAX_CACHED:
            self._tasks.extend(itertools.islice(self._iterator, missing))
        return self._tasks[index] if index < len(self._tasks) else None

    def create(self):
        return VerifiersEpisode(self)

    def tools_of(self, instance):
        return {name: _tool(instance, name) for name in self._schemas}

    def _check_library(self):
        for module, names in _INTERNAL.items():
            found = libraries.import_module(module, f"verifiers {self.version}", self._passing)
            for name in names:
                if not hasattr(found, name):
                    raise libraries.fault(
                        "unavailable",
                        f"verifiers {self.version} is not supported: {module} has no {name}",
                        f"Install version 0.4: {sys.executable} -m pip install 'verifiers==0.4.*'.",
                    )

    def _open(self, arguments):
        """Returns the taskset."""
        from verifiers.v1.envs.single_agent import SingleAgentEnv
        from verifiers.v1.utils import loaders

        what = f"The package {self.identifier}"
        if self.folder is not None:
            sys.path[:0] = [place for place in (self.folder, os.path.join(self.folder, "src")) if os.path.isdir(place)]
        try:
            module = self._import(loaders)
            if self.folder is not None:
                libraries.require_from_folder(module, self.folder)
            if loaders.environment_class(self.identifier) is not SingleAgentEnv:
                message = f"{what} defines its own Env, whose agents cannot be played by a single policy"
                raise libraries.fault("unsupported", message)
            config = loaders.taskset_config_type(self.identifier).model_validate({**arguments, "id": self.identifier})
            return loaders.load_taskset(config)
        except self._passing:
            raise
        except libraries.LoadFault:
            raise
        except BaseException as error:
            raise libraries.imported_fault(error, what)

    def _import(self, loaders):
        try:
            return loaders.import_taskset(self.identifier)
        except ModuleNotFoundError as error:
            # An error with a cause means that the package itself is missing, not a package that it imports.
            missing = getattr(error.__cause__, "name", None)
            if missing is None or missing.partition(".")[0] != self.identifier.rsplit("/", 1)[-1].replace("-", "_").lower():
                raise
            raise libraries.fault(
                "unavailable",
                f"The package {self.identifier} is not installed for {sys.executable}",
                f"Install it: {sys.executable} -m pip install {self.folder or self.identifier}. Or specify its folder.",
            )

    def _list_tools(self):
        """Returns the plain schemas of all tools by the names that the library's own agents use."""
        own = self._start(self._task_type.toolsets(self._config))
        try:
            schemas = {}
            for server in [*self._shared, *own]:
                for tool in event_loop().run_until_complete(server.mcp.list_tools()):
                    name = server.full_name(tool.name)
                    if name in schemas:
                        raise libraries.fault("invalid", f"Two tools of {self.identifier} are named {name}")
                    schemas[name] = plain_tool(name, tool.description, tool.input_schema)
            return schemas
        finally:
            for server in own:
                server.close()

    def _start(self, toolsets):
        return [_Server(toolset, self.identifier) for toolset in toolsets]

    def _has_stops(self):
        task = self.task(0)
        return task is not None and len(task.hooks("stop")) > 0

    def servers(self):
        """Returns (servers for all tasks, new servers for one task)."""
        return self._shared, self._start(self._task_type.toolsets(self._config))


class _Server:
    """A toolset on the library's MCP server, in this process instead of its own, so that an episode starts at once."""

    def __init__(self, toolset, identifier):
        from mcp.server.mcpserver import MCPServer

        config = toolset.config
        name = toolset.server_name or type(toolset).__name__
        if getattr(config, "url", None):
            message = f"The tools {name} of {identifier} are on a separate server ({config.url})"
            raise libraries.fault("unsupported", message)
        kind = getattr(getattr(config, "runtime", None), "type", "subprocess")
        if kind != "subprocess" or getattr(config, "colocated", False):
            raise libraries.fault("unsupported", f"The tools {name} of {identifier} need an agent's {kind} runtime")
        self.toolset = toolset
        self.mcp = MCPServer(name, log_level="ERROR")
        event_loop().run_until_complete(self._open())

    async def _open(self):
        await self.toolset._exit_stack.__aenter__()
        await self.toolset.setup()
        self.toolset.register(self.mcp)

    def full_name(self, name):
        prefix = self.toolset.server_name
        return f"{prefix}_{name}" if prefix else name

    def bind(self, trace):
        """Makes tools read and write an episode's state (`ServerBase._pull_state` and `_push_state` in 0.4)."""
        from verifiers.v1.mcp import server

        async def pull():
            return trace.state.model_copy(deep=True)

        async def push(_before):
            state = server._call_state.get()
            if state is not None:
                trace.state = state

        self.toolset._pull_state, self.toolset._push_state = pull, push

    def close(self):
        event_loop().run_until_complete(self.toolset._exit_stack.aclose())


class VerifiersEpisode:
    """One task in progress."""

    def __init__(self, environment):
        self._environment = environment
        self._servers = []
        self._runtime = None
        self.done = False

    def reset(self, task_index=None, task_key=None, **_row):
        self._close()
        index = 0 if task_index is None else task_index
        task = self._environment.task(index) if isinstance(index, int) and index >= 0 else None
        if task is None:
            raise ValueError(f"The taskset has no task {index!r}. Create the rows again.")
        if task_key is not None and task.key != task_key:
            raise ValueError(f"Task {index} does not match the row. Create the rows again.")
        if task.NEEDS_CONTAINER or task.data.image:
            raise ValueError(f"Task {index} needs a container, which is not supported.")
        self.task = task
        self.trace = _trace_of(task)
        self.done = False
        shared, own = self._environment.servers()
        self._shared, self._servers = shared, own
        event_loop().run_until_complete(self._prepare(own))
        append_messages(self.trace, from_chat(_prompt_of(task.data)), sampled=False)
        return None

    async def _prepare(self, own):
        from verifiers.v1.utils.decorators import invoke

        if _wants_runtime(self.task):
            from verifiers.v1.runtimes import SubprocessConfig, make_runtime

            self._runtime = make_runtime(SubprocessConfig(), name=f"episode-{id(self):x}")
            await self._runtime.start()
        await invoke(self.task.setup, {"trace": self.trace, "runtime": self._runtime})
        for server in own:
            server.bind(self.trace)
            await server.toolset.setup_task(self.task.data)

    def call_tool(self, name, arguments):
        """Returns the text that the library's own chat agent shows to the model."""
        from verifiers.v1.harnesses.utils.mcp import mcp_content_to_chat_content

        for server in [*self._shared, *self._servers]:
            prefix = server.full_name("")
            if not name.startswith(prefix) or server.mcp._tool_manager.get_tool(name[len(prefix) :]) is None:
                continue
            if server in self._shared:
                server.bind(self.trace)
            try:
                result = event_loop().run_until_complete(server.mcp.call_tool(name[len(prefix) :], arguments))
            except Exception as error:
                raise ToolFailed(str(error)) from error
            content = mcp_content_to_chat_content(result.content)
            if getattr(result, "is_error", False):
                raise ToolFailed(content if isinstance(content, str) else str(content))
            return content
        raise ValueError(f"Tool {name} not found.")

    def record_turn(self, calls, results):
        """Adds a turn to the trace, then checks the task's stop conditions."""
        append_messages(self.trace, tool_turn(self.trace, calls, results))
        event_loop().run_until_complete(self._check_stops())

    async def _check_stops(self):
        from verifiers.v1.session import hook_boundary
        from verifiers.v1.trace import Trace
        from verifiers.v1.utils.decorators import invoke

        for stop in self.task.hooks("stop"):
            # Conditions on a request or a response are checked by the model loop.
            if hook_boundary(stop, allow_trace=True) is Trace:
                answer = invoke(stop, {Trace: self.trace})
                if await answer if inspect.isawaitable(answer) else answer:
                    self.trace.stop(stop.__name__)
                    self.done = True

    def get_reward(self, messages=None):
        """`messages`: the completion, if the caller has its text."""
        if messages:
            prompt = [node for node in self.trace.nodes if not node.sampled][: len(_prompt_of(self.task.data))]
            self.trace.nodes[:] = prompt
            append_messages(self.trace, from_chat(messages))
        if self.trace.stop_condition is None:
            self.trace.stop("agent_completed")
        self.trace.ok = True
        event_loop().run_until_complete(self._score())
        given = [reward for reward in self.trace.rewards.values() if reward is not None]
        return sum(reward.value for reward in given) if given else None

    async def _score(self):
        from verifiers.v1.utils.decorators import invoke

        await invoke(self.task.finalize, {"trace": self.trace, "runtime": self._runtime})
        await self.task.score(self.trace, self._runtime)

    def _summary(self):
        """Contents of the state: the shared state, and rewards and metrics after scoring."""
        trace = self.trace
        scores = {name: None if reward is None else reward.value for name, reward in trace.rewards.items()}
        return {
            **trace.state.model_dump(mode="json", exclude={"artifacts"}),
            **({"rewards": scores} if scores else {}),
            **({"metrics": dict(trace.metrics)} if trace.metrics else {}),
        }

    def _close(self):
        for server in self._servers:
            server.close()
        self._servers = []
        if self._runtime is not None:
            event_loop().run_until_complete(self._runtime.stop())
            self._runtime = None


def _tool(instance, name):
    return lambda **arguments: instance.call_tool(name, arguments)


def _trace_of(task):
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.runtimes import SubprocessConfig
    from verifiers.v1.state import state_cls
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask

    return Trace(
        task=TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        state=state_cls(type(task))(),
        agent=AgentInfo(config=AgentConfig(runtime=SubprocessConfig())),
    )


def _wants_runtime(task):
    """Returns whether a task hook uses the runtime. If so, it has to be started."""
    from verifiers.v1.task import Task

    kind = type(task)
    if kind.setup is not Task.setup or kind.finalize is not Task.finalize:
        return True
    hooks = [*task.hooks("reward"), *task.hooks("metric")]
    return any("runtime" in inspect.signature(hook).parameters for hook in hooks)


def _prompt_of(data):
    """Returns the system and user messages of a task."""
    messages = [] if not data.system_prompt else [{"role": "system", "content": data.system_prompt}]
    if isinstance(data.prompt, str):
        return [*messages, {"role": "user", "content": data.prompt}]
    return [*messages, *(message.model_dump(exclude_none=True) for message in data.prompt or [])]


def _row(task, index):
    """Returns a dataset row: the prompt, the task's own fields, and the fields that identify the task."""
    from verifiers.v1.task import TaskData

    own = set(type(task.data).model_fields) - set(TaskData.model_fields)
    fields = task.data.model_dump(mode="json", include=own)
    messages = _prompt_of(task.data)
    single = len(messages) == 1 and messages[0]["role"] == "user" and isinstance(messages[0]["content"], str)
    fixed = {"prompt": messages[0]["content"] if single else messages, "task_index": index, "task_key": task.key}
    return {"answer": None, **fields, **fixed}


def _named_in(folder):
    """Returns the name of the package in a folder. Raises LoadFault."""
    path = os.path.join(folder, "pyproject.toml")
    try:
        import tomllib

        with open(path, "rb") as file:
            name = tomllib.load(file)["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} does not specify a package name ({type(error).__name__}: {error})"
        raise libraries.fault("invalid", message, 'Add [project] with a "name".', file=path)
    return str(name)

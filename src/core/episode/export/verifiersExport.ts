import {
	type ExportedEnvironment,
	type ExportedFiles,
	environmentModule,
	generatedBy,
	pythonText,
} from './environmentExport.ts';

/** Returns a package for verifiers 0.4, which `vf-eval` and prime-rl run. */
export function verifiersExport(exported: ExportedEnvironment): ExportedFiles {
	const { stem, source } = exported;
	return new Map([
		['pyproject.toml', project(stem, source)],
		[`${stem}/__init__.py`, `from ${stem}.taskset import EnvironmentTaskset\n\n__all__ = ["EnvironmentTaskset"]\n`],
		[`${stem}/episode.py`, episode(exported)],
		[`${stem}/tools.py`, tools(exported)],
		[`${stem}/taskset.py`, taskset(exported)],
	]);
}

function project(stem: string, source: string): string {
	return `# ${generatedBy(source)}
[project]
name = ${pythonText(stem.replaceAll('_', '-'))}
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["verifiers>=0.4,<0.5"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
`;
}

function episode({ environment: { name }, stem, source }: ExportedEnvironment): string {
	return `"""${generatedBy(source)}

Creates instances of the environment and calls their tools.
"""

import inspect
import sys
from pathlib import Path

# The environment file imports neighboring modules by name.
sys.path.insert(0, str(Path(__file__).parent / "environment"))

from ${environmentModule(stem)} import ${name}  # noqa: E402


def start(row: dict):
    """Returns an instance after reset, and the text that reset returned."""
    environment = ${name}()
    return environment, environment.reset(**row)


def tools_of(environment) -> dict:
    members = inspect.getmembers(environment, predicate=inspect.ismethod)
    return {name: tool for name, tool in members if name not in ("reset", "get_reward") and not name.startswith("_")}


async def call(environment, name: str, arguments: dict) -> str:
    """Returns what the model sees, as in TRL."""
    try:
        tools = tools_of(environment)
        if name not in tools:
            raise ValueError(f"Tool {name} not found.")
        value = tools[name](**arguments)
        return str(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        return str({"error": str(error)})


async def reward_of(environment) -> float | None:
    if not hasattr(environment, "get_reward"):
        return 0.0
    value = environment.get_reward()
    return await value if inspect.isawaitable(value) else value


def is_done(environment) -> bool:
    return getattr(environment, "done", None) is True
`;
}

function tools({ environment: { name }, stem, source }: ExportedEnvironment): string {
	return `"""${generatedBy(source)}

Serves the tools, with one server per episode.
"""

import functools

import verifiers.v1 as vf

from ${stem} import episode


class EpisodeState(vf.State):
    done: bool = False


class EnvironmentTools(vf.Toolset[vf.ToolsetConfig, EpisodeState]):
    # Tools keep their names.
    TOOL_PREFIX = None

    async def setup_task(self, task) -> None:
        self._environment, _ = episode.start(task.row)

    def register(self, mcp) -> None:
        for name, tool in episode.tools_of(episode.${name}()).items():
            mcp.add_tool(self._with_state(self._shown(name, tool)), name=name, description=tool.__doc__)

    def _shown(self, name: str, tool):
        @functools.wraps(tool)
        async def shown(**arguments):
            text = await episode.call(self._environment, name, arguments)
            self.state.done = episode.is_done(self._environment)
            return text

        shown.__annotations__ = {**tool.__annotations__, "return": str}
        return shown


if __name__ == "__main__":
    EnvironmentTools.run()
`;
}

function taskset({ stem, source }: ExportedEnvironment): string {
	return `"""${generatedBy(source)}

Rows as tasks. The reward replays the calls of an episode in a new instance.
"""

import json
from pathlib import Path

import verifiers.v1 as vf

from ${stem} import episode
from ${stem}.tools import EnvironmentTools, EpisodeState

ROWS = Path(__file__).with_name("rows.jsonl")


class EnvironmentData(vf.TaskData):
    row: dict


class EnvironmentTaskConfig(vf.TaskConfig):
    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class EnvironmentTask(vf.Task[EnvironmentData, EpisodeState, EnvironmentTaskConfig]):
    @classmethod
    def toolsets(cls, config: EnvironmentTaskConfig) -> list[vf.Toolset]:
        return [EnvironmentTools(config.tools)]

    @vf.stop
    async def done(self, trace: vf.Trace) -> bool:
        return trace.state.done

    @vf.reward(weight=1.0)
    async def environment(self, trace: vf.Trace) -> float:
        environment, _ = episode.start(self.data.row)
        for message in trace.assistant_messages:
            for tool_call in message.tool_calls or []:
                try:
                    arguments = json.loads(tool_call.arguments or "{}")
                except ValueError:
                    continue
                if isinstance(arguments, dict):
                    await episode.call(environment, tool_call.name, arguments)
        return float(await episode.reward_of(environment) or 0.0)


class EnvironmentConfig(vf.TasksetConfig):
    task: EnvironmentTaskConfig = EnvironmentTaskConfig()


class EnvironmentTaskset(vf.Taskset[EnvironmentTask, EnvironmentConfig]):
    def load(self):
        lines = ROWS.read_text("utf-8").split("\\n") if ROWS.exists() else []
        rows = [json.loads(line) for line in lines if line.strip()]
        columns = dict.fromkeys(key for row in rows for key in row)
        for row in rows:
            row = {column: row.get(column) for column in columns}
            _, text = episode.start(row)
            yield EnvironmentTask(EnvironmentData(prompt=_prompt(row.get("prompt"), text), row=row), self.config.task)


def _prompt(prompt, text: str | None):
    """Returns the prompt with the text from reset appended to its last message, as in TRL."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(one) for one in prompt or []]
    if not messages:
        messages = [{"role": "user", "content": ""}]
    if text is not None:
        messages[-1]["content"] = messages[-1]["content"] + text
    return messages
`;
}

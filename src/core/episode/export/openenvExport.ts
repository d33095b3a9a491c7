import {
	type ExportedEnvironment,
	type ExportedFiles,
	environmentModule,
	generatedBy,
	pythonText,
} from './environmentExport.ts';

/** Returns a folder for `openenv` (openenv-core 0.3): `openenv serve`, `openenv build`, `openenv push`. */
export function openenvExport(exported: ExportedEnvironment): ExportedFiles {
	const { stem, source, environment } = exported;
	const yaml = `# ${generatedBy(source)}
spec_version: 1
name: ${stem}
type: space
runtime: fastapi
app: server.app:app
port: 8000
`;
	return new Map([
		['openenv.yaml', yaml],
		['pyproject.toml', project(stem, source)],
		['__init__.py', `from .client import ${environment.name}Client\n\n__all__ = ["${environment.name}Client"]\n`],
		['client.py', client(exported)],
		['server/__init__.py', ''],
		['server/app.py', app(exported)],
		['server/Dockerfile', dockerfile],
		['server/requirements.txt', 'openenv-core>=0.3,<0.4\n'],
	]);
}

function project(stem: string, source: string): string {
	return `# ${generatedBy(source)}
[project]
name = ${pythonText(`openenv-${stem.replaceAll('_', '-')}`)}
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ["openenv-core>=0.3,<0.4"]

[project.scripts]
server = "${stem}.server.app:main"

[build-system]
requires = ["setuptools>=45", "wheel"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
include-package-data = true
packages = ["${stem}", "${stem}.server"]
package-dir = { "${stem}" = ".", "${stem}.server" = "server" }

[tool.setuptools.package-data]
"${stem}.server" = ["*.jsonl"]
`;
}

function client({ environment, source }: ExportedEnvironment): string {
	return `"""${generatedBy(source)}

Client for the server: \`client.call_tool(NAME, ARGUMENT=...)\`.
"""

from openenv.core.mcp_client import MCPToolClient


class ${environment.name}Client(MCPToolClient):
    pass
`;
}

const dockerfile = `FROM python:3.12-slim
WORKDIR /app/env
COPY . .
RUN pip install --no-cache-dir -r server/requirements.txt
EXPOSE 8000
CMD ["uvicorn", "server.app:app", "--host", "0.0.0.0", "--port", "8000"]
`;

function app({ environment, stem, source, columns }: ExportedEnvironment): string {
	const { name } = environment;
	const schemas = environment.tools.flatMap(({ schema }) => (schema === null ? [] : [schema]));
	const listed = schemas.map(({ name: tool, description, parameters }) => ({
		name: tool,
		description,
		input_schema: parameters,
	}));
	return `"""${generatedBy(source)}

The environment as an OpenEnv server: uvicorn server.app:app
"""

import inspect
import json
import sys
from pathlib import Path

from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
)
from openenv.core.env_server.types import EnvironmentMetadata, Observation, State

# The environment file imports neighboring modules by name.
sys.path.insert(0, str(Path(__file__).parent / "environment"))

from ${environmentModule(stem)} import ${name}  # noqa: E402

TOOLS = [Tool(**tool) for tool in json.loads(${pythonText(JSON.stringify(listed))})]
COLUMNS = ${pythonList(columns ?? [])}
ROWS = Path(__file__).with_name("rows.jsonl")


def row_of(seed: int | None, given: dict) -> dict:
    """Returns the columns that a client sent or, if there are none, the row whose number is the seed."""
    if given or not ROWS.exists():
        return {**dict.fromkeys(COLUMNS), **given}
    lines = [line for line in ROWS.read_text("utf-8").split("\\n") if line.strip()]
    return {**dict.fromkeys(COLUMNS), **json.loads(lines[(seed or 0) % len(lines)])}


class ${name}Server(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._environment = ${name}()
        self._state = State()

    async def reset_async(self, seed=None, episode_id=None, **row):
        text = self._environment.reset(**row_of(seed, row))
        self._state = State(episode_id=episode_id, step_count=0)
        self._earned = 0.0
        reward = await self._change()
        # Text to append to the prompt.
        return CallToolObservation(tool_name="reset", result=text, reward=reward, done=self._done())

    def reset(self, seed=None, episode_id=None, **row):
        raise NotImplementedError("Use reset_async.")

    async def step_async(self, action, timeout_s=None, **_):
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=TOOLS)
        self._state.step_count += 1
        result, error = None, None
        try:
            result = await self._call(action.tool_name, action.arguments)
        except Exception as raised:
            error = ToolError(error_type=ToolErrorType.EXECUTION_ERROR, message=str(raised))
        return CallToolObservation(
            tool_name=action.tool_name, result=result, error=error, reward=await self._change(), done=self._done()
        )

    def step(self, action, timeout_s=None, **_):
        raise NotImplementedError("Use step_async.")

    async def _call(self, name: str, arguments: dict) -> str:
        if all(tool.name != name for tool in TOOLS):
            raise ValueError(f"Tool {name} not found.")
        value = getattr(self._environment, name)(**arguments)
        return str(await value if inspect.isawaitable(value) else value)

    async def _change(self) -> float:
        """Returns the change in the reward caused by the last step."""
        if not hasattr(self._environment, "get_reward"):
            return 0.0
        value = self._environment.get_reward()
        value = float((await value if inspect.isawaitable(value) else value) or 0.0)
        change, self._earned = value - self._earned, value
        return change

    def _done(self) -> bool:
        return getattr(self._environment, "done", None) is True

    @property
    def state(self) -> State:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(name="${stem}", description=inspect.getdoc(${name}) or "${stem}")


app = create_fastapi_app(${name}Server, CallToolAction, Observation, max_concurrent_envs=64)


def main(host: str = "0.0.0.0", port: int = 8000) -> None:
    import uvicorn

    uvicorn.run(app, host=host, port=port)


if __name__ == "__main__":
    main()
`;
}

function pythonList(texts: readonly string[]): string {
	return `[${texts.map(pythonText).join(', ')}]`;
}

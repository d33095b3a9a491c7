/**
 * Finds the Python that tests use for other trainers and the debugger: a configured one, or an environment created for
 * it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts, root } from './paths.ts';
import { run } from './process.ts';
import { sharedFolder } from './sharedCache.ts';

export type TestPython = { readonly python: string } | { readonly missing: string };

const requirements = join(root, 'test/python/requirements.txt');
const base = process.platform === 'win32' ? 'python' : 'python3';

/**
 * Modules imported by tests and the programs they start. Their bytecode is compiled once here, because trainers and
 * Ray's processes do not write bytecode and would recompile the same sources every time. The remaining three quarters
 * of the packages' modules are never imported.
 */
const imports = [
	'torch.distributed.run, torch.distributed.fsdp, torch.distributed.checkpoint',
	'from trl import DPOTrainer, GRPOTrainer, RewardTrainer, RLOOTrainer, SFTTrainer',
	'trl.experimental.prm, transformers.models.llama.modeling_llama, transformers.models.qwen3.modeling_qwen3',
	'transformers.cli.transformers, fastapi, uvicorn, openai, verifiers, debugpy.adapter, pytest',
	'verifiers.v1.utils.loaders, verifiers.v1.mcp, mcp.server.mcpserver',
	'ray.train.torch, ray.scripts.scripts, ray.dashboard.dashboard, ray.dashboard.agent',
	'ray.dashboard.modules.job.job_head, ray.dashboard.modules.job.job_agent',
	'ray._private.runtime_env.agent.main, ray._private.workers.default_worker',
	'ray.train.v2._internal.execution.controller',
].map((names) => (names.startsWith('from') ? names : `import ${names}`));

/** Thrown if no Python on this machine can create the environment. Tests that need it are skipped. */
class Missing extends Error {}

/**
 * Returns an interpreter with the packages in test/python/requirements.txt, in a folder shared by all clones. It is
 * created once, and again if the requirements or the base interpreter change. `REASONING_LAB_TEST_PYTHON` selects
 * another interpreter.
 */
export async function findTestPython(say: (line: string) => void): Promise<TestPython> {
	const { REASONING_LAB_TEST_PYTHON: named, TEST_PYTHON: known } = process.env;
	if (known !== undefined) return JSON.parse(known);
	if (named) return existsSync(named) ? { python: named } : { missing: `${named} does not exist` };
	const log = join(artifacts, 'python-install.log');
	try {
		const folder = await sharedFolder({
			kind: 'python',
			key: environmentKey(),
			what: 'the Python environment of the tests',
			make: (folder, signal) => makeEnvironment(folder, { log, signal, say }),
			say,
		});
		return { python: programOf(folder) };
	} catch (error) {
		if (error instanceof Missing) return { missing: `${error.message} (log: ${log})` };
		throw error;
	}
}

/** Returns a key made of the requirements and the version and location of the base interpreter. */
function environmentKey(): string {
	const facts = 'import os, sys; print(sys.version, os.path.realpath(sys.executable), sys.base_prefix, sys.platform)';
	let interpreter: string;
	try {
		interpreter = execFileSync(base, ['-I', '-S', '-c', facts], {
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', 'ignore'],
		});
	} catch {
		throw new Missing('no Python 3.10 or newer was found');
	}
	return createHash('sha256').update(interpreter).update(readFileSync(requirements)).digest('hex').slice(0, 16);
}

function programOf(folder: string): string {
	return process.platform === 'win32' ? join(folder, 'Scripts/python.exe') : join(folder, 'bin/python');
}

interface Making {
	readonly log: string;
	readonly signal: AbortSignal;
	readonly say: (line: string) => void;
}

async function makeEnvironment(folder: string, { log, signal, say }: Making): Promise<void> {
	say(`Creating a Python environment with the trainers that rewards are exported to in ${folder} (once)`);
	const python = programOf(folder);
	const step = async (command: string, args: readonly string[], failure: string, timeoutSeconds = 900) => {
		signal.throwIfAborted();
		const code = await run(command, args, {
			log,
			timeoutSeconds,
			signal,
			env: {
				OMP_NUM_THREADS: '1',
				HF_HUB_OFFLINE: '1',
				TRL_EXPERIMENTAL_SILENCE: '1',
				PYTHONDONTWRITEBYTECODE: undefined,
				PYTHONPYCACHEPREFIX: undefined,
			},
		});
		signal.throwIfAborted();
		if (code !== 0) throw new Missing(failure);
	};
	await step(base, ['-m', 'venv', folder], 'no Python 3.10 or newer with venv was found', 120);
	const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
	const failure = 'the packages in test/python/requirements.txt could not be installed';
	// Install torch first: when resolving everything together, pip may choose a different build.
	const torch = readFileSync(requirements, 'utf8').match(/^torch==.*$/m)?.[0] ?? 'torch';
	await step(python, [...pip, torch], failure);
	await step(python, [...pip, '-r', requirements], failure);
	await step(python, ['-c', imports.join('\n')], `${failure}: they cannot be imported`, 300);
}

/** Environment variables that save child processes the search. */
export function pythonEnvironment(python: TestPython): Record<string, string> {
	return { TEST_PYTHON: JSON.stringify(python) };
}

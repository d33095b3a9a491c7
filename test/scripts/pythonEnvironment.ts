/** The Python that tests run other trainers and the debugger in: one that is named, else an environment made for it. */
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
 * What tests and the programs that they start import: its bytecode is written here, once. Trainers and Ray's processes do
 * not write any, so each of them would compile the same sources again. The rest, three quarters of it, is never needed.
 */
const imports = [
	'torch.distributed.run, torch.distributed.fsdp, torch.distributed.checkpoint',
	'from trl import DPOTrainer, GRPOTrainer, RewardTrainer, RLOOTrainer, SFTTrainer',
	'trl.experimental.prm, transformers.models.llama.modeling_llama, transformers.models.qwen3.modeling_qwen3',
	'transformers.cli.transformers, fastapi, uvicorn, openai, verifiers, debugpy.adapter, pytest',
	'ray.train.torch, ray.scripts.scripts, ray.dashboard.dashboard, ray.dashboard.agent',
	'ray.dashboard.modules.job.job_head, ray.dashboard.modules.job.job_agent',
	'ray._private.runtime_env.agent.main, ray._private.workers.default_worker',
	'ray.train.v2._internal.execution.controller',
].map((names) => (names.startsWith('from') ? names : `import ${names}`));

/** A Python of this machine cannot make the environment; tests that need it are skipped. */
class Missing extends Error {}

/**
 * An interpreter with the packages of test/python/requirements.txt, in a folder that all clones share: it is made once, and
 * again for other requirements or another base interpreter. `REASONING_LAB_TEST_PYTHON` names another interpreter.
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

/** Requirements, and version and place of the interpreter that the environment is made with. */
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
	say(`Making a Python environment with the trainers that rewards are exported to in ${folder} (once)`);
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
	const failure = 'the packages of test/python/requirements.txt could not be installed';
	// torch by itself first: a resolver that sees everything at once may look for another build of it.
	const torch = readFileSync(requirements, 'utf8').match(/^torch==.*$/m)?.[0] ?? 'torch';
	await step(python, [...pip, torch], failure);
	await step(python, [...pip, '-r', requirements], failure);
	await step(python, ['-c', imports.join('\n')], `${failure}: they cannot be imported`, 300);
}

/** Environment that spares child processes the search. */
export function pythonEnvironment(python: TestPython): Record<string, string> {
	return { TEST_PYTHON: JSON.stringify(python) };
}

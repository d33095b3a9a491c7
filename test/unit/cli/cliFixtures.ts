import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { CliOutput } from '../../../src/cli/cliOutput.ts';
import { runCommandLine } from '../../../src/cli/runCommandLine.ts';
import { processState } from '../../../src/processes/processIdentity.ts';
import { markStarted } from '../../../src/runs/foreignCode.ts';
import { prepareRun } from '../../../src/runs/prepareRun.ts';
import { runsIn } from '../../../src/runs/runFolders.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { builtProgram } from '../../support/programs.ts';
import { Written } from '../../support/written.ts';
import { runHere } from '../engines/embedded/runHere.ts';

const cli = builtProgram('dist/cli.js');
const engine = builtProgram('dist/engine.js');

/** A run of about a second with one worker. */
export const tinyRecipe = {
	name: 'tiny',
	workers: 1,
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	stages: [
		{ type: 'sft', steps: 3, learning_rate: 0.003, batch_size: 16 },
		{ type: 'grpo', steps: 4, learning_rate: 0.001, prompts_per_step: 4, num_generations: 4, num_iterations: 2 },
	],
	evaluate: { problems: 16, every: 100 },
	checkpoint: { every: 2 },
};

export interface Ended {
	readonly status: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** A working folder with its own registry and runtime folder, and the command line to use in it. */
export class Workplace {
	readonly folder: string;
	readonly #root: string;
	readonly #environment: NodeJS.ProcessEnv;

	private constructor(root: string, folder: string) {
		this.folder = folder;
		this.#root = root;
		this.#environment = {
			...process.env,
			REASONING_LAB_HOME: join(root, 'home'),
			XDG_RUNTIME_DIR: join(root, 'x'),
			NO_COLOR: '1',
		};
	}

	static async make(context: TestContext, within?: string): Promise<Workplace> {
		const root = await mkdtemp(join(tmpdir(), 'rl-'));
		const folder = within ?? join(root, 'work');
		context.after(async () => {
			await endEngines(join(folder, 'runs'));
			await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
		});
		await mkdir(join(root, 'x'), { mode: 0o700 });
		await mkdir(folder, { recursive: true });
		return new Workplace(root, folder);
	}

	async write(name: string, value: unknown): Promise<string> {
		const path = join(this.folder, name);
		await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
		return path;
	}

	start(context: TestContext, ...args: string[]): { process: ChildProcess; ended: Promise<Ended> } {
		const child = spawn(process.execPath, [cli, ...args], {
			cwd: this.folder,
			env: this.#environment,
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		context.after(() => child.kill('SIGKILL'));
		let stdout = '';
		let stderr = '';
		child.stdout.setEncoding('utf8').on('data', (text: string) => {
			stdout += text;
		});
		child.stderr.setEncoding('utf8').on('data', (text: string) => {
			stderr += text;
		});
		const ended = new Promise<Ended>((resolve) => {
			child.on('close', (status) => resolve({ status, stdout, stderr }));
		});
		return { process: child, ended };
	}

	run(context: TestContext, ...args: string[]): Promise<Ended> {
		return this.start(context, ...args).ended;
	}

	/** Runs a command in this process, for checks that do not need a separate process. Only one can run at a time. */
	call(...args: string[]): Promise<Ended> {
		return this.#inside(async () => {
			const [out, err] = [new Written(), new Written()];
			const output = new CliOutput(args.includes('--json'), out.stream, err.stream);
			const status = await runCommandLine(args, output, engine);
			return { status, stdout: out.text, stderr: err.text };
		});
	}

	/** Trains a recipe in this process, for tests that only need its run. @returns folder of the run */
	train(recipe: string): Promise<string> {
		return this.#inside(async () => {
			const { folder } = await prepareRun(join(this.folder, recipe));
			await markStarted(folder);
			const { code, stderr } = await runHere({ folder: this.#root, environment: {} }, folder);
			assert.equal(code, 0, stderr);
			return folder;
		});
	}

	async #inside<T>(action: () => Promise<T>): Promise<T> {
		const before = { folder: process.cwd(), environment: { ...process.env } };
		process.chdir(this.folder);
		Object.assign(process.env, this.#environment);
		try {
			return await action();
		} finally {
			process.chdir(before.folder);
			for (const name of Object.keys(process.env)) if (!(name in before.environment)) delete process.env[name];
			Object.assign(process.env, before.environment);
		}
	}
}

/** Stops a test's engines, which would otherwise outlive it. */
export async function endEngines(runs: string): Promise<void> {
	for (const run of await runsIn(runs)) {
		const record = await readRecord(run).catch(() => null);
		if (record === null || record.pid === process.pid) continue;
		if ((await processState(record)) === 'alive') process.kill(record.pid, 'SIGKILL');
	}
}

/** Parses the objects printed with `--json`. Throws on any other stdout output. */
export function objects(stdout: string): Record<string, unknown>[] {
	return stdout
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line) as Record<string, unknown>);
}

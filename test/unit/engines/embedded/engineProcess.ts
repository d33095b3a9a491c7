import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareRun } from '../../../../src/runs/prepareRun.ts';
import { builtProgram } from '../../../support/programs.ts';

const engineProgram = builtProgram('dist/engine.js');

/** A recipe that runs in about a second: one block of width 16 that learns one-digit addition. */
export const tinyRecipe = {
	name: 'tiny',
	seed: 7,
	workers: 1,
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	stages: [
		{ type: 'sft', steps: 30, learning_rate: 1e-2, batch_size: 16 },
		{ type: 'grpo', steps: 20, num_generations: 4, prompts_per_step: 4, learning_rate: 1e-3 },
	],
	evaluate: { every: 10, problems: 8 },
	checkpoint: { every: 8, keep: 2 },
};

/**
 * Both stages of the tiny recipe in a few steps, with every checkpoint kept, for tests that do not depend on what the
 * model learns.
 */
export const shortRecipe = {
	...tinyRecipe,
	stages: tinyRecipe.stages.map((stage) => ({ ...stage, steps: 6 })),
	evaluate: { every: 4, problems: 4 },
	checkpoint: { every: 3, keep: 100 },
};

/** Temporary folder for runs and internal files, removed on disposal. */
export class Workplace {
	readonly folder: string;
	readonly #engines: Engine[] = [];
	readonly #program: string;
	/** Extra environment variables for engines. */
	readonly environment: Record<string, string> = {};

	private constructor(folder: string, program: string) {
		this.folder = folder;
		this.#program = program;
	}

	/** @param program engine program; default: the embedded engine */
	static async make(program = engineProgram): Promise<Workplace> {
		return new Workplace(await mkdtemp(join(tmpdir(), 'engine-test-')), program);
	}

	/** Writes a recipe, prepares a run and returns the run folder. */
	async prepare(recipe: object, name = 'tiny'): Promise<string> {
		const path = join(this.folder, `${name}.recipe.json`);
		await writeFile(path, JSON.stringify(recipe));
		return (await prepareRun(path)).folder;
	}

	start(...args: string[]): Engine {
		const environment = { REASONING_LAB_HOME: join(this.folder, 'home'), ...this.environment };
		const engine = new Engine(args, environment, this.#program);
		this.#engines.push(engine);
		return engine;
	}

	/** Runs the engine until it exits and returns its exit status and stderr. */
	run(...args: string[]): Promise<EngineExit> {
		return this.start(...args).exit;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const engine of this.#engines) {
			engine.kill('SIGKILL');
			await engine.exit;
		}
		await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
	}
}

export interface EngineExit {
	readonly code: number | null;
	readonly signal: string | null;
	readonly stderr: string;
}

/** Engine in a child process. */
export class Engine {
	readonly process: ChildProcess;
	readonly exit: Promise<EngineExit>;
	/** Resolves with the first line of stdout. */
	readonly firstLine: Promise<string>;

	constructor(args: readonly string[], environment: Record<string, string>, program = engineProgram) {
		const child = spawn(process.execPath, [program, ...args], {
			env: { ...process.env, ...environment, NODE_OPTIONS: '' },
			stdio: ['pipe', 'pipe', 'pipe'],
		});
		child.stdin?.on('error', () => undefined);
		this.process = child;
		let stderr = '';
		child.stderr?.setEncoding('utf8').on('data', (text: string) => {
			stderr += text;
		});
		let stdout = '';
		this.firstLine = new Promise((resolve) => {
			child.stdout?.setEncoding('utf8').on('data', (text: string) => {
				stdout += text;
				const end = stdout.indexOf('\n');
				if (end >= 0) resolve(stdout.slice(0, end));
			});
		});
		this.exit = new Promise((resolve) => {
			child.once('close', (code, signal) => resolve({ code, signal, stderr }));
		});
	}

	kill(signal: NodeJS.Signals): void {
		this.process.kill(signal);
	}
}

export async function eventually<T>(look: () => Promise<T | null | undefined | false>, what: string): Promise<T> {
	const end = Date.now() + 60_000;
	for (;;) {
		const found = await look();
		if (found) return found;
		if (Date.now() > end) throw new Error(`Waited for a minute: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

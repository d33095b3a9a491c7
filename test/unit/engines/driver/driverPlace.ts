// @reaches trainer
import { createHash } from 'node:crypto';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ControlClient } from '../../../../src/rpc/controlClient.ts';
import { connectRun } from '../../../../src/runs/runControl.ts';
import { listCheckpoints, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { builtProgram } from '../../../support/programs.ts';
import { type Engine, type EngineExit, eventually, Workplace } from '../embedded/engineProcess.ts';

const driverProgram = builtProgram('dist/driver.js');
const scripted = fileURLToPath(new URL('../../../trainer/scriptedTrainer.py', import.meta.url));

/** A recipe with a scripted trainer, so its run is fast. */
export const scriptedRecipe = {
	name: 'scripted',
	engine: 'pytorch',
	seed: 7,
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 2 },
	model: { layers: 1, width: 16, heads: 2 },
	stages: [
		{ type: 'sft', steps: 6, learning_rate: 1e-2, batch_size: 4 },
		{ type: 'grpo', steps: 12, num_generations: 4, prompts_per_step: 3, learning_rate: 1e-3 },
	],
	evaluate: { every: 5, problems: 30 },
	checkpoint: { every: 4, keep: 2 },
};

/** Workplace whose Python always runs test/trainer/scriptedTrainer.py, whatever module is requested. */
export class ScriptedPlace implements AsyncDisposable {
	readonly #place: Workplace;
	readonly #pids: string;

	private constructor(place: Workplace) {
		this.#place = place;
		this.#pids = join(place.folder, 'pids');
		place.environment.TRAINER_PIDS = this.#pids;
	}

	static async make(): Promise<ScriptedPlace> {
		const place = await Workplace.make(driverProgram);
		const python = join(place.folder, 'python');
		// Run the process-group wrapper unchanged.
		await writeFile(
			python,
			`#!/bin/sh\n[ "$1" = -I ] && exec python3 "$@"\nexec python3 ${JSON.stringify(scripted)}\n`,
		);
		await chmod(python, 0o755);
		place.environment.REASONING_LAB_TORCH_PYTHON = python;
		return new ScriptedPlace(place);
	}

	get environment(): Readonly<Record<string, string>> {
		return this.#place.environment;
	}

	get folder(): string {
		return this.#place.folder;
	}

	/** @param fault `what` or `what@step`, in the format of scriptedTrainer.py */
	set fault(fault: string) {
		this.#place.environment.TRAINER_FAULT = fault;
	}

	set python(path: string) {
		this.#place.environment.REASONING_LAB_TORCH_PYTHON = path;
	}

	prepare(changes: object = {}): Promise<string> {
		return this.#place.prepare({ ...scriptedRecipe, ...changes }, 'scripted');
	}

	start(...args: string[]): Engine {
		return this.#place.start(...args);
	}

	run(...args: string[]): Promise<EngineExit> {
		return this.#place.run(...args);
	}

	/** Returns the pids of running trainers that were started here. */
	async trainers(): Promise<number[]> {
		const text = await readFile(this.#pids, 'utf8').catch(() => '');
		const states = await Promise.all(
			text
				.split('\n')
				.filter((line) => line !== '')
				.map(async (pid) => {
					const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
					return stat === '' || / [ZX] /.test(stat.slice(stat.lastIndexOf(')'))) ? [] : [Number(pid)];
				}),
		);
		return states.flat();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#place[Symbol.asyncDispose]();
	}
}

/** Waits until the run has a metrics line for `step`. */
export async function stepWritten(run: string, step: number): Promise<void> {
	await eventually(async () => ((await readMetrics(run)).at(-1)?.step ?? -1) >= step, `step ${step} of ${run}`);
}

/** Connects to the run's engine, waiting until it responds. */
export function connected(run: string): Promise<ControlClient> {
	return eventually(async () => {
		const record = await readRecord(run).catch(() => null);
		if (record === null) return null;
		return connectRun(run, record, 'test').catch(() => null);
	}, `the control endpoint of ${run}`);
}

/** Everything that a repeated run must reproduce exactly. Times are not included. */
export async function outcomeOf(run: string): Promise<Record<string, unknown>> {
	const hashes: Record<string, string> = {};
	for (const folder of ['rollouts', 'evaluations']) {
		for (const name of (await readdir(join(run, folder), { recursive: true })).sort()) {
			const content = await readFile(join(run, folder, name)).catch(() => null);
			if (content !== null) hashes[`${folder}/${name}`] = createHash('sha256').update(content).digest('hex');
		}
	}
	const last = (await listCheckpoints(run)).at(-1);
	return {
		hashes,
		skill: last && (await readFile(join(last.path, 'weights', 'skill.json'), 'utf8')),
		metrics: (await readMetrics(run)).map(({ step, stage, values }) => ({
			step,
			stage,
			...Object.fromEntries(Object.entries(values).filter(([name]) => !name.startsWith('time/'))),
		})),
	};
}

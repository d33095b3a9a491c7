import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvaluationSummary } from '../protocol/evaluation.ts';
import { type CheckpointInfo, listCheckpoints } from './checkpointFiles.ts';
import { runFiles, stepName, stepOf } from './runFiles.ts';
import { readEvaluationsOf } from './runReader.ts';

/** Worst-case resolution of folder timestamps. */
const coarsestMs = 2500;
/**
 * Minimum wait before a folder is listed again, as a multiple of the time that the listing took. Limits the cost to 5%.
 */
const restFactor = 20;

/** Lists the names in a folder in chunks, because reading a hundred thousand at once would block the event loop. */
async function namesIn(path: string): Promise<string[]> {
	const names: string[] = [];
	try {
		for await (const { name } of await opendir(path, { bufferSize: 512 })) names.push(name);
	} catch {
		// The folder was removed in the meantime. The names read so far are as valid as an earlier listing.
	}
	return names;
}

/** Number of list items to process before yielding to other events. */
const pauseEvery = 2000;

/** Cheaply checks whether a folder might have new entries. */
class FolderChange {
	readonly #path: string;
	#seen = -1;
	#restUntil = 0;

	constructor(path: string) {
		this.#path = path;
	}

	/**
	 * Returns the names in the folder if they might have changed since the last call, or null otherwise. A link does not
	 * count as a folder.
	 */
	async names(force: boolean): Promise<string[] | null> {
		const info = await lstat(this.#path).catch(() => null);
		if (info === null || !info.isDirectory()) {
			const gone = this.#seen !== -1;
			this.#seen = -1;
			return gone ? [] : null;
		}
		const settled = Math.abs(Date.now() - info.mtimeMs) > coarsestMs;
		if (info.mtimeMs === this.#seen && settled) return null;
		const start = performance.now();
		if (!force && start < this.#restUntil) return null;
		const names = await namesIn(this.#path);
		this.#restUntil = performance.now() + restFactor * (performance.now() - start);
		// If the timestamp has not settled, a later change can have the same one, so the next check lists the folder again.
		this.#seen = settled ? info.mtimeMs : 0;
		return names;
	}
}

/** Detects new entries in the folders of a run since the last check: rollouts, evaluations, checkpoints. */
export class FolderNews {
	readonly #run: string;
	readonly #rolloutFolder: FolderChange;
	readonly #evaluationFolder: FolderChange;
	readonly #checkpointFolder: FolderChange;
	#rollouts = new Set<number>();
	#evaluations = new Set<string>();
	#evaluatedSteps = new Set<number>();
	#checkpoints = '[]';

	constructor(run: string) {
		this.#run = run;
		this.#rolloutFolder = new FolderChange(join(run, runFiles.rollouts));
		this.#evaluationFolder = new FolderChange(join(run, runFiles.evaluations));
		this.#checkpointFolder = new FolderChange(join(run, runFiles.checkpoints));
	}

	/** Returns the steps with a new rollout file, ascending. */
	async rollouts(force: boolean): Promise<number[]> {
		const steps: number[] = [];
		for (const [i, name] of ((await this.#rolloutFolder.names(force)) ?? []).entries()) {
			if (i % pauseEvery === pauseEvery - 1) await new Promise((resolve) => setImmediate(resolve));
			const step = stepOf(name);
			if (step === null || this.#rollouts.has(step) || name !== `${stepName(step)}.jsonl`) continue;
			this.#rollouts.add(step);
			steps.push(step);
		}
		return steps.sort((a, b) => a - b);
	}

	/**
	 * Returns new evaluations, by step and name. Folders of older steps are read once, and folders of the newest two
	 * steps are read on every check.
	 */
	async evaluations(force: boolean): Promise<EvaluationSummary[]> {
		const listed = await this.#evaluationFolder.names(force);
		for (const name of listed ?? []) {
			const step = stepOf(name);
			if (step !== null && name === stepName(step) && !this.#evaluatedSteps.has(step)) this.#evaluatedSteps.add(step);
		}
		const steps = [...this.#evaluatedSteps].sort((a, b) => a - b);
		const summaries: EvaluationSummary[] = [];
		for (const [i, step] of steps.entries()) {
			if (i < steps.length - 2 && this.#evaluations.has(stepName(step))) continue;
			this.#evaluations.add(stepName(step));
			for (const summary of await readEvaluationsOf(this.#run, step)) {
				const key = `${step}/${summary.name}`;
				if (this.#evaluations.has(key)) continue;
				this.#evaluations.add(key);
				summaries.push(summary);
			}
		}
		return summaries;
	}

	/** Returns all checkpoints if they have changed. */
	async checkpoints(force: boolean): Promise<CheckpointInfo[] | null> {
		if ((await this.#checkpointFolder.names(force)) === null) return null;
		const checkpoints = await listCheckpoints(this.#run);
		const text = JSON.stringify(checkpoints);
		if (text === this.#checkpoints) return null;
		this.#checkpoints = text;
		return checkpoints;
	}
}

import { rm } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { type Agree, markStarted, requireOwnRun } from './foreignCode.ts';
import { type LaunchOptions, launchEngine } from './launchEngine.ts';
import { prepareChild, prepareRun, type RecipeChanges } from './prepareRun.ts';
import { connectRun } from './runControl.ts';
import { listCheckpoints } from './runReader.ts';
import { RunRegistry } from './runRegistry.ts';
import { claimsLife, readRunState } from './runStatus.ts';

export type StartOptions = Pick<LaunchOptions, 'engine' | 'node' | 'waitMs' | 'environment' | 'signal'> & {
	/** Called with the run folder as soon as it is known, before the engine starts. */
	readonly onFolder?: (folder: string) => void;
	/** Asks whether to run the code of a run that this user did not start; without it, such runs are rejected. */
	readonly agree?: Agree;
};

export interface StartedRun {
	readonly folder: string;
	readonly record: RunRecord;
}

async function launch(folder: string, options: StartOptions, more: Partial<LaunchOptions>): Promise<StartedRun> {
	options.onFolder?.(folder);
	// The run is valid even if it could not be added to the registry.
	await markStarted(folder).catch(() => undefined);
	return { folder, record: await launchEngine(folder, { ...options, ...more }) };
}

/**
 * Starts a new run from a recipe. If its data is rejected, the folder is removed, because it contains nothing but the
 * recipe.
 */
export async function startRun(recipePath: string, changes: RecipeChanges, options: StartOptions): Promise<StartedRun> {
	const { folder } = await prepareRun(recipePath, changes);
	return launch(folder, options, {}).catch(async (error: unknown) => {
		await removeRefused(folder).catch(() => undefined);
		throw error;
	});
}

/** Removes a new run whose engine exited before loading its data; the start error contains the engine's message. */
async function removeRefused(folder: string): Promise<void> {
	const { record, status } = await readRunState(folder);
	const refused = record.error !== undefined && ['missing', 'invalid', 'unsupported'].includes(record.error.reason);
	if (status !== 'crashed' || !refused || record.step > 0 || record.hashes.dataset !== '') return;
	await rm(folder, { recursive: true, force: true });
	await new RunRegistry().remove(folder);
}

/**
 * Resumes an ended or crashed run in its folder, from its newest checkpoint; a paused run is continued. Fails with
 * `busy` if it is running, and with `denied` if the run belongs to someone else and the user does not agree to run it.
 */
export async function resumeRun(folder: string, options: StartOptions): Promise<StartedRun> {
	const state = await readRunState(folder).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') return null;
		throw error;
	});
	if (state === null) {
		await requireOwnRun(folder, 'engine', options.agree);
		return launch(folder, options, {});
	}
	const { record, status } = state;
	if (status === 'paused') {
		const client = await connectRun(folder, record, 'reasoning-lab');
		try {
			options.onFolder?.(folder);
			return { folder, record: await client.request('run/continue', {}) };
		} finally {
			client.dispose();
		}
	}
	if (claimsLife({ status })) {
		throw new Failure('busy', `The run ${folder} is ${status} (process ${record.pid}).`, 'Open it, or stop it first.');
	}
	if (status === 'finished') {
		const last = (await listCheckpoints(folder)).at(-1)?.step;
		throw new Failure(
			'invalid',
			`The run ${folder} has finished, so there is nothing to resume.`,
			last === undefined
				? 'Run the recipe again.'
				: `Start a new run from one of its checkpoints (the newest is from step ${last}).`,
		);
	}
	// A paused engine continues with the code it has loaded, whereas a new one loads whatever is in the folder.
	await requireOwnRun(folder, 'engine', options.agree);
	return launch(folder, options, { resume: true });
}

/**
 * Starts a new run from another run's checkpoint; fails with `denied` like {@link resumeRun}.
 * @param step null for the newest
 */
export async function branchRun(
	parent: string,
	step: number | null,
	changes: RecipeChanges,
	options: StartOptions,
): Promise<StartedRun> {
	await requireOwnRun(parent, 'engine', options.agree);
	const { folder, parentCheckpoint } = await prepareChild(parent, step, changes);
	return launch(folder, options, { parentCheckpoint });
}

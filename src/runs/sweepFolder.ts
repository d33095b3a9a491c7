import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { SweepConfiguration, SweepPlan } from '../core/sweep/sweepPlan.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { readJson, readSmallFile } from '../files/safeFile.ts';
import { sha256 } from '../files/sha256.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type SweepRecord, sweepFiles, sweepFormat, sweepRecordSchema } from '../protocol/sweepFile.ts';
import { makeNewFolder } from './prepareRun.ts';

/** Limit for sweep.json: 10,000 trials with long labels. */
const largestRecord = 32 << 20;
const largestRecipe = 4 << 20;

export interface NewSweep {
	readonly recipe: string;
	/** Recipe name. */
	readonly name: string;
	readonly configurations: readonly SweepConfiguration[];
	readonly plan: SweepPlan;
	readonly metric: string;
	readonly tag: string;
}

/** Creates the folder for a new sweep in `runs` next to its recipe. */
export async function makeSweep({ recipe, name, configurations, plan, metric, tag }: NewSweep): Promise<string> {
	const path = resolve(recipe);
	const record: SweepRecord = {
		format: sweepFormat,
		recipe: basename(path),
		recipeHash: await hashOf(path),
		metric,
		tag,
		rungs: [...plan.rungs],
		counts: [...plan.counts],
		trials: configurations.map(({ set, seed, label }) => ({
			...{ set: set.map((one) => ({ path: [...one.path], value: one.value })), seed, label },
			...{ run: null, rung: -1, score: null, step: 0, status: null },
		})),
		open: [],
	};
	return makeNewFolder(join(dirname(path), 'runs'), `${name}-sweep`, (folder) => writeSweep(folder, record));
}

/** Reads sweep.json. Fails with `missing`, `corrupt`, `invalid`. */
export async function readSweep(folder: string): Promise<SweepRecord> {
	const path = join(folder, sweepFiles.record);
	const record = decodeOrThrow(sweepRecordSchema, await readJson(folder, sweepFiles.record, largestRecord), path);
	const known = record.open.flat().every((index) => index < record.trials.length);
	if (!known || record.counts.length !== record.rungs.length || record.open.length > record.rungs.length) {
		throw new Failure('invalid', `${path} is inconsistent with its own plan.`, 'Start the sweep again.');
	}
	return record;
}

export async function writeSweep(folder: string, record: SweepRecord): Promise<void> {
	await writeFileAtomic(join(folder, sweepFiles.record), `${JSON.stringify(record, null, '\t')}\n`);
}

/**
 * Returns a sweep's recipe. Fails with `mismatch` if the recipe has changed since the sweep was started, because
 * additional runs would not be comparable.
 */
export async function sweepRecipe(folder: string, { recipe, recipeHash }: SweepRecord): Promise<string> {
	const path = join(dirname(dirname(resolve(folder))), recipe);
	if ((await hashOf(path)) === recipeHash) return path;
	throw new Failure(
		'mismatch',
		`${path} has changed since the sweep was started.`,
		'Restore it, or start another sweep.',
	);
}

async function hashOf(path: string): Promise<string> {
	return sha256(await readSmallFile(dirname(path), basename(path), largestRecipe));
}

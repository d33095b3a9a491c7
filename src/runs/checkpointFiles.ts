import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { listFolder, readSmallFile } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { runFiles, stepOf } from './runFiles.ts';

/** Name of the file list in a checkpoint. It is written last, so a checkpoint whose files match it is complete. */
export const manifestName = 'checkpoint.json';

export const checkpointManifestSchema = v.looseObject({
	format: v.number(),
	step: v.number(),
	stage: v.nullable(v.string()),
	/** Metric for selecting the best checkpoint (held-out accuracy); null if not measured. */
	score: v.nullable(v.number()),
	time: v.number(),
	files: v.array(v.object({ name: v.string(), bytes: v.number() })),
});
export type CheckpointManifest = v.InferOutput<typeof checkpointManifestSchema>;

/** A complete checkpoint from a run. */
export interface CheckpointInfo {
	readonly step: number;
	/** Checkpoint folder. */
	readonly path: string;
	readonly stage: string | null;
	readonly score: number | null;
	/** Seconds since the epoch. */
	readonly time: number;
	readonly bytes: number;
	/** Whether it has the highest score of all existing checkpoints (the newest wins ties). */
	readonly best: boolean;
}

/**
 * Path of a checkpoint file, relative to the checkpoint folder, with `/` as the separator and no `.` or `..` segments.
 */
const fileName = /^(?:(?!\.{1,2}(?:\/|$))[\w.][\w.-]*(?:\/(?!$)|$))+$/;

/**
 * Returns the relative paths of the files in a checkpoint that is being written, with `/` as the separator. Fails with
 * `invalid` for links and forbidden names.
 */
export async function checkpointFileNames(folder: string): Promise<string[]> {
	const names: string[] = [];
	const list = async (below: string) => {
		for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
			const name = below === '' ? entry.name : `${below}/${entry.name}`;
			if (entry.isDirectory()) await list(name);
			else if (entry.isFile() && fileName.test(name)) names.push(name);
			else throw new Failure('invalid', `A checkpoint cannot contain ${JSON.stringify(name)}.`);
		}
	};
	await list('');
	return names.sort();
}

/**
 * Reads the manifest of a complete checkpoint. Returns null if files are missing, have a different size, or are not
 * regular files.
 */
export async function readManifest(folder: string): Promise<CheckpointManifest | null> {
	let value: unknown;
	try {
		value = parseBoundedJson(await readSmallFile(folder, manifestName));
	} catch {
		return null;
	}
	const decoded = decode(checkpointManifestSchema, value);
	if (!decoded.ok) return null;
	const folders = new Set<string>();
	for (const { name, bytes } of decoded.value.files) {
		if (!fileName.test(name)) return null;
		// A linked folder would lead out of the checkpoint.
		for (let parent = dirname(name); parent !== '.' && !folders.has(parent); parent = dirname(parent)) {
			if (!(await lstat(join(folder, parent)).catch(() => null))?.isDirectory()) return null;
			folders.add(parent);
		}
		const stat = await lstat(join(folder, name)).catch(() => null);
		if (!stat?.isFile() || stat.size !== bytes) return null;
	}
	return decoded.value;
}

/** Lists the complete checkpoints of a run, oldest first. */
export async function listCheckpoints(run: string): Promise<CheckpointInfo[]> {
	const folder = join(run, runFiles.checkpoints);
	const found: Omit<CheckpointInfo, 'best'>[] = [];
	for (const entry of await listFolder(run, runFiles.checkpoints)) {
		const step = entry.name.endsWith('.jsonl') ? null : stepOf(entry.name);
		if (step === null || !entry.isDirectory()) continue;
		const path = join(folder, entry.name);
		const manifest = await readManifest(path);
		if (manifest === null || manifest.step !== step) continue;
		found.push({
			step,
			path,
			stage: manifest.stage,
			score: manifest.score,
			time: manifest.time,
			bytes: manifest.files.reduce((sum, file) => sum + file.bytes, 0),
		});
	}
	found.sort((a, b) => a.step - b.step);
	let best: number | null = null;
	for (const { step, score } of found) {
		const leader = found.find((other) => other.step === best);
		if (score !== null && (leader === undefined || score >= (leader.score ?? Number.NEGATIVE_INFINITY))) best = step;
	}
	return found.map((checkpoint) => ({ ...checkpoint, best: checkpoint.step === best }));
}

/**
 * Returns a string that changes when a run completes a new checkpoint or one is deleted. Reads less than
 * {@link listCheckpoints}.
 */
export async function checkpointsStamp(run: string): Promise<string> {
	const folder = join(run, runFiles.checkpoints);
	const names = (await listFolder(run, runFiles.checkpoints))
		.map(({ name }) => name)
		.filter((name) => stepOf(name) !== null);
	const newest = names.sort().at(-1);
	if (newest === undefined) return '';
	const manifest = await lstat(join(folder, newest, manifestName)).catch(() => null);
	return `${names.join()} ${manifest?.mtimeMs ?? ''}`;
}

/** Deletes a folder so that no reader sees it half deleted under its original name. */
export async function deleteFolder(folder: string, name: string): Promise<void> {
	const aside = join(folder, `.${name}.deleted`);
	await rm(aside, { recursive: true, force: true });
	await rename(join(folder, name), aside);
	await rm(aside, { recursive: true, force: true });
}

/** Returns the checkpoints that are not needed when keeping the newest `keep` and the best one. */
export function superfluous(checkpoints: readonly CheckpointInfo[], keep: number): CheckpointInfo[] {
	return checkpoints.slice(0, Math.max(0, checkpoints.length - keep)).filter((checkpoint) => !checkpoint.best);
}

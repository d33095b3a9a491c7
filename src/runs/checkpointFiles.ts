import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { listFolder, readSmallFile } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { runFiles, stepOf } from './runFiles.ts';

/** The list of a checkpoint's files; written last, so that a checkpoint whose list fits its files is complete. */
export const manifestName = 'checkpoint.json';

export const checkpointManifestSchema = v.looseObject({
	format: v.number(),
	step: v.number(),
	stage: v.nullable(v.string()),
	/** What the best checkpoint is chosen by (held-out accuracy); null: not measured. */
	score: v.nullable(v.number()),
	time: v.number(),
	files: v.array(v.object({ name: v.string(), bytes: v.number() })),
});
export type CheckpointManifest = v.InferOutput<typeof checkpointManifestSchema>;

/** A complete checkpoint of a run. */
export interface CheckpointInfo {
	readonly step: number;
	/** Its folder. */
	readonly path: string;
	readonly stage: string | null;
	readonly score: number | null;
	/** Seconds since the epoch. */
	readonly time: number;
	readonly bytes: number;
	/** Whether it has the highest score of those that are there (the newest of equals). */
	readonly best: boolean;
}

/** A file of a checkpoint relative to its folder, with "/"; no part of it is "." or "..". */
const fileName = /^(?:(?!\.{1,2}(?:\/|$))[\w.][\w.-]*(?:\/(?!$)|$))+$/;

/** The files of a checkpoint that is being made, with "/". Fails with `invalid` for a link and for a name that none may have. */
export async function checkpointFileNames(folder: string): Promise<string[]> {
	const names: string[] = [];
	const list = async (below: string) => {
		for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
			const name = below === '' ? entry.name : `${below}/${entry.name}`;
			if (entry.isDirectory()) await list(name);
			else if (entry.isFile() && fileName.test(name)) names.push(name);
			else throw new Failure('invalid', `A checkpoint cannot hold ${JSON.stringify(name)}.`);
		}
	};
	await list('');
	return names.sort();
}

/** A complete checkpoint's manifest; null when files are missing, of another size or not regular. */
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
		// A folder that is a link would lead out of the checkpoint.
		for (let parent = dirname(name); parent !== '.' && !folders.has(parent); parent = dirname(parent)) {
			if (!(await lstat(join(folder, parent)).catch(() => null))?.isDirectory()) return null;
			folders.add(parent);
		}
		const stat = await lstat(join(folder, name)).catch(() => null);
		if (!stat?.isFile() || stat.size !== bytes) return null;
	}
	return decoded.value;
}

/** Complete checkpoints of a run, oldest first. */
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

/** Deletes a folder such that no reader sees it half deleted under its own name. */
export async function deleteFolder(folder: string, name: string): Promise<void> {
	const aside = join(folder, `.${name}.deleted`);
	await rm(aside, { recursive: true, force: true });
	await rename(join(folder, name), aside);
	await rm(aside, { recursive: true, force: true });
}

/** The checkpoints that keeping the newest `keep` and the best one leaves over. */
export function superfluous(checkpoints: readonly CheckpointInfo[], keep: number): CheckpointInfo[] {
	return checkpoints.slice(0, Math.max(0, checkpoints.length - keep)).filter((checkpoint) => !checkpoint.best);
}

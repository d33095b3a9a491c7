import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AbortSignalLike } from '../base/async.ts';
import { checkAborted } from '../base/async.ts';
import { listFolder, openRegular } from '../files/safeFile.ts';
import { rolloutSplits } from '../protocol/rolloutSplit.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import { ForeignRun } from '../runs/importers/foreignRun.ts';
import { openRun } from '../runs/openRun.ts';
import type { RolloutSplit, RunContent } from '../runs/runContent.ts';
import { runFiles, stepName, stepOf } from '../runs/runFiles.ts';
import { isRunFolder } from '../runs/runFolders.ts';

/** The rollouts of one step and split on disk. */
export interface RunPart {
	readonly split: RolloutSplit;
	readonly step: number;
	/** For our own runs, the file that contains exactly these rollouts; null for other formats. */
	readonly file: string | null;
	/** Changes whenever the files change. */
	readonly stamp: string;
	/** Size in bytes; 0 if unknown. */
	readonly bytes: number;
}

/** Lists all parts of a run. For our own runs, this uses file names and opens no files. */
export async function listParts(content: RunContent, signal?: AbortSignalLike): Promise<RunPart[]> {
	if (content.format === ownFormat) return await ownParts(content.folder, signal);
	const parts: RunPart[] = [];
	for (const split of rolloutSplits) {
		for (const step of await content.steps(split)) {
			checkAborted(signal);
			const rollouts = await content.open(step, split);
			await rollouts.close();
			parts.push({ split, step, file: null, stamp: rollouts.identity, bytes: 0 });
		}
	}
	return parts;
}

/**
 * Parts to search: like {@link listParts}, but without opening each step of another trainer's run to compute a stamp.
 */
export async function searchedParts(
	content: RunContent,
	signal?: AbortSignalLike,
): Promise<Pick<RunPart, 'split' | 'step' | 'file' | 'bytes'>[]> {
	if (content.format === ownFormat) return await ownParts(content.folder, signal);
	const parts: Pick<RunPart, 'split' | 'step' | 'file' | 'bytes'>[] = [];
	for (const split of rolloutSplits) {
		for (const step of await content.steps(split)) parts.push({ split, step, file: null, bytes: 0 });
	}
	return parts;
}

const statsAtOnce = 64;

async function ownParts(folder: string, signal?: AbortSignalLike): Promise<RunPart[]> {
	const found: { file: string; step: number }[] = [];
	for (const entry of await listFolder(folder, runFiles.rollouts)) {
		const step = stepOf(entry.name);
		if (step === null || !entry.isFile() || entry.name !== `${stepName(step)}.jsonl`) continue;
		found.push({ file: `${runFiles.rollouts}/${entry.name}`, step });
	}
	found.sort((a, b) => a.step - b.step);
	const parts: RunPart[] = [];
	for (let i = 0; i < found.length; i += statsAtOnce) {
		checkAborted(signal);
		const some = found.slice(i, i + statsAtOnce);
		const stats = await Promise.all(some.map(({ file }) => fileStamp(folder, file)));
		for (const [k, { file, step }] of some.entries()) {
			const stat = stats[k];
			if (stat) parts.push({ split: 'train', step, file, ...stat });
		}
	}
	return parts;
}

/** Returns the stamp of a regular file, or null if it does not exist. */
export async function fileStamp(
	folder: string,
	file: string,
): Promise<{ readonly stamp: string; readonly bytes: number } | null> {
	const found = await stat(join(folder, file), { bigint: true }).catch(() => null);
	if (found === null || !found.isFile()) return null;
	return { stamp: `${found.dev}-${found.ino}-${found.size}-${found.mtimeNs}`, bytes: Number(found.size) };
}

/** Returns whether two stamps belong to the same file, regardless of its size. */
export function sameFile(a: string, b: string): boolean {
	const identity = (stamp: string) => stamp.split('-').slice(0, 2).join('-');
	return identity(a) === identity(b);
}

/** Hashes the bytes before a file position, to check that the data read earlier is unchanged. */
export async function tailHash(folder: string, file: string, position: number): Promise<string> {
	const handle = await openRegular(folder, file);
	try {
		const length = Math.min(4096, position);
		const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position - length);
		return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex').slice(0, 16);
	} finally {
		await handle.close();
	}
}

/** Returns a value that changes when the metrics of a run change. */
export async function metricsStamp(content: RunContent): Promise<string> {
	if (!(content instanceof ForeignRun)) return (await fileStamp(content.folder, runFiles.metrics))?.stamp ?? '';
	const hash = createHash('sha256');
	for (const { pattern } of content.runFormat.metrics) {
		for (const { path, stamp } of await content.disk.find(pattern)) hash.update(`${path}\n${stamp}\n`);
	}
	return hash.digest('hex').slice(0, 32);
}

/** Returns a value, based only on the newest files, for quickly checking whether anything might have changed. */
export async function quickStamp(folder: string): Promise<string> {
	if (!(await isRunFolder(folder))) return await quickForeignStamp(folder);
	const names = [runFiles.record, runFiles.metrics, runFiles.rollouts, runFiles.evaluations];
	const stats = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => null)));
	const newest = (await readdir(join(folder, runFiles.rollouts)).catch(() => [] as string[])).reduce(
		(last, name) => (name > last ? name : last),
		'',
	);
	const size = newest === '' ? 0 : ((await stat(join(folder, runFiles.rollouts, newest)).catch(() => null))?.size ?? 0);
	return [...stats.map((one) => (one === null ? '-' : `${one.size} ${one.mtimeMs}`)), newest, size].join('|');
}

async function quickForeignStamp(folder: string): Promise<string> {
	const content = await openRun(folder);
	const parts = [await metricsStamp(content)];
	for (const split of rolloutSplits) {
		const steps = await content.steps(split);
		parts.push(`${steps.length}`);
		for (const step of new Set([steps[0], steps.at(-1)])) {
			if (step === undefined) continue;
			const rollouts = await content.open(step, split);
			await rollouts.close();
			parts.push(rollouts.identity);
		}
	}
	return parts.join('|');
}

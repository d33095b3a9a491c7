import { rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { formatLine } from '../files/jsonLines.ts';
import { requireInside } from '../files/ownFolder.ts';
import { listFolder } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { rolloutLineSchema } from '../protocol/rolloutLine.ts';
import type { RunAnnotation } from '../protocol/runRecord.ts';
import { annotationFolderOf } from './annotationFolder.ts';
import { deleteFolder, listCheckpoints, superfluous } from './checkpointFiles.ts';
import { rolloutPath, runFiles, stepName } from './runFiles.ts';
import { listRolloutSteps, readAnnotation, readLines } from './runReader.ts';
import { lockPatience } from './runStatus.ts';

/** Changes the user's annotations on a run (name, tags, note); an undefined value removes the field. */
export async function annotateRun(
	run: string,
	change: {
		readonly name?: string | undefined;
		readonly tags?: readonly string[] | undefined;
		readonly note?: string | undefined;
	},
): Promise<RunAnnotation> {
	const annotation: RunAnnotation = { ...(await readAnnotation(run)), format: 1 };
	for (const [key, value] of Object.entries(change)) {
		if (value === undefined || value.length === 0) delete annotation[key];
		else annotation[key] = value;
	}
	const folder = await annotationFolderOf(run);
	await ensureFolder(folder).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write to ${folder}`);
	});
	const own = folder === join(run, runFiles.annotations);
	// A link would redirect the write out of the run.
	if (own && !(await listFolder(run)).some((entry) => entry.name === runFiles.annotations && entry.isDirectory())) {
		throw new Failure('invalid', `${folder} is not a folder, so nothing was written.`);
	}
	await writeFileAtomic(join(folder, 'person.json'), `${JSON.stringify(annotation, null, '\t')}\n`);
	return annotation;
}

export const renameRun = (run: string, name: string): Promise<RunAnnotation> => annotateRun(run, { name: name.trim() });

export const tagRun = (run: string, tags: readonly string[]): Promise<RunAnnotation> =>
	annotateRun(run, { tags: [...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== ''))] });

export const noteRun = (run: string, note: string): Promise<RunAnnotation> => annotateRun(run, { note });

/** Runs an operation on a run that must not have an active engine; fails with `busy` if it has one. */
export async function withIdleRun<T>(run: string, work: () => Promise<T>): Promise<T> {
	const lock = await FileLock.acquire(join(run, runFiles.lock), `The run ${run}`, await lockPatience(run));
	try {
		return await work();
	} finally {
		await lock.release();
	}
}

const trashName = '.trash';

/**
 * Moves an idle run to `.trash` next to it.
 * @returns the new location; `restoreRun` restores it
 */
export async function trashRun(run: string): Promise<string> {
	await withIdleRun(run, async () => undefined).catch((error: unknown) => {
		throw Failure.from(error, `Cannot move ${run} to the trash`);
	});
	return moveToTrash(run);
}

/**
 * Moves a folder that is not in use to `.trash` next to it.
 * @returns the new location
 */
export async function moveToTrash(folder: string): Promise<string> {
	const trash = join(dirname(folder), trashName);
	try {
		await ensureFolder(await requireInside(dirname(folder), trashName));
		let target = join(trash, basename(folder));
		for (let i = 2; await stat(target).catch(() => null); i++) target = join(trash, `${basename(folder)}-${i}`);
		await rename(folder, target);
		return target;
	} catch (error) {
		throw Failure.from(error, `Cannot move ${folder} to the trash`);
	}
}

/** Restores a run from `.trash`; fails with `exists` if its original path is taken. */
export async function restoreRun(trashed: string): Promise<string> {
	const target = join(dirname(dirname(trashed)), basename(trashed));
	if (basename(dirname(trashed)) !== trashName) throw new Failure('invalid', `${trashed} is not in a trash folder.`);
	if (await stat(target).catch(() => null))
		throw new Failure('exists', `${target} already exists.`, 'Rename it first.');
	await rename(trashed, target).catch((error: unknown) => {
		throw Failure.from(error, `Cannot restore ${trashed}`);
	});
	return target;
}

/**
 * Deletes all checkpoints of an idle run except the newest `keep` and the best.
 * @returns the number of bytes freed
 */
export function pruneCheckpoints(run: string, keep: number): Promise<number> {
	return withIdleRun(run, async () => {
		let freed = 0;
		for (const { step, bytes } of superfluous(await listCheckpoints(run), Math.max(1, keep))) {
			await deleteFolder(join(run, runFiles.checkpoints), stepName(step));
			freed += bytes;
		}
		return freed;
	});
}

/**
 * Rewrites the rollouts of an idle run without their token logs.
 * @returns the number of bytes freed
 */
export function pruneTokenLogs(run: string): Promise<number> {
	return withIdleRun(run, async () => {
		let freed = 0;
		for (const step of await listRolloutSteps(run)) {
			const path = rolloutPath(run, step);
			const before = (await stat(path)).size;
			const lines: string[] = [];
			let logged = false;
			let readable = true;
			for await (const batch of readLines(run, `${runFiles.rollouts}/${stepName(step)}.jsonl`, v.unknown())) {
				for (const value of batch) {
					const decoded = decode(rolloutLineSchema, value);
					readable &&= decoded.ok;
					if (!decoded.ok) continue;
					const { tokens, ...line } = decoded.value;
					logged ||= tokens !== undefined;
					// Preserve the completion length.
					const extra = tokens === undefined ? line.extra : { ...line.extra, length: tokens.text.length };
					lines.push(formatLine(extra === undefined ? line : { ...line, extra }));
				}
			}
			// A file with an unreadable line is not rewritten, because that would lose the line.
			if (!readable) continue;
			if (!logged) continue;
			await writeFileAtomic(path, lines);
			freed += before - (await stat(path)).size;
		}
		return freed;
	});
}

import type { Dirent } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ensureFolder, removeAsideFiles, renameOver, syncFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { parseLine, splitLines } from '../files/jsonLines.ts';
import { readNamed } from '../files/safeFile.ts';
import { readManifest } from './checkpointFiles.ts';
import { runFiles, stepOf } from './runFiles.ts';

/**
 * Recovers from an interrupted checkpoint replacement. A checkpoint that replaces one of the same step is swapped in
 * with two renames; a crash between them leaves the old checkpoint under a different name. This function restores the
 * old checkpoint and deletes unfinished files.
 */
export async function recoverCheckpoints(run: string): Promise<void> {
	const folder = join(run, runFiles.checkpoints);
	const names = await readdir(folder).catch(() => [] as string[]);
	for (const name of names) {
		const match = /^\.(step_\d+)\.(old|tmp|deleted)$/.exec(name);
		if (!match) continue;
		const [, step = '', kind] = match;
		if (kind === 'old' && !names.includes(step)) await rename(join(folder, name), join(folder, step));
		else await rm(join(folder, name), { recursive: true, force: true });
	}
}

/**
 * Moves everything past `step`, and any incomplete data, to superseded/<n>/. Lines are written there before they are
 * removed from their file, so an interruption loses nothing, and a second call finishes the operation.
 * @returns the step of the last remaining metrics line, or -1 if there is none
 */
export async function supersede(run: string, step: number): Promise<number> {
	try {
		await recoverCheckpoints(run);
		await removeAsideFiles(run);
		await removeAsideFiles(join(run, runFiles.data));
		const target = new Superseded(run);
		const last = await splitLog(run, runFiles.metrics, target, (line) => line.step <= step);
		await splitLog(
			run,
			runFiles.events,
			target,
			(line) => line.step <= step || (line as { type?: unknown }).type === 'hyperparameters',
		);
		await moveSteps(run, runFiles.rollouts, target, (found) => found > step);
		await moveSteps(run, runFiles.evaluations, target, (found) => found > step);
		await moveSteps(run, runFiles.checkpoints, target, (found) => found > step);
		await moveIncompleteCheckpoints(run, target);
		await syncFolder(run);
		return last;
	} catch (error) {
		throw Failure.from(error, `Cannot set aside the steps after ${step} in ${run}`);
	}
}

/** superseded/<n>, created when the first item is moved there. */
class Superseded {
	readonly #run: string;
	#path: string | null = null;

	constructor(run: string) {
		this.#run = run;
	}

	async folder(): Promise<string> {
		if (this.#path !== null) return this.#path;
		const parent = join(this.#run, runFiles.superseded);
		await ensureFolder(parent);
		const taken = (await readdir(parent)).map(Number).filter(Number.isSafeInteger);
		this.#path = join(parent, String(Math.max(0, ...taken) + 1));
		await mkdir(this.#path);
		return this.#path;
	}
}

type SteppedLine = Record<string, unknown> & { step: number };

/**
 * Moves the lines that are not kept.
 * @returns the step of the last line kept, or -1
 */
async function splitLog(
	run: string,
	name: string,
	target: Superseded,
	keep: (line: SteppedLine) => boolean,
): Promise<number> {
	const path = join(run, name);
	const bytes = await readNamed(path, { largest: Number.MAX_SAFE_INTEGER }).catch((error: unknown) => {
		if (Failure.from(error).reason === 'missing') return null;
		throw error;
	});
	if (bytes === null) return -1;
	const { lines, consumed } = splitLines(bytes);
	let last = -1;
	const kept: Uint8Array[] = [];
	const moved: Uint8Array[] = [];
	for (const line of lines) {
		const value = parseLine(line) as SteppedLine | undefined;
		const whole = typeof value === 'object' && value !== null && typeof value.step === 'number';
		if (whole && keep(value)) {
			kept.push(line);
			last = value.step;
		} else moved.push(line);
	}
	if (consumed < bytes.length) moved.push(bytes.subarray(consumed));
	if (moved.length === 0) return last;
	await writeFileAtomic(join(await target.folder(), name), joinLines(moved));
	await writeFileAtomic(path, joinLines(kept));
	return last;
}

function joinLines(lines: readonly Uint8Array[]): Uint8Array {
	const newline = Uint8Array.of(0x0a);
	return Buffer.concat(lines.flatMap((line) => [line, newline]));
}

async function moveSteps(
	run: string,
	name: string,
	target: Superseded,
	past: (step: number) => boolean,
): Promise<void> {
	const folder = join(run, name);
	await removeAsideFiles(folder);
	for (const entry of await entriesOf(folder)) {
		const step = stepOf(entry.name);
		if (step !== null && past(step)) await moveInto(folder, entry.name, join(await target.folder(), name));
	}
}

async function moveIncompleteCheckpoints(run: string, target: Superseded): Promise<void> {
	const folder = join(run, runFiles.checkpoints);
	for (const entry of await entriesOf(folder)) {
		if (stepOf(entry.name) === null || (await readManifest(join(folder, entry.name))) !== null) continue;
		await moveInto(folder, entry.name, join(await target.folder(), runFiles.checkpoints));
	}
}

async function moveInto(folder: string, name: string, target: string): Promise<void> {
	await ensureFolder(target);
	await renameOver(join(folder, name), join(target, name));
}

async function entriesOf(folder: string): Promise<Dirent[]> {
	return readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
		if (error.code === 'ENOENT') return [];
		throw error;
	});
}

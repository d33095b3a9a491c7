import { constants } from 'node:fs';
import { type FileHandle, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Sequencer } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { AppendFile } from '../files/appendFile.ts';
import { ensureFolder, renameOver, syncFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { formatLine } from '../files/jsonLines.ts';
import { heartbeatMs } from '../files/lockTimes.ts';
import { requireInside } from '../files/ownFolder.ts';
import { openNamed, openRegular, openToAppend } from '../files/safeFile.ts';
import { ownIdentity } from '../processes/processIdentity.ts';
import type { EvaluationLine, EvaluationSummary } from '../protocol/evaluation.ts';
import type { EventLine } from '../protocol/eventLine.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import { type RunRecord, runFormat } from '../protocol/runRecord.ts';
import {
	type CheckpointInfo,
	type CheckpointManifest,
	checkpointFileNames,
	deleteFolder,
	listCheckpoints,
	manifestName,
	superfluous,
} from './checkpointFiles.ts';
import { refuseLinks } from './refuseLinks.ts';
import { rolloutPath, runFiles, stepName } from './runFiles.ts';
import { readRecord } from './runReader.ts';
import { lockPatience } from './runStatus.ts';
import { recoverCheckpoints, supersede } from './supersede.ts';

/** Record fields that the engine sets for a new run; the writer adds format, status, times and the process. */
export type InitialRecord = Pick<
	RunRecord,
	'id' | 'name' | 'engine' | 'stage' | 'totalSteps' | 'device' | 'parent' | 'seeds' | 'versions' | 'hashes'
>;

const now = () => Date.now() / 1000;

/**
 * Writes a run directory. Each run has only one writer, which belongs to the engine, holds the run's lock and updates
 * the heartbeat. All writes go through one queue, so they reach the disk in the order they were requested, and each
 * call resolves when its bytes have been flushed. Fails with `busy` (another engine), `full` or `denied`, leaving
 * existing data unchanged.
 */
export class RunWriter {
	readonly folder: string;
	readonly #lock: FileLock;
	readonly #queue = new Sequencer();
	readonly #metrics: AppendFile;
	readonly #events: AppendFile;
	#log: FileHandle | null = null;
	#record: RunRecord;
	#pending: Promise<void> | null = null;
	#lastStep = -1;
	#timer: NodeJS.Timeout;
	#closed = false;

	private constructor(folder: string, lock: FileLock, record: RunRecord) {
		this.folder = folder;
		this.#lock = lock;
		this.#record = record;
		this.#metrics = new AppendFile(join(folder, runFiles.metrics));
		this.#events = new AppendFile(join(folder, runFiles.events));
		this.#timer = setInterval(() => void this.updateRecord({}).catch(() => undefined), heartbeatMs);
		this.#timer.unref();
	}

	/**
	 * Creates run.json in a folder that has none (prepareRun created the folder and recipe.json). Fails with `exists` or
	 * `busy`.
	 */
	static async create(folder: string, initial: InitialRecord): Promise<RunWriter> {
		const lock = await lockRun(folder);
		try {
			if (await stat(join(folder, runFiles.record)).catch(() => null)) {
				throw new Failure(
					'exists',
					`${folder} already contains a run.`,
					'Resume it, or start a new one from its recipe.',
				);
			}
			const time = now();
			const record: RunRecord = {
				format: runFormat,
				...initial,
				status: 'starting',
				attempt: 1,
				step: 0,
				created: time,
				updated: time,
				heartbeat: time,
				...(await ownIdentity()),
			};
			const writer = new RunWriter(folder, lock, record);
			await writer.#writeRecord();
			return writer;
		} catch (error) {
			await lock.release();
			throw error;
		}
	}

	/**
	 * Takes over an existing run (dead or ended) to resume it; call `setAside` before writing anything. Unknown fields in
	 * run.json are preserved, and an old error or pause reason is dropped.
	 */
	static async reopen(folder: string): Promise<RunWriter> {
		const lock = await lockRun(folder, await lockPatience(folder));
		try {
			const { error: _, pause: __, wait: ___, ...old } = await readRecord(folder);
			const time = now();
			const writer = new RunWriter(folder, lock, {
				...old,
				status: 'starting',
				updated: time,
				heartbeat: time,
				...(await ownIdentity()),
			});
			await recoverCheckpoints(folder);
			await writer.#writeRecord();
			return writer;
		} catch (error) {
			await lock.release();
			throw error;
		}
	}

	/** run.json as last written or about to be written. */
	get record(): RunRecord {
		return this.#record;
	}

	/** Changes fields in run.json; several calls are combined into one write. */
	updateRecord(patch: Partial<RunRecord>): Promise<void> {
		this.#record = { ...this.#record, ...patch };
		this.#pending ??= this.#queue.queue(() => {
			this.#pending = null;
			return this.#closed ? Promise.resolve() : this.#writeRecord();
		});
		return this.#pending;
	}

	/** After `close`, another engine might hold the lock, so this one must not write anything. */
	#write<T>(task: () => Promise<T>): Promise<T> {
		return this.#queue.queue(() => {
			if (this.#closed) throw new Failure('unavailable', `The run ${this.folder} is closed.`);
			return task();
		});
	}

	async #writeRecord(): Promise<void> {
		const time = now();
		this.#record = { ...this.#record, updated: time, heartbeat: time };
		await writeFileAtomic(join(this.folder, runFiles.record), `${JSON.stringify(this.#record, null, '\t')}\n`);
	}

	/** Step of the latest metrics line; -1 if there is none. */
	get lastMetricsStep(): number {
		return this.#lastStep;
	}

	/** Appends one line per optimizer step, strictly increasing. Non-finite values are written as null. */
	appendMetrics(line: MetricsLine): Promise<void> {
		return this.#write(async () => {
			if (line.step <= this.#lastStep) {
				throw new Failure('internal', `Metrics for step ${line.step} cannot follow those for step ${this.#lastStep}.`);
			}
			const { values, ...identity } = line;
			await this.#metrics.append(formatLine({ ...identity, ...values }));
			this.#lastStep = line.step;
		});
	}

	/** Writes the rollouts that are first used at `step`, given as lines or as file contents. The write is atomic. */
	writeRollouts(step: number, lines: Iterable<RolloutLine> | Uint8Array): Promise<void> {
		return this.#write(async () => {
			const content = lines instanceof Uint8Array ? lines : formatted(lines);
			const path = rolloutPath(this.folder, step);
			try {
				await writeFileAtomic(path, content);
			} catch (error) {
				if (Failure.from(error).reason !== 'missing') throw error;
				await ensureFolder(dirname(path));
				await writeFileAtomic(path, content);
			}
		});
	}

	/** Writes a picture used by rollouts, unless it already exists. Its name is a hash of its contents. */
	writePicture(file: string, content: Uint8Array): Promise<void> {
		return this.#write(async () => {
			const path = join(this.folder, runFiles.pictures, file);
			const there = await stat(path).then(
				(known) => known.isFile(),
				() => false,
			);
			if (there) return;
			await ensureFolder(dirname(path));
			await writeFileAtomic(path, content);
		});
	}

	/** Data files created by the run, stored in data/. */
	readonly data = {
		/** null if the file does not exist. */
		read: async (name: string): Promise<string | null> => {
			const handle = await openRegular(this.folder, `${runFiles.data}/${name}`).catch((error: unknown) => {
				if (error instanceof Failure && error.reason === 'missing') return null;
				throw error;
			});
			if (handle === null) return null;
			try {
				return await handle.readFile('utf8');
			} finally {
				await handle.close();
			}
		},
		/** Writes the file atomically. */
		write: (name: string, content: string | Iterable<string>): Promise<void> =>
			this.#write(async () => {
				const path = join(this.folder, runFiles.data, name);
				await requireInside(this.folder, runFiles.data);
				await ensureFolder(dirname(path));
				await writeFileAtomic(path, content);
			}),
		remove: (name: string): Promise<void> =>
			this.#write(() => rm(join(this.folder, runFiles.data, name), { recursive: true, force: true })),
	};

	/** Appends an event with the current time; `step` defaults to the record's. */
	appendEvent(event: {
		readonly type: string;
		readonly step?: number;
		readonly [key: string]: unknown;
	}): Promise<void> {
		const line: EventLine = { time: now(), ...event, step: event.step ?? this.#record.step };
		return this.#write(() => this.#events.append(formatLine(line)));
	}

	/** Writes evaluations/step_N/<name>.jsonl, followed by <name>.json, which marks it as complete. */
	writeEvaluation(
		step: number,
		name: string,
		lines: Iterable<EvaluationLine>,
		summary: EvaluationSummary,
	): Promise<void> {
		if (!/^[\w][\w.-]*$/.test(name)) throw new Failure('internal', `"${name}" is not a valid evaluation name.`);
		return this.#write(async () => {
			const folder = await requireInside(this.folder, runFiles.evaluations, stepName(step));
			await ensureFolder(folder);
			await writeFileAtomic(join(folder, `${name}.jsonl`), formatted(lines));
			await writeFileAtomic(join(folder, `${name}.json`), `${JSON.stringify(summary, null, '\t')}\n`);
		});
	}

	/** Creates an empty folder for a checkpoint's files; the checkpoint becomes valid only with `commitCheckpoint`. */
	beginCheckpoint(step: number): Promise<string> {
		return this.#write(async () => {
			const aside = this.#checkpointAside(step);
			await rm(aside, { recursive: true, force: true });
			await ensureFolder(aside);
			return aside;
		});
	}

	/**
	 * Turns the staged files into a checkpoint that is either complete or absent, even after a crash. Replaces a
	 * checkpoint of the same step.
	 * @param score metric for selecting the best checkpoint; null if not measured
	 */
	commitCheckpoint(
		step: number,
		options: { readonly stage?: string | null; readonly score?: number | null } = {},
	): Promise<CheckpointInfo> {
		return this.#write(async () => {
			const aside = this.#checkpointAside(step);
			const folder = join(this.folder, runFiles.checkpoints);
			const path = join(folder, stepName(step));
			try {
				await writeManifest(aside, {
					format: 1,
					step,
					stage: options.stage === undefined ? this.#record.stage : options.stage,
					score: options.score ?? null,
					time: now(),
				});
				const old = join(folder, `.${stepName(step)}.old`);
				await rm(old, { recursive: true, force: true });
				await rename(path, old).catch((error: NodeJS.ErrnoException) => {
					if (error.code !== 'ENOENT') throw error;
				});
				await renameOver(aside, path);
				await syncFolder(folder);
				await rm(old, { recursive: true, force: true });
			} catch (error) {
				throw Failure.from(error, `Cannot write the checkpoint ${path}`);
			}
			const info = (await listCheckpoints(this.folder)).find((checkpoint) => checkpoint.step === step);
			if (info === undefined) throw new Failure('corrupt', `The checkpoint ${path} is missing after it was written.`);
			return info;
		});
	}

	#checkpointAside(step: number): string {
		return join(this.folder, runFiles.checkpoints, `.${stepName(step)}.tmp`);
	}

	/** Returns the complete checkpoints, oldest first. */
	listCheckpoints(): Promise<CheckpointInfo[]> {
		return this.#queue.queue(() => listCheckpoints(this.folder));
	}

	/** Deletes all checkpoints except the newest `keep` and the best one; returns the deleted steps. */
	pruneCheckpoints(keep: number): Promise<number[]> {
		return this.#write(async () => {
			const gone = superfluous(await listCheckpoints(this.folder), Math.max(1, keep));
			for (const { step } of gone) await deleteFolder(join(this.folder, runFiles.checkpoints), stepName(step));
			return gone.map(({ step }) => step);
		});
	}

	/**
	 * Prepares to resume from the checkpoint at `step` (-1: from the start). Metrics, rollouts, evaluations, events and
	 * checkpoints of later steps and any incomplete data move to superseded/<n>/, and the attempt number is incremented.
	 * Events of type `hyperparameters` are kept because they are replayed, as is everything that belongs to `step` itself.
	 */
	setAside(step: number): Promise<void> {
		return this.#write(async () => {
			await this.#metrics.close();
			await this.#events.close();
			this.#lastStep = await supersede(this.folder, step);
			this.#record = { ...this.#record, step: Math.max(0, step), attempt: this.#record.attempt + 1 };
			await this.#writeRecord();
		});
	}

	/** Writes a human-readable line to engine.log. Never fails, because the run does not depend on it. */
	log(text: string): void {
		void this.#queue.queue(async () => {
			if (this.#closed) return;
			try {
				this.#log ??= await openToAppend(join(this.folder, runFiles.log));
				await this.#log.appendFile(`${new Date().toISOString()} ${text}\n`);
			} catch {
				// A full disk stops the run where its data is written, not here.
			}
		});
	}

	/** Writes pending data and releases the lock. Set the final status first. */
	async close(): Promise<void> {
		if (this.#closed) return;
		clearInterval(this.#timer);
		try {
			await this.#queue.queue(async () => {
				this.#closed = true;
				await this.#metrics.close();
				await this.#events.close();
				await this.#log?.close();
			});
		} finally {
			await this.#lock.release();
		}
	}
}

async function lockRun(folder: string, patienceMs = 0): Promise<FileLock> {
	await refuseLinks(folder).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write to ${folder}`);
	});
	return FileLock.acquire(join(folder, runFiles.lock), `The run ${folder}`, patienceMs);
}

function* formatted(lines: Iterable<unknown>): Iterable<string> {
	for (const line of lines) yield formatLine(line);
}

async function writeManifest(folder: string, head: Omit<CheckpointManifest, 'files'>): Promise<void> {
	const files: { name: string; bytes: number }[] = [];
	for (const name of await checkpointFileNames(folder)) {
		if (name === manifestName) continue;
		const handle = await openNamed(join(folder, name), name, constants.O_RDWR);
		try {
			await handle.sync();
			files.push({ name, bytes: (await handle.stat()).size });
		} finally {
			await handle.close();
		}
	}
	for (const name of new Set(files.map((file) => dirname(file.name)))) await syncFolder(join(folder, name));
	await writeFileAtomic(join(folder, manifestName), `${JSON.stringify({ ...head, files }, null, '\t')}\n`);
}

import { join } from 'node:path';
import { Sequencer } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { AppendFile } from '../../../files/appendFile.ts';
import { ensureFolder } from '../../../files/atomicFile.ts';
import { parseLine } from '../../../files/jsonLines.ts';
import { LineTail } from '../../../files/lineTail.ts';
import { decode } from '../../../protocol/decode.ts';
import { type EventLine, eventLineSchema } from '../../../protocol/eventLine.ts';
import type { RunRecord } from '../../../protocol/runRecord.ts';
import { FolderNews } from '../../../runs/folderNews.ts';
import { rolloutPath, runFiles, stepName } from '../../../runs/runFiles.ts';
import { readEvents, readRecord } from '../../../runs/runReader.ts';
import type { RunWriter } from '../../../runs/runWriter.ts';
import { CheckpointMirror } from './checkpointMirror.ts';
import { commonLines } from './commonLines.ts';
import { copyRegular, sizeOf } from './copyRegular.ts';

/** Marks events in a mirrored run that were written by the local driver rather than on the cluster. */
export const localEvent = { local: true } as const;

/** Record fields copied from the mirrored run. All others describe the remote process. */
const takenOver = ['stage', 'totalSteps', 'step', 'rewards', 'seeds', 'hashes'] as const;

/** State of a run on the cluster, regardless of which program writes it. */
export type MirroredRun = Pick<RunRecord, 'status' | 'device' | 'wait' | 'step' | 'pause' | 'error'>;

/** Keeps the local run identical to the run on the cluster. */
export interface Mirror {
	/** Attempt number of the mirrored run that the local run corresponds to. */
	readonly attempt: number;
	/**
	 * Copies new data.
	 * @returns null if there is no data yet
	 */
	sync(thorough?: boolean): Promise<MirroredRun | null>;
	close(): Promise<void>;
}

export interface MirrorOptions {
	/** Whether to also copy checkpoints. If not, they remain on the cluster. */
	readonly checkpoints: boolean;
	/** The mirrored run's attempt number at the last synchronization, or 0 if there was none. */
	readonly attempt: number;
}

/**
 * Mirrors a run folder written by another driver: metrics byte by byte, each event once, rollouts and evaluations as
 * whole files, and checkpoints. When the other run goes back to a checkpoint, this run follows: later data moves to
 * superseded/ and the attempt number increases. The mirror can be restarted at any time without duplicating data.
 */
export class RunMirror implements Mirror {
	readonly source: string;
	readonly #writer: RunWriter;
	readonly #run: string;
	readonly #withCheckpoints: boolean;
	readonly #copies: CheckpointMirror;
	readonly #queue = new Sequencer();
	#metricsFile: AppendFile;
	#metrics: LineTail;
	#events: LineTail;
	#news: FolderNews;
	/** Number of metric lines that already exist. */
	#skip = 0;
	#lastStep = -1;
	/** Number of occurrences of each existing event. */
	#known = new Map<string, number>();
	#aligned = false;
	#attempt: number;
	#copying: Promise<void> = Promise.resolve();
	#copyFailure: unknown = null;

	constructor(source: string, writer: RunWriter, options: MirrorOptions) {
		this.source = source;
		this.#writer = writer;
		this.#run = writer.folder;
		this.#withCheckpoints = options.checkpoints;
		this.#attempt = options.attempt;
		this.#copies = new CheckpointMirror(source, this.#run);
		this.#metricsFile = new AppendFile(join(this.#run, runFiles.metrics));
		this.#metrics = new LineTail(source, runFiles.metrics);
		this.#events = new LineTail(source, runFiles.events);
		this.#news = new FolderNews(source);
	}

	/** Attempt number of the mirrored run that this run corresponds to. */
	get attempt(): number {
		return this.#attempt;
	}

	/**
	 * Copies new data. Throws on local disk errors, but not if the run does not exist yet.
	 * @param thorough whether to also wait for checkpoint copies
	 * @returns the mirrored run's record, or null if there is none yet
	 */
	sync(thorough = false): Promise<RunRecord | null> {
		return this.#queue.queue(() => this.#sync(thorough));
	}

	async #sync(thorough: boolean): Promise<RunRecord | null> {
		const record = await readRecord(this.source).catch((error: unknown) => {
			if (error instanceof Failure && error.reason === 'missing') return null;
			throw error;
		});
		if (record === null) return null;
		if (!this.#aligned || record.attempt !== this.#attempt) await this.#align(record);
		// Copy rollouts first, so they exist by the time a step's metrics are visible.
		await this.#takeRollouts(thorough);
		await this.#takeMetrics();
		await this.#takeEvents();
		await this.#takeEvaluations(thorough);
		await this.#takeCheckpoints(thorough);
		await this.#takeRecord(record);
		return record;
	}

	close(): Promise<void> {
		return this.#queue.queue(async () => {
			await this.#copying;
			await this.#metricsFile.close();
		});
	}

	/** Rolls back to the last point where both runs are identical. */
	async #align(record: RunRecord): Promise<void> {
		await this.#metricsFile.close();
		await this.#copying;
		const common = await commonLines(this.#run, this.source, runFiles.metrics);
		const grown = this.#attempt !== 0 && record.attempt !== this.#attempt;
		if (common.more || grown) {
			const before = this.#writer.record.attempt;
			await this.#writer.setAside(common.step);
			await this.#writer.updateRecord({ attempt: Math.max(record.attempt, before + (grown ? 1 : 0)) });
		}
		this.#metricsFile = new AppendFile(join(this.#run, runFiles.metrics));
		this.#metrics = new LineTail(this.source, runFiles.metrics);
		this.#events = new LineTail(this.source, runFiles.events);
		this.#news = new FolderNews(this.source);
		this.#skip = common.lines;
		this.#lastStep = common.step;
		this.#known = new Map();
		for (const event of await readEvents(this.#run)) {
			if (event.local === true) continue;
			const text = JSON.stringify(event);
			this.#known.set(text, (this.#known.get(text) ?? 0) + 1);
		}
		this.#attempt = record.attempt;
		this.#aligned = true;
	}

	async #takeMetrics(): Promise<void> {
		for (;;) {
			const portion = await this.#metrics.read();
			if (portion === 'replaced') {
				this.#aligned = false;
				return;
			}
			if (portion === null) return;
			const lines: string[] = [];
			for (const line of portion) {
				if (this.#skip > 0) {
					this.#skip--;
					continue;
				}
				const value = parseLine(line) as { readonly step?: unknown } | undefined;
				if (typeof value?.step !== 'number' || value.step <= this.#lastStep) continue;
				this.#lastStep = value.step;
				lines.push(`${Buffer.from(line).toString('utf8')}\n`);
			}
			if (lines.length > 0) await this.#metricsFile.append(lines.join(''));
		}
	}

	async #takeEvents(): Promise<void> {
		for (;;) {
			const portion = await this.#events.read();
			if (portion === 'replaced') {
				this.#aligned = false;
				return;
			}
			if (portion === null) return;
			for (const line of portion) {
				const decoded = decode(eventLineSchema, parseLine(line));
				if (decoded.ok) await this.#takeEvent(decoded.value);
			}
		}
	}

	async #takeEvent(event: EventLine): Promise<void> {
		const text = JSON.stringify(event);
		const known = this.#known.get(text) ?? 0;
		if (known > 0) this.#known.set(text, known - 1);
		else await this.#writer.appendEvent(event);
	}

	async #takeRollouts(thorough: boolean): Promise<void> {
		for (const step of await this.#news.rollouts(thorough)) {
			const name = `${runFiles.rollouts}/${stepName(step)}.jsonl`;
			const size = await sizeOf(join(this.source, name));
			// The file was moved away in the meantime.
			if (size === null || (await sizeOf(rolloutPath(this.#run, step))) === size) continue;
			await copyRegular(this.source, this.#run, name).catch(unlessGone);
		}
	}

	async #takeEvaluations(thorough: boolean): Promise<void> {
		for (const { step, name } of await this.#news.evaluations(thorough)) {
			if (!/^\w[\w.-]*$/.test(name)) continue;
			const folder = `${runFiles.evaluations}/${stepName(step)}`;
			await ensureFolder(join(this.#run, folder));
			// Copy the summary last, because it marks the evaluation as complete.
			for (const file of [`${folder}/${name}.jsonl`, `${folder}/${name}.json`]) {
				await copyRegular(this.source, this.#run, file).catch(unlessGone);
			}
		}
	}

	/** Copies checkpoints in the background, because they can be many gigabytes in size. */
	async #takeCheckpoints(thorough: boolean): Promise<void> {
		if (this.#withCheckpoints) {
			const checkpoints = await this.#news.checkpoints(thorough);
			if (checkpoints !== null) {
				this.#copying = this.#copies.sync(checkpoints).catch((error: unknown) => {
					this.#copyFailure = error;
				});
			}
		}
		if (thorough) await this.#copying;
		const failure = this.#copyFailure;
		this.#copyFailure = null;
		if (failure !== null) throw failure;
	}

	async #takeRecord(record: RunRecord): Promise<void> {
		const mine = this.#writer.record;
		const theirs = { ...record, versions: { ...mine.versions, ...record.versions } };
		const changed = [...takenOver, 'versions' as const].filter(
			(key) => JSON.stringify(mine[key]) !== JSON.stringify(theirs[key]),
		);
		if (changed.length === 0) return;
		await this.#writer.updateRecord(Object.fromEntries(changed.map((key) => [key, theirs[key]])));
	}
}

/** Ignores missing files. They were moved or replaced, and the next sync handles them. */
function unlessGone(error: unknown): void {
	if (!(error instanceof Failure) || error.reason !== 'missing') throw error;
}

import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { EvaluationLine, EvaluationSummary } from '../../protocol/evaluation.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { AnyRunRecord } from '../../protocol/runRecord.ts';
import { FaultList } from '../faultList.ts';
import type { RolloutSplit, RunContent, RunFault, StepRollouts } from '../runContent.ts';
import { DiskFolder } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import { foreignRecordOf } from './foreignRecordOf.ts';
import { ForeignStep } from './foreignStep.ts';
import { learnedOf } from './learned.ts';
import { MetricSources } from './metricSources.ts';
import { openFrames } from './openFrames.ts';
import { RolloutSteps } from './rolloutSteps.ts';
import type { FileShape, RunEvidence, RunFormat } from './runFormat.ts';

export interface ForeignOptions {
	/**
	 * Whether the run is being followed. If so, an incomplete end of a recently written file is read later and not
	 * reported as a fault.
	 */
	readonly live?: boolean;
	/** View of the run's folder; a new one by default. */
	readonly disk?: DiskFolder;
}

/** Largest metrics file to read when only the latest values are needed. */
const largestForNewest = 4 << 20;

/** SummaryWriter's `flush_secs`, plus some time for the disk. */
const eventFlushSeconds = 150;
/** Number of latest steps whose times are used to estimate the duration of a step. */
const newestSteps = 4;

/** Number of rollout files to check for changes that could affect what a format learns about a run. */
const learnedFrom = 8;

/** Another trainer's run, read through its format. */
export class ForeignRun implements RunContent {
	readonly folder: string;
	readonly format: string;
	readonly hasSteps: boolean;
	readonly runFormat: RunFormat;
	readonly disk: DiskFolder;
	readonly #faults = new FaultList();
	readonly #steps: RolloutSteps;
	readonly #metrics: MetricSources;
	readonly #live: boolean;

	/** @param folder real path */
	constructor(folder: string, format: RunFormat, { live = false, disk = new DiskFolder(folder) }: ForeignOptions = {}) {
		this.folder = folder;
		this.format = format.name;
		this.hasSteps = format.hasSteps && format.rolloutsHaveSteps !== false;
		this.runFormat = format;
		this.#live = live;
		this.disk = disk;
		this.#steps = new RolloutSteps(this.disk, format, this.#faults);
		this.#metrics = new MetricSources(this.disk, format, this.#faults, live);
	}

	get faults(): readonly RunFault[] {
		const cut = [...this.disk.cut].map(
			(file): RunFault => ({ file, line: null, message: 'contains more names than can be read', records: 1 }),
		);
		return [...this.#faults.all, ...cut];
	}

	/** For the follower, which continues reading where this object stopped. */
	get metricSources(): MetricSources {
		return this.#metrics;
	}

	async record(): Promise<AnyRunRecord> {
		// Run lists use this too, so long metrics files are not read.
		const learned = (await this.#metricsAreSmall()) ? await this.#learned() : undefined;
		const steps = await this.#steps.list('train', learned);
		const facts = (await this.runFormat.describe?.(this.disk, learned).catch(() => undefined)) ?? {};
		const { written, stepTimes } = await this.#signs(steps, learned);
		const newest = this.#metrics.lastStep ?? (await this.newest()).at(-1)?.step ?? null;
		const step = Math.max(newest ?? -1, this.hasSteps ? (steps.at(-1) ?? -1) : -1);
		return foreignRecordOf({
			folder: this.folder,
			format: this.runFormat,
			facts,
			times: {
				recorded: this.#metrics.recordedTimes(),
				latest: this.#metrics.latestTime,
				written,
				steps: stepTimes,
				flushSeconds: this.runFormat.metrics.some(({ form }) => form === 'events') ? eventFlushSeconds : 0,
				now: Date.now() / 1000,
			},
			step: step < 0 ? null : step,
		});
	}

	async steps(split: RolloutSplit = 'train'): Promise<number[]> {
		return this.#steps.list(split, await this.#learned());
	}

	async open(step: number, split: RolloutSplit = 'train'): Promise<StepRollouts> {
		const learned = await this.#learned();
		const files = await this.#steps.files(step, split, learned);
		if (files.length === 0) {
			const of = split === 'train' ? `step ${step}` : `the evaluation at step ${step}`;
			throw new Failure(
				'missing',
				`The rollouts for ${of} are missing.`,
				'They were removed or moved. Choose another step.',
			);
		}
		return new ForeignStep(files, { ...this.#stepOptions(step), learned });
	}

	/** Returns the current files of a step without opening them. */
	async stepFiles(step: number, split: RolloutSplit): Promise<FoundFile[]> {
		const files = await this.#steps.files(step, split, await this.#learned());
		return files.flatMap(({ found, companion, annotated }) => [
			found,
			...(companion === null ? [] : [companion]),
			...annotated,
		]);
	}

	async *metrics(signal?: AbortSignalLike): AsyncGenerator<MetricsLine[]> {
		await this.#metrics.load(signal);
		for (const lines of this.#metrics.lines()) {
			yield lines;
			await new Promise((resolve) => setImmediate(resolve));
		}
	}

	async newest(): Promise<MetricsLine[]> {
		// If nothing has been read yet, small metrics files are read in full.
		if (this.#metrics.lastStep === null) {
			if (!(await this.#metricsAreSmall())) return [];
			await this.#metrics.load();
		}
		const last = this.#metrics.lastStep;
		return last === null ? [] : [...this.#metrics.lines(last - 20)].flat();
	}

	/** Foreign formats have no such summaries; any available data is in their metrics. */
	async evaluations(): Promise<EvaluationSummary[]> {
		return [];
	}

	async evaluationLines(): Promise<EvaluationLine[]> {
		return [];
	}

	/** Returns whether metrics have been read, or can be read quickly. */
	async #metricsAreSmall(): Promise<boolean> {
		if (this.#metrics.lastStep !== null) return true;
		for (const { pattern } of this.runFormat.metrics) {
			const files = await this.disk.find(pattern);
			if (files.some(({ size }) => size > largestForNewest) || files.length > 20) return false;
		}
		return true;
	}

	/** Returns what the format has learned about the run, cached until the relevant files change. */
	async #learned(): Promise<unknown> {
		const { learn } = this.runFormat;
		if (learn === undefined) return undefined;
		return learnedOf(`${this.format}\n${this.folder}`, await this.#evidenceStamp(), async () => {
			let whole = true;
			const evidence: RunEvidence = {
				metrics: async () => {
					await this.#metrics.load();
					return [...this.#metrics.lines()].flat();
				},
				records: async (path, shape, limit) => {
					const read = await this.#records(path, shape, limit);
					whole &&= read.whole;
					return read.records;
				},
			};
			const value = await learn(this.disk, evidence).catch(() => {
				whole = false;
			});
			return { value, whole };
		});
	}

	async #evidenceStamp(): Promise<string> {
		const stamps: string[] = [];
		for (const { pattern } of this.runFormat.metrics) {
			for (const { path, stamp } of await this.disk.find(pattern)) stamps.push(path, stamp);
		}
		for (const pattern of new Set(this.runFormat.rollouts.map((files) => files.pattern))) {
			for (const { path, stamp } of await this.disk.some(pattern, learnedFrom)) stamps.push(path, stamp);
		}
		return stamps.join('\n');
	}

	async #records(path: string, shape: FileShape, limit: number): Promise<{ records: unknown[]; whole: boolean }> {
		const records: unknown[] = [];
		let whole = true;
		const frames = await openFrames(this.folder, path, shape).catch(() => null);
		if (frames === null) return { records, whole };
		try {
			for await (const frame of frames.frames()) {
				whole &&= frame.fault === null;
				records.push(...frame.records.slice(0, limit - records.length));
				if (records.length >= limit) break;
			}
		} catch {
			// Keep the data read before the error.
			whole = false;
		} finally {
			await frames.close().catch(() => undefined);
		}
		return { records, whole };
	}

	#stepOptions(step: number) {
		return { folder: this.folder, step, faults: this.#faults, live: this.#live };
	}

	/** Collects write times of the metrics files and of the first and latest steps, in seconds since the epoch. */
	async #signs(steps: readonly number[], learned: unknown): Promise<{ written: number[]; stepTimes: number[] }> {
		const written: number[] = [];
		const seconds = ({ modifiedMs }: FoundFile) => modifiedMs / 1000;
		for (const { pattern } of this.runFormat.metrics) {
			written.push(...(await this.disk.find(pattern)).slice(-100).map(seconds));
		}
		const stepTimes: number[] = [];
		for (const step of new Set([...steps.slice(0, 1), ...steps.slice(-newestSteps)])) {
			const times = (await this.#steps.files(step, 'train', learned)).slice(-100).map(({ found }) => seconds(found));
			written.push(...times);
			// The first step only shows when the run started; step durations are estimated from the latest ones.
			const isNewest = steps.indexOf(step) >= steps.length - newestSteps;
			if (times.length > 0 && isNewest) stepTimes.push(Math.max(...times));
		}
		return { written, stepTimes };
	}
}

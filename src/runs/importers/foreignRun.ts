import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { EvaluationLine, EvaluationSummary } from '../../protocol/evaluation.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { RolloutSplit, RunContent, RunFault, StepRollouts } from '../runContent.ts';
import { DiskFolder } from './diskFolder.ts';
import { FaultList } from './faultList.ts';
import type { FoundFile } from './folderView.ts';
import { foreignRecordOf } from './foreignRecordOf.ts';
import { ForeignStep } from './foreignStep.ts';
import { MetricSources } from './metricSources.ts';
import { RolloutSteps } from './rolloutSteps.ts';
import type { RunFormat } from './runFormat.ts';

export interface ForeignOptions {
	/** The run is followed: the torn end of a file that was just written to is waited for, not a fault. */
	readonly live?: boolean;
}

/** Largest file of metrics that is read for the newest values alone. */
const largestForNewest = 4 << 20;

/** SummaryWriter's `flush_secs`, and a little for the disk. */
const eventFlushSeconds = 150;
/** Whose times tell how long a step takes. */
const newestSteps = 4;

/** A run of another trainer, read by its format. */
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
	constructor(folder: string, format: RunFormat, { live = false }: ForeignOptions = {}) {
		this.folder = folder;
		this.format = format.name;
		this.hasSteps = format.hasSteps;
		this.runFormat = format;
		this.#live = live;
		this.disk = new DiskFolder(folder);
		this.#steps = new RolloutSteps(this.disk, format, this.#faults);
		this.#metrics = new MetricSources(this.disk, format, this.#faults, live);
	}

	get faults(): readonly RunFault[] {
		const cut = [...this.disk.cut].map(
			(file): RunFault => ({ file, line: null, message: 'holds more names than are looked at', records: 1 }),
		);
		return [...this.#faults.all, ...cut];
	}

	/** For the follower, which reads on where this object has read to. */
	get metricSources(): MetricSources {
		return this.#metrics;
	}

	async record(): Promise<RunRecord> {
		const steps = await this.steps('train');
		const facts = (await this.runFormat.describe?.(this.disk).catch(() => undefined)) ?? {};
		const { written, stepTimes } = await this.#signs(steps);
		const newest = this.#metrics.lastStep ?? (await this.newest()).at(-1)?.step ?? null;
		const step = Math.max(newest ?? -1, steps.at(-1) ?? -1);
		return foreignRecordOf({
			folder: this.folder,
			format: this.runFormat,
			facts,
			times: {
				recorded: this.#metrics.recordedTimes(),
				written,
				steps: stepTimes,
				flushSeconds: this.runFormat.metrics.some(({ form }) => form === 'events') ? eventFlushSeconds : 0,
				now: Date.now() / 1000,
			},
			step: step < 0 ? null : step,
		});
	}

	steps(split: RolloutSplit = 'train'): Promise<number[]> {
		return this.#steps.list(split);
	}

	async open(step: number, split: RolloutSplit = 'train'): Promise<StepRollouts> {
		const files = await this.#steps.files(step, split);
		if (files.length === 0) {
			const of = split === 'train' ? `step ${step}` : `the evaluation at step ${step}`;
			throw new Failure(
				'missing',
				`The rollouts of ${of} are not there.`,
				'They were removed or moved; choose another step.',
			);
		}
		const learnt = await this.runFormat.learn?.(this.disk).catch(() => undefined);
		return new ForeignStep(files, { ...this.#stepOptions(step), learnt });
	}

	/** The files of a step as they are, without opening them. */
	async stepFiles(step: number, split: RolloutSplit): Promise<FoundFile[]> {
		const files = await this.#steps.files(step, split);
		return files.flatMap(({ found, companion }) => (companion === null ? [found] : [found, companion]));
	}

	async *metrics(signal?: AbortSignalLike): AsyncGenerator<MetricsLine[]> {
		await this.#metrics.load(signal);
		for (const lines of this.#metrics.lines()) {
			yield lines;
			await new Promise((resolve) => setImmediate(resolve));
		}
	}

	async newest(): Promise<MetricsLine[]> {
		// Without what was read so far: files of metrics that are small are read as a whole.
		if (this.#metrics.lastStep === null) {
			for (const { pattern } of this.runFormat.metrics) {
				const files = await this.disk.find(pattern);
				if (files.some(({ size }) => size > largestForNewest) || files.length > 20) return [];
			}
			await this.#metrics.load();
		}
		const last = this.#metrics.lastStep;
		return last === null ? [] : [...this.#metrics.lines(last - 20)].flat();
	}

	/** Foreign formats keep no such summaries; their metrics tell what they have. */
	async evaluations(): Promise<EvaluationSummary[]> {
		return [];
	}

	async evaluationLines(): Promise<EvaluationLine[]> {
		return [];
	}

	#stepOptions(step: number) {
		return { folder: this.folder, step, faults: this.#faults, live: this.#live };
	}

	/** When files were written, in seconds since the epoch: of metrics, and of its first and last steps. */
	async #signs(steps: readonly number[]): Promise<{ written: number[]; stepTimes: number[] }> {
		const written: number[] = [];
		const seconds = ({ modifiedMs }: FoundFile) => modifiedMs / 1000;
		for (const { pattern } of this.runFormat.metrics) {
			written.push(...(await this.disk.find(pattern)).slice(-100).map(seconds));
		}
		const stepTimes: number[] = [];
		for (const step of new Set([...steps.slice(0, 1), ...steps.slice(-newestSteps)])) {
			const times = (await this.#steps.files(step, 'train')).slice(-100).map(({ found }) => seconds(found));
			written.push(...times);
			// The first tells when the run began; between it and the newest are others.
			const isNewest = steps.indexOf(step) >= steps.length - newestSteps;
			if (times.length > 0 && isNewest) stepTimes.push(Math.max(...times));
		}
		return { written, stepTimes };
	}
}

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
		const files = await this.#signs(steps);
		const times = files.map(({ modifiedMs }) => modifiedMs);
		const newest = this.#metrics.lastStep ?? (await this.newest()).at(-1)?.step ?? null;
		const step = Math.max(newest ?? -1, steps.at(-1) ?? -1);
		return foreignRecordOf({
			folder: this.folder,
			format: this.runFormat,
			facts,
			oldestMs: times.length === 0 ? null : Math.min(...times),
			newestMs: times.length === 0 ? null : Math.max(...times),
			step: step < 0 ? null : step,
			nowMs: Date.now(),
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

	/** Files whose times tell when the run began and whether it goes on: of metrics, and of its first and last steps. */
	async #signs(steps: readonly number[]): Promise<FoundFile[]> {
		const found: FoundFile[] = [];
		for (const { pattern } of this.runFormat.metrics) found.push(...(await this.disk.find(pattern)).slice(-100));
		for (const step of new Set([steps[0], steps.at(-1)])) {
			if (step === undefined) continue;
			for (const file of (await this.#steps.files(step, 'train')).slice(-100)) found.push(file.found);
		}
		return found;
	}
}

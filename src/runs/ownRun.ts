import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { freshMs } from '../files/frame.ts';
import { LineFile } from '../files/lineFile.ts';
import { OpenedFile } from '../files/openedFile.ts';
import { decode } from '../protocol/decode.ts';
import type { EvaluationLine, EvaluationSummary } from '../protocol/evaluation.ts';
import { type MetricsLine, metricsLineSchema } from '../protocol/metricsLine.ts';
import { type RolloutLine, rolloutLineSchema } from '../protocol/rolloutLine.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { ownFormat } from './annotationFolder.ts';
import { FaultList } from './faultList.ts';
import type { PlacedRollout, RolloutPlace, RolloutSplit, RunContent, RunFault, StepRollouts } from './runContent.ts';
import { runFiles, stepName } from './runFiles.ts';
import { listRolloutSteps, readEvaluationLines, readEvaluations, readMetricsEnd, readRecord } from './runReader.ts';

/** Number of metrics lines per batch. */
const portionLines = 512;

/** A run written by one of our own engines. */
export class OwnRun implements RunContent {
	readonly folder: string;
	readonly format = ownFormat;
	readonly hasSteps = true;
	readonly #faults = new FaultList();

	constructor(folder: string) {
		this.folder = folder;
	}

	get faults(): readonly RunFault[] {
		return this.#faults.all;
	}

	record(): Promise<RunRecord> {
		return readRecord(this.folder);
	}

	async steps(split: RolloutSplit = 'train'): Promise<number[]> {
		return split === 'train' ? listRolloutSteps(this.folder) : [];
	}

	async open(step: number, split: RolloutSplit = 'train'): Promise<StepRollouts> {
		const path = `${runFiles.rollouts}/${stepName(step)}.jsonl`;
		const missing = (cause?: unknown) =>
			new Failure(
				'missing',
				`The rollouts for step ${step} are missing (${path}).`,
				'They were pruned or moved. Choose another step.',
				{ cause },
			);
		if (split !== 'train') throw missing();
		try {
			return new OwnStep(await OpenedFile.open(this.folder, path), path, this.#faults);
		} catch (error) {
			const failure = Failure.from(error);
			throw failure.reason === 'missing' ? missing(error) : failure;
		}
	}

	async *metrics(signal?: AbortSignalLike): AsyncGenerator<MetricsLine[]> {
		const file = await OpenedFile.open(this.folder, runFiles.metrics).catch((error: unknown) => {
			if (Failure.from(error).reason === 'missing') return null;
			throw error;
		});
		if (file === null) return;
		const lines = new LineFile(file);
		try {
			let portion: MetricsLine[] = [];
			for await (const frame of lines.frames(signal)) {
				checkAborted(signal);
				// The engine might still be writing the last line.
				if (frame.torn && Math.abs(Date.now() - file.modifiedMs) < freshMs) continue;
				const line = frame.fault ?? metricsOf(frame.records[0]);
				if (typeof line === 'string') {
					this.#faults.add({ file: runFiles.metrics, line: frame.number, message: line, records: 1 });
				} else portion.push(line);
				if (portion.length < portionLines) continue;
				yield portion;
				portion = [];
			}
			if (portion.length > 0) yield portion;
		} finally {
			await lines.close();
		}
	}

	newest(): Promise<MetricsLine[]> {
		return readMetricsEnd(this.folder);
	}

	evaluations(): Promise<EvaluationSummary[]> {
		return readEvaluations(this.folder);
	}

	evaluationLines(step: number, name: string): Promise<EvaluationLine[]> {
		return readEvaluationLines(this.folder, step, name);
	}
}

class OwnStep implements StepRollouts {
	readonly identity: string;
	readonly #lines: LineFile;
	readonly #path: string;
	readonly #faults: FaultList;

	constructor(file: OpenedFile, path: string, faults: FaultList) {
		this.identity = file.stamp;
		this.#lines = new LineFile(file);
		this.#path = path;
		this.#faults = faults;
	}

	async *rollouts(signal?: AbortSignalLike): AsyncGenerator<PlacedRollout> {
		const seen = new Map<number, Set<number>>();
		for await (const frame of this.#lines.frames(signal)) {
			const fault = (message: string): PlacedRollout => ({
				rollout: null,
				place: null,
				fault: this.#faults.add({ file: this.#path, line: frame.number, message, records: 1 }),
			});
			if (frame.fault !== null) {
				yield fault(frame.fault);
				continue;
			}
			const rollout = rolloutOf(frame.records[0]);
			if (typeof rollout === 'string') {
				yield fault(rollout);
				continue;
			}
			const { group, index } = rollout;
			const indices = seen.get(group) ?? new Set<number>();
			if (indices.has(index)) {
				yield fault(`repeats rollout ${index} of group ${group}`);
				continue;
			}
			seen.set(group, indices.add(index));
			const { offset, length } = frame;
			yield { rollout, place: { file: this.#path, offset, length, item: 0, group, index }, fault: null };
		}
	}

	async rollout(place: RolloutPlace): Promise<RolloutLine> {
		const frame = await this.#lines.frame({ offset: place.offset, length: place.length, number: 1 });
		const rollout = frame.fault === null ? rolloutOf(frame.records[0]) : frame.fault;
		if (typeof rollout !== 'string') return rollout;
		throw new Failure('corrupt', 'The file for this step changed while it was being read.', 'Select the step again.');
	}

	close(): Promise<void> {
		return this.#lines.close();
	}
}

function metricsOf(value: unknown): MetricsLine | string {
	const decoded = decode(metricsLineSchema, value);
	return decoded.ok ? decoded.value : `${decoded.faults[0]?.path || 'the line'} is not valid`;
}

function rolloutOf(value: unknown): RolloutLine | string {
	const decoded = decode(rolloutLineSchema, value);
	if (decoded.ok) return decoded.value;
	return `${decoded.faults[0]?.path || 'the line'} is not valid`;
}

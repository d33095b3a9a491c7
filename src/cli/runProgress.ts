import type { EvaluationSummary } from '../protocol/evaluation.ts';
import type { EventLine } from '../protocol/eventLine.ts';
import { headOfStage } from '../protocol/headStages.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import type { RunRecord, RunStatus } from '../protocol/runRecord.ts';
import { learnsFromTexts } from '../protocol/stageKinds.ts';
import type { RunTailEvent } from '../runs/runTail.ts';

/** How many values a sparkline or a rate looks back on. */
const memory = 400;
const rateWindow = 20;

/** What a live display shows of a run, gathered from its tail. */
export class RunProgress {
	record: RunRecord | null = null;
	status: RunStatus | null = null;
	last: MetricsLine | null = null;
	/** Of the current stage: `reward` in GRPO, `loss` in others. */
	history: (number | null)[] = [];
	heldOut: EvaluationSummary | null = null;
	#recent: { time: number; step: number; evaluating: number }[] = [];
	#stage = '';
	#stageStart = 0;

	apply(event: RunTailEvent<RunRecord>): void {
		if (event.kind === 'reset') Object.assign(this, { last: null, history: [], heldOut: null });
		else if (event.kind === 'record') {
			this.record = event.record;
			this.status = event.status;
		} else if (event.kind === 'metrics') for (const line of event.lines) this.#add(line);
		else if (event.kind === 'evaluations')
			this.heldOut = event.summaries.findLast((e) => e.name === 'heldout') ?? this.heldOut;
		else if (event.kind === 'events') for (const line of event.lines) this.#note(line);
	}

	#note(event: EventLine): void {
		if (event.type === 'stage') this.#stageStart = event.step;
		// Waiting says nothing about the rate.
		if (event.type === 'paused' || event.type === 'resumed' || event.type === 'continued') this.#recent = [];
	}

	#add(line: MetricsLine): void {
		if (line.stage !== this.#stage) {
			this.#stage = line.stage;
			this.history = [];
			this.#recent = [];
		}
		this.last = line;
		const value = line.values[this.shown];
		// Updates of one generation batch after its first have no reward.
		if (value !== undefined) this.history.push(value);
		if (this.history.length > memory) this.history.shift();
		this.#recent.push({ time: line.time, step: line.step, evaluating: line.values['time/evaluate'] ?? 0 });
		if (this.#recent.length > rateWindow) this.#recent.shift();
	}

	/** The metric that the sparkline draws. */
	get shown(): string {
		return learnsFromTexts(this.#stage) || this.#stage in headOfStage ? 'loss' : 'reward';
	}

	get stage(): string {
		return this.#stage || (this.record?.stage ?? '');
	}

	get step(): number {
		return Math.max(this.last?.step ?? 0, this.record?.step ?? 0);
	}

	/** Steps when the run began its current stage. */
	get stageStart(): number {
		return this.#stageStart;
	}

	/** Share of the steps that the recipe allows, 0 to 1; a stage may end earlier. */
	get share(): number {
		const total = this.record?.totalSteps ?? 0;
		return total === 0 ? 0 : Math.min(1, this.step / total);
	}

	/** Seconds per step over the last steps, evaluations included; null before two. */
	get secondsPerStep(): number | null {
		const first = this.#recent[0];
		const last = this.#recent.at(-1);
		if (first === undefined || last === undefined || last.step === first.step) return null;
		return Math.max(0, last.time - first.time) / (last.step - first.step);
	}

	/** Seconds to the last step at the present rate, at most; null when unknown. */
	get eta(): number | null {
		const rate = this.secondsPerStep;
		const total = this.record?.totalSteps;
		return rate === null || total == null ? null : rate * Math.max(0, total - this.step);
	}

	/** Seconds since the run was made. */
	get elapsed(): number {
		return this.record === null ? 0 : (this.last?.time ?? this.record.updated) - this.record.created;
	}
}

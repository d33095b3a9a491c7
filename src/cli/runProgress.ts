import type { EvaluationSummary } from '../protocol/evaluation.ts';
import type { EventLine } from '../protocol/eventLine.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import { headOfStage } from '../protocol/recipeKeys/headStages.ts';
import { learnsFromTexts } from '../protocol/recipeKeys/stageKinds.ts';
import type { RunRecord, RunStatus } from '../protocol/runRecord.ts';
import type { RunTailEvent } from '../runs/runTail.ts';

/** Number of recent values kept for sparklines and rates. */
const memory = 400;
const rateWindow = 20;

/** State of a run for the live display, collected from the run's tail. */
export class RunProgress {
	record: RunRecord | null = null;
	status: RunStatus | null = null;
	last: MetricsLine | null = null;
	/** Recent values for the current stage: `reward` for GRPO, `loss` for other stages. */
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
		// Time spent waiting must not affect the rate.
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
		// Only the first update of each generation batch has a reward.
		if (value !== undefined) this.history.push(value);
		if (this.history.length > memory) this.history.shift();
		this.#recent.push({ time: line.time, step: line.step, evaluating: line.values['time/evaluate'] ?? 0 });
		if (this.#recent.length > rateWindow) this.#recent.shift();
	}

	/** Name of the metric shown in the sparkline. */
	get shown(): string {
		return learnsFromTexts(this.#stage) || this.#stage in headOfStage ? 'loss' : 'reward';
	}

	get stage(): string {
		return this.#stage || (this.record?.stage ?? '');
	}

	get step(): number {
		return Math.max(this.last?.step ?? 0, this.record?.step ?? 0);
	}

	/** Step at which the current stage began. */
	get stageStart(): number {
		return this.#stageStart;
	}

	/** Fraction of the recipe's step limit completed, 0 to 1; a stage can end earlier. */
	get share(): number {
		const total = this.record?.totalSteps ?? 0;
		return total === 0 ? 0 : Math.min(1, this.step / total);
	}

	/** Seconds per recent step, including evaluations, or null if there are fewer than two recent steps. */
	get secondsPerStep(): number | null {
		const first = this.#recent[0];
		const last = this.#recent.at(-1);
		if (first === undefined || last === undefined || last.step === first.step) return null;
		return Math.max(0, last.time - first.time) / (last.step - first.step);
	}

	/** Upper bound on the remaining seconds at the current rate, or null if unknown. */
	get eta(): number | null {
		const rate = this.secondsPerStep;
		const total = this.record?.totalSteps;
		return rate === null || total == null ? null : rate * Math.max(0, total - this.step);
	}

	/** Seconds since the run was created. */
	get elapsed(): number {
		return this.record === null ? 0 : (this.last?.time ?? this.record.updated) - this.record.created;
	}
}

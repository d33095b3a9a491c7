import { type Pause, worked } from './alternate.ts';
import type { EngineRun } from './engineRun.ts';
import { type Measurement, median } from './measurement.ts';
import type { PlainRun } from './plainRun.ts';

/** Phases of a step that both engines report as `time/<phase>`. */
export const phases = ['generate', 'reward', 'logprobs', 'update'] as const;
export type Phase = (typeof phases)[number];

/** Measurements of one run's steps. */
export interface StepFigures {
	/** Time from the end of one step to the end of the next, excluding pauses. */
	readonly seconds: readonly number[];
	/** CPU time per step over all processes of the run, or NaN if unknown. */
	readonly processor: number;
	readonly phases: Readonly<Record<Phase, readonly number[]>>;
	/** Completion tokens per step. */
	readonly tokens: readonly number[];
	/** Fraction of groups without any advantage, per step. */
	readonly dead: readonly number[];
}

type Line = Readonly<Record<string, unknown>>;

function numbers(lines: readonly Line[], name: string): number[] {
	return lines.map((line) => line[name]).filter((x) => typeof x === 'number');
}

function differences(times: readonly number[]): number[] {
	return times.slice(1).map((time, i) => time - (times[i] as number));
}

/** Returns the seconds between consecutive times, excluding the program's pauses. */
function durations(times: readonly number[], pauses: readonly Pause[]): number[] {
	return times.slice(1).map((time, i) => worked(times[i] as number, time, pauses));
}

/** @param warmUp initial steps to ignore, which compile programs and allocate memory */
export function figuresOfRun(run: EngineRun, rows: number, warmUp: number, pauses: readonly Pause[] = []): StepFigures {
	// Drop the last line because it also includes the time of the final evaluation.
	const lines = run.metrics.filter((line) => typeof line.loss === 'number').slice(0, -1);
	const counted = lines.slice(warmUp);
	const seen = run.processor.filter((at) => at.lines >= warmUp && at.lines <= lines.length);
	const [first, last] = [seen[0], seen.at(-1)];
	const steps = (last?.lines ?? 0) - (first?.lines ?? 0);
	return {
		seconds: durations(numbers(lines.slice(warmUp - 1), 'time'), pauses),
		processor: first && last && steps > 0 ? (last.seconds - first.seconds) / steps : Number.NaN,
		phases: Object.fromEntries(
			phases.map((phase) => [phase, counted.map((line) => Number(line[`time/${phase}`] ?? 0))]),
		) as Record<Phase, number[]>,
		tokens: numbers(counted, 'completions/mean_length').map((length) => length * rows),
		dead: numbers(counted, 'frac_reward_zero_std'),
	};
}

/** @param warmUp see `figuresOfRun` */
export function figuresOfPlain(
	run: PlainRun,
	rows: number,
	warmUp: number,
	pauses: readonly Pause[] = [],
): StepFigures {
	const counted = run.steps.slice(warmUp, -1);
	const before = run.steps.slice(warmUp - 1, -1);
	const processor = differences(before.map((step) => step.cpu));
	return {
		seconds: durations(
			before.map((step) => step.time),
			pauses,
		),
		processor: processor.reduce((sum, x) => sum + x, 0) / processor.length,
		phases: Object.fromEntries(
			phases.map((phase) => [phase, counted.map((step) => step.phases[phase] ?? 0)]),
		) as Record<Phase, number[]>,
		tokens: counted.map((step) => step['completions/mean_length'] * rows),
		dead: counted.map((step) => step.frac_reward_zero_std),
	};
}

/** Measurements of the step and its phases over all runs of one type. */
export function stepMeasurements(prefix: string, runs: readonly StepFigures[]): Measurement[] {
	const all = (pick: (figures: StepFigures) => readonly number[]) => runs.flatMap((figures) => [...pick(figures)]);
	const processor = runs.map((figures) => figures.processor).filter(Number.isFinite);
	return [
		{ name: `${prefix}/step`, unit: 's', samples: all((figures) => figures.seconds) },
		...phases.map((phase) => ({
			name: `${prefix}/${phase}`,
			unit: 's',
			samples: all((figures) => figures.phases[phase]),
		})),
		...(processor.length > 0 ? [{ name: `${prefix}/processor`, unit: 's', samples: processor }] : []),
		{ name: `${prefix}/tokens`, unit: 'a step', samples: all((figures) => figures.tokens) },
		{ name: `${prefix}/dead_groups`, unit: '%', samples: all((figures) => figures.dead).map((x) => 100 * x) },
	];
}

export function medianStep(figures: StepFigures): number {
	return median(figures.seconds);
}

import * as v from 'valibot';
import { formatCounted } from '../../../base/format.ts';
import { decode } from '../../../protocol/decode.ts';
import type { RatedStep, StepSample } from './stepSample.ts';

const lineSchema = v.looseObject({
	problem: v.string(),
	steps: v.array(v.string()),
	/** Index of the first wrong step, or -1 if there is none. */
	label: v.pipe(v.number(), v.integer(), v.minValue(-1)),
	final_answer_correct: v.optional(v.nullable(v.boolean()), null),
});

export interface ProcessBenchLine {
	readonly id: string;
	readonly generator: string;
	readonly problem: string;
	readonly steps: readonly string[];
	readonly final_answer_correct: boolean | null;
	readonly label: number;
}

/**
 * Parses a ProcessBench line (Zheng et al. 2024), with or without predictions. Steps before the first wrong one are
 * correct; steps after it are unrated. Returns a phrase if the line has a different format.
 */
export function readProcessBench(value: unknown): StepSample[] | string {
	const decoded = decode(lineSchema, value);
	if (!decoded.ok) return `is not a ProcessBench line (${decoded.faults[0]?.path || 'not an object'})`;
	const { problem, steps, label } = decoded.value;
	if (label >= steps.length) return `labels step ${label} as wrong but has only ${formatCounted(steps.length, 'step')}`;
	const rated = steps.map((text, i): RatedStep => {
		if (label === -1 || i < label) return { text, rating: 1 };
		return { text, rating: i === label ? -1 : null };
	});
	return [{ prompt: problem, answer: null, steps: rated, time: null }];
}

/**
 * Formats a solution as a ProcessBench line, or returns null if an unrated step makes it unclear which step is the
 * first wrong one. Neutral steps do not count as errors.
 */
export function writeProcessBench(
	{ prompt, steps }: StepSample,
	{ id, generator, correct }: { readonly id: string; readonly generator: string; readonly correct: boolean | null },
): ProcessBenchLine | null {
	const label = steps.findIndex(({ rating }) => rating === -1);
	const before = label < 0 ? steps : steps.slice(0, label);
	if (steps.length === 0 || before.some(({ rating }) => rating === null)) return null;
	return {
		id,
		generator,
		problem: prompt,
		steps: steps.map(({ text }) => text),
		final_answer_correct: correct,
		label,
	};
}

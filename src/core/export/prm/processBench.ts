import * as v from 'valibot';
import { formatCounted } from '../../../base/format.ts';
import { decode } from '../../../protocol/decode.ts';
import type { RatedStep, StepSample } from './stepSample.ts';

const lineSchema = v.looseObject({
	problem: v.string(),
	steps: v.array(v.string()),
	/** Index of the first wrong step; -1: none. */
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
 * Parses a line of ProcessBench (Zheng et al. 2024), with or without predictions: the steps before the first wrong one
 * are correct, those after it are unrated. Returns a phrase if it is not such a line.
 */
export function readProcessBench(value: unknown): StepSample[] | string {
	const decoded = decode(lineSchema, value);
	if (!decoded.ok) return `is not a ProcessBench line (${decoded.faults[0]?.path || 'not an object'})`;
	const { problem, steps, label } = decoded.value;
	if (label >= steps.length) return `labels step ${label} as wrong, but has ${formatCounted(steps.length, 'step')}`;
	const rated = steps.map((text, i): RatedStep => {
		if (label === -1 || i < label) return { text, rating: 1 };
		return { text, rating: i === label ? -1 : null };
	});
	return [{ prompt: problem, answer: null, steps: rated, time: null }];
}

/**
 * Formats a solution as a line of ProcessBench; null if an unrated step leaves open which one is the first wrong step.
 * Neutral steps are not errors.
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

import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import { ratedSteps, type StepSample } from './stepSample.ts';

const lineSchema = v.looseObject({
	prompt: v.string(),
	completions: v.array(v.string()),
	labels: v.array(v.boolean()),
});

export interface StepwiseLine {
	readonly prompt: string;
	readonly completions: readonly string[];
	readonly labels: readonly boolean[];
}

/**
 * How to treat neutral steps. TRL's own PRM800K conversion (examples/datasets/prm800k.py) counts only +1 as correct.
 */
export const neutralLabels = ['wrong', 'right'] as const;
export type NeutralLabel = (typeof neutralLabels)[number];

/** Parses a line in TRL's stepwise supervision format. Returns a phrase if the format differs. */
export function readTrlStepwise(value: unknown): StepSample[] | string {
	const decoded = decode(lineSchema, value);
	if (!decoded.ok) return `is not a stepwise supervision line (${decoded.faults[0]?.path || 'not an object'})`;
	const { prompt, completions, labels } = decoded.value;
	if (completions.length !== labels.length) {
		return `has ${completions.length} completions but ${labels.length} labels`;
	}
	const steps = completions.map((text, i) => ({ text, rating: labels[i] ? (1 as const) : (-1 as const) }));
	return [{ prompt, answer: null, steps, time: null }];
}

/**
 * Formats a solution for TRL's PRMTrainer, or returns null if its first step is not rated. Every step needs a label, so
 * the line ends before the first unrated step. Steps after a wrong one keep their labels.
 */
export function writeTrlStepwise({ prompt, steps }: StepSample, neutral: NeutralLabel = 'wrong'): StepwiseLine | null {
	const rated = ratedSteps(steps);
	const open = rated.findIndex(({ rating }) => rating === null);
	const labeled = open < 0 ? rated : rated.slice(0, open);
	if (labeled.length === 0) return null;
	return {
		prompt,
		completions: labeled.map(({ text }) => text),
		labels: labeled.map(({ rating }) => rating === 1 || (rating === 0 && neutral === 'right')),
	};
}

import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import { ratedBeginning, type StepSample } from './stepSample.ts';

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

/** What a neutral step counts as: TRL's own conversion of PRM800K (examples/datasets/prm800k.py) takes +1 alone as right. */
export const neutralLabels = ['wrong', 'right'] as const;
export type NeutralLabel = (typeof neutralLabels)[number];

/** A line of TRL's stepwise supervision. A sentence part when it is none. */
export function readTrlStepwise(value: unknown): StepSample[] | string {
	const decoded = decode(lineSchema, value);
	if (!decoded.ok) return `is not a line of stepwise supervision (${decoded.faults[0]?.path || 'not an object'})`;
	const { prompt, completions, labels } = decoded.value;
	if (completions.length !== labels.length) {
		return `has ${completions.length} completions and ${labels.length} labels`;
	}
	const steps = completions.map((text, i) => ({ text, rating: labels[i] ? (1 as const) : (-1 as const) }));
	return [{ prompt, answer: null, steps, time: null }];
}

/**
 * A solution as TRL's PRMTrainer takes it; null: its first step is not rated. Every step has a label there, so it ends
 * before the first step that nobody has rated. Steps behind a wrong one keep their labels.
 */
export function writeTrlStepwise({ prompt, steps }: StepSample, neutral: NeutralLabel = 'wrong'): StepwiseLine | null {
	const rated = ratedBeginning(steps);
	const open = rated.findIndex(({ rating }) => rating === null);
	const labelled = open < 0 ? rated : rated.slice(0, open);
	if (labelled.length === 0) return null;
	return {
		prompt,
		completions: labelled.map(({ text }) => text),
		labels: labelled.map(({ rating }) => rating === 1 || (rating === 0 && neutral === 'right')),
	};
}

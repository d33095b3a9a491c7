import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import { type StepRating, stepRatings } from '../../../protocol/stepLabel.ts';
import { type RatedStep, ratedSteps, type StepSample } from './stepSample.ts';

const completionSchema = v.looseObject({
	text: v.string(),
	rating: v.optional(v.nullable(v.picklist(stepRatings)), null),
	flagged: v.optional(v.nullable(v.boolean()), null),
});
/** The README code expects a string, but the published files contain an object. */
const humanSchema = v.union([v.string(), v.looseObject({ text: v.string() })]);

const lineSchema = v.looseObject({
	labeler: v.optional(v.nullable(v.string())),
	timestamp: v.optional(v.nullable(v.string())),
	question: v.looseObject({
		problem: v.string(),
		ground_truth_answer: v.optional(v.nullable(v.string())),
	}),
	label: v.looseObject({
		steps: v.array(
			v.looseObject({
				completions: v.optional(v.nullable(v.array(completionSchema)), null),
				human_completion: v.optional(v.nullable(humanSchema), null),
				chosen_completion: v.optional(v.nullable(v.number()), null),
			}),
		),
		finish_reason: v.optional(v.nullable(v.string())),
	}),
});

/** A line as written by this program. */
export interface Prm800kLine {
	readonly labeler: string;
	readonly timestamp: string;
	readonly generation: null;
	readonly is_quality_control_question: false;
	readonly is_initial_screening_question: false;
	readonly question: {
		readonly problem: string;
		readonly ground_truth_answer: string | null;
		readonly pre_generated_steps: readonly string[];
	};
	readonly label: {
		readonly steps: readonly {
			readonly completions: readonly {
				readonly text: string;
				readonly rating: StepRating | null;
				readonly flagged: null;
			}[];
			readonly human_completion: null;
			readonly chosen_completion: number | null;
		}[];
		readonly total_time: null;
		readonly finish_reason: 'solution' | 'found_error' | 'give_up';
	};
}

/**
 * Parses the solutions in a PRM800K line (Lightman et al. 2024): the path of chosen steps if it was finished, plus the
 * path leading to each rejected alternative. Steps written by the labeler count as correct. Returns a phrase if the
 * line has a different format.
 */
export function readPrm800k(value: unknown): StepSample[] | string {
	const decoded = decode(lineSchema, value);
	if (!decoded.ok) return `is not a PRM800K line (${decoded.faults[0]?.path || 'not an object'})`;
	const { question, label, timestamp } = decoded.value;
	const time = timestamp
		? Date.parse(/[Zz]|[+-]\d\d:?\d\d$/.test(timestamp) ? timestamp : `${timestamp}Z`)
		: Number.NaN;
	const shared = {
		prompt: question.problem,
		answer: question.ground_truth_answer ?? null,
		time: Number.isFinite(time) ? time / 1000 : null,
	};
	const path: RatedStep[] = [];
	const others: StepSample[] = [];
	let ended = true;
	for (const { completions, human_completion: human, chosen_completion: chosen } of label.steps) {
		for (const [i, { text, rating }] of (completions ?? []).entries()) {
			if (i !== chosen) others.push({ ...shared, steps: [...path, { text, rating }] });
		}
		const taken = chosen === null ? undefined : completions?.[chosen];
		if (taken !== undefined) path.push({ text: taken.text, rating: taken.rating });
		else if (human !== null) path.push({ text: typeof human === 'string' ? human : human.text, rating: 1 });
		else {
			// If no alternative was chosen, each one extends the path.
			ended = (completions ?? []).length === 0;
			break;
		}
	}
	return path.length === 0 || !ended ? others : [{ ...shared, steps: path }, ...others];
}

/** Placeholder id: labels are not attributed to individual labelers. */
const labeler = '00000000-0000-4000-8000-000000000000';

/**
 * Formats a solution as a PRM800K line with one completion per step, or returns null if none of its steps is rated. As
 * in the original data, the steps end with the first wrong one, for which no completion is chosen (`found_error`), or
 * with the last rated one.
 * @param now seconds since the epoch, for solutions without a timestamp
 */
export function writePrm800k(sample: StepSample, now: number): Prm800kLine | null {
	const rated = ratedSteps(sample.steps);
	if (rated.length === 0) return null;
	const wrong = rated.findIndex(({ rating }) => rating === -1);
	const steps = wrong < 0 ? rated : rated.slice(0, wrong + 1);
	const reason = wrong >= 0 ? 'found_error' : steps.length === sample.steps.length ? 'solution' : 'give_up';
	return {
		labeler,
		// Match the published files: UTC without a time zone suffix.
		timestamp: new Date((sample.time ?? now) * 1000).toISOString().replace('Z', '000'),
		generation: null,
		is_quality_control_question: false,
		is_initial_screening_question: false,
		question: {
			problem: sample.prompt,
			ground_truth_answer: sample.answer,
			pre_generated_steps: sample.steps.map(({ text }) => text),
		},
		label: {
			steps: steps.map(({ text, rating }) => ({
				completions: [{ text, rating, flagged: null }],
				human_completion: null,
				chosen_completion: rating === -1 ? null : 0,
			})),
			total_time: null,
			finish_reason: reason,
		},
	};
}

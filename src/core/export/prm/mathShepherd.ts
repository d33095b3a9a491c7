import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import type { StepRating } from '../../../protocol/stepLabel.ts';
import type { StepSample } from './stepSample.ts';
import { type NeutralLabel, writeTrlStepwise } from './trlStepwise.ts';

/** Marks the end of a step in `input`: a rare token, U+043A U+0438. */
export const stepEnd = '\u043a\u0438';

const lineSchema = v.looseObject({ input: v.string(), label: v.string(), task: v.optional(v.nullable(v.string())) });

export interface MathShepherdLine {
	readonly input: string;
	readonly label: string;
	readonly task: string;
}

/**
 * Parses a Math-Shepherd line (Wang et al. 2024). `input` contains the problem and its numbered steps, each ending with
 * {@link stepEnd}; `label` is the same text with `+` or `-` in place of the marker. Returns an error phrase if the line
 * has a different format or if `input` and `label` do not match.
 */
export function readMathShepherd(value: unknown): StepSample[] | string {
	const decoded = decode(lineSchema, value);
	if (!decoded.ok) return `is not a Math-Shepherd line (${decoded.faults[0]?.path || 'not an object'})`;
	const { input, label } = decoded.value;
	const parts = input.split(stepEnd);
	const rest = parts.pop() as string;
	if (parts.length === 0) return 'has no steps';
	const ratings: StepRating[] = [];
	let at = 0;
	for (const part of parts) {
		const mark = label[at + part.length];
		if (label.slice(at, at + part.length) !== part || (mark !== '+' && mark !== '-')) {
			return `has labels whose text differs starting at character ${at + 1}`;
		}
		ratings.push(mark === '+' ? 1 : -1);
		at += part.length + 1;
	}
	if (label.slice(at).trim() !== rest.trim()) return `has labels whose text differs starting at character ${at + 1}`;
	// "problem Step 1: text": the problem ends where the first step begins.
	const [first = ''] = parts;
	const start = /(?:^|\s)(?=Step 1:)/.exec(first);
	if (start === null) return 'has no "Step 1:"';
	const texts = [first.slice(start.index), ...parts.slice(1)].map((text) => text.trim());
	return [
		{
			prompt: first.slice(0, start.index).trim(),
			answer: null,
			steps: texts.map((text, i) => ({ text, rating: ratings[i] as StepRating })),
			time: null,
		},
	];
}

const numbered = /^Step \d+:/;

/**
 * Formats a solution as a Math-Shepherd line, or returns null if its first step is unrated. Unnumbered steps are
 * numbered. Returns a phrase if the text contains the step end marker, which this format cannot represent.
 */
export function writeMathShepherd(
	sample: StepSample,
	neutral: NeutralLabel = 'wrong',
): MathShepherdLine | string | null {
	const line = writeTrlStepwise(sample, neutral);
	if (line === null) return null;
	const { prompt, completions, labels } = line;
	if ([prompt, ...completions].some((text) => text.includes(stepEnd))) return `that contain the text ${stepEnd}`;
	const steps = completions.map((text, i) => (numbered.test(text) ? text : `Step ${i + 1}: ${text}`));
	const write = (mark: (i: number) => string) => `${prompt} ${steps.map((step, i) => `${step} ${mark(i)}`).join('\n')}`;
	return { input: write(() => stepEnd), label: write((i) => (labels[i] ? '+' : '-')), task: 'reasoning-lab' };
}

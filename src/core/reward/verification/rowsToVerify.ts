import { hashText, Random } from '../../../base/random.ts';
import { type Message, noStep, type RolloutLine, stepText } from '../../../protocol/rolloutLine.ts';
import type { ChatMessage, ScoredMessage, ScoreRow } from '../../../protocol/scorer.ts';
import type { Problem } from '../../dataset/problem.ts';
import { renderPrompt, type Template } from '../../text/template.ts';
import type { Verifier } from '../accuracyReward.ts';
import { bareAnswer, completionWith, workedSolution } from './honestCompletion.ts';
import type { LabeledCase } from './labeledCase.ts';
import type { RowToVerify } from './rowToVerify.ts';
import { wrongAnswers } from './wrongAnswers.ts';

/** Problem sampled from the reward's dataset. */
export interface SampledProblem {
	readonly problem: Problem;
	/** Display name: "row 12", "problem 3". */
	readonly name: string;
	/** Messages in a conversational dataset. */
	readonly messages?: readonly ChatMessage[];
	readonly place?: { readonly file: string; readonly line: number };
}

/** Offsets for batch and group numbers, which keep rows from different sources distinct. */
export interface RowNumbers {
	batch: number;
	group: number;
}

/** Builds the row for a problem's completion, as it would be scored in training. */
export function scoreRow(sampled: SampledProblem, template: Template, completion: string): ScoreRow {
	const { problem, messages } = sampled;
	return {
		prompt: messages === undefined ? renderPrompt(template, problem.prompt) : problem.prompt,
		completion,
		answer: problem.answer,
		row: problem.row,
		truncated: false,
		...(messages === undefined
			? {}
			: {
					messages: {
						prompt: messages.map((one) => ({ ...one })),
						completion: [{ role: 'assistant', content: completion }],
					},
				}),
	};
}

/**
 * Builds rows for each problem with a gold answer: its honest completion and up to `wrong` generated wrong answers.
 * Each problem forms one group; all rows share one batch.
 */
export function problemRows(
	problems: readonly SampledProblem[],
	options: {
		readonly template: Template;
		readonly verify: Verifier;
		readonly wrong: number;
		readonly seed: number;
		readonly numbers: RowNumbers;
	},
): RowToVerify[] {
	const { template, verify, wrong, seed, numbers } = options;
	const batch = numbers.batch++;
	const others = problems.map(({ problem }) => problem.answer).filter((answer) => answer !== null);
	return problems.flatMap((sampled) => {
		const { problem, name, place } = sampled;
		if (problem.answer === null) return [];
		const group = numbers.group++;
		const make = (source: 'gold' | 'wrong', label: string, answer: string): RowToVerify => ({
			source,
			label: `${name}, ${label}`,
			group,
			batch,
			row: scoreRow(sampled, template, completionWith(template, workedSolution(problem), answer)),
			...(place ? { place } : {}),
		});
		const random = Random.of(seed, 'wrong', hashText(problem.key));
		const made = wrongAnswers(problem, { verify, prompt: problem.prompt, others, random, count: wrong });
		return [
			make('gold', 'correct answer', bareAnswer(problem.answer)),
			...made.map(({ answer, how }) => make('wrong', `wrong answer (${how})`, answer)),
		];
	});
}

/** Builds rows with one batch per case, so that cases do not affect each other. */
export function caseRows(cases: readonly LabeledCase[], file: string, numbers: RowNumbers): RowToVerify[] {
	return cases.map(({ label, line, prompt, completion, row, answer, truncated, expect }) => ({
		source: 'case',
		label,
		group: null,
		batch: numbers.batch++,
		row: { prompt, completion, answer: answer === undefined ? (row.answer ?? null) : answer, row, truncated },
		expect,
		place: { file, line },
	}));
}

type RecordedText = string | readonly Message[];

/** Converts a prompt or completion to plain text: message contents separated by blank lines. */
export function plainText(text: RecordedText): string {
	return typeof text === 'string' ? text : text.map(({ content }) => content ?? '').join('\n\n');
}

const asMessages = (text: RecordedText, role: string): readonly ScoredMessage[] =>
	typeof text === 'string' ? [{ role, content: text }] : text;

const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the messages of a scored row; plain text counts as a message from the user or the policy. */
export function conversation(prompt: RecordedText, completion: RecordedText): NonNullable<ScoreRow['messages']> {
	return { prompt: asMessages(prompt, 'user'), completion: asMessages(completion, 'assistant') };
}

/** Reconstructs a recorded rollout's row as it was scored. */
export function rolloutScoreRow({ prompt, completion, answer, row, truncated }: RolloutLine): ScoreRow {
	const conversational = typeof prompt !== 'string' || typeof completion !== 'string';
	return {
		prompt: plainText(prompt),
		completion: plainText(completion),
		answer: answer ?? null,
		row: isRecord(row) ? row : {},
		truncated,
		...(conversational ? { messages: conversation(prompt, completion) } : {}),
	};
}

/** Builds the rows for the rollouts in one generation batch, in order and with the original groups. */
export function rolloutRows(
	rollouts: readonly { readonly line: RolloutLine; readonly place?: RowToVerify['place'] }[],
	numbers: RowNumbers,
): RowToVerify[] {
	const batch = numbers.batch++;
	const groups = new Map<number, number>();
	return rollouts.map(({ line, place }) => {
		const group = groups.get(line.group) ?? numbers.group++;
		groups.set(line.group, group);
		return {
			source: 'rollout',
			label: `${stepText(line)}group ${line.group}, completion ${line.index}`,
			group,
			batch,
			row: rolloutScoreRow(line),
			recorded: line.rewards,
			rollout: { step: line.step ?? noStep, group: line.group, index: line.index },
			...(place ? { place } : {}),
		};
	});
}

/**
 * Builds a row that treats the selected text as a completion for the problem, or for an empty prompt if there is no
 * problem.
 */
export function selectionRow(
	text: string,
	sampled: SampledProblem | null,
	template: Template,
	numbers: RowNumbers,
): RowToVerify {
	const row: ScoreRow =
		sampled === null
			? { prompt: '', completion: text, answer: null, row: {}, truncated: false }
			: scoreRow(sampled, template, text);
	const label = sampled === null ? 'selection' : `selection, for ${sampled.name}`;
	const place = sampled?.place === undefined ? {} : { place: sampled.place };
	return { source: 'selection', label, group: null, batch: numbers.batch++, row, ...place };
}

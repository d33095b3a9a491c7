import { neutralThought } from '../verification/honestCompletion.ts';
import { wrongOfSameLength } from './candidates.ts';
import { idleThought, wellFormed } from './completionText.ts';
import type { ProbeContext, ProbeRow } from './probe.ts';

/**
 * Baseline completions that characterize a reward before it is probed.
 * - `honest`: a real solution; `plain`: the correct answer after filler thinking
 * - `wrong`: a wrong answer with the same length as the correct one, after filler thinking; `wrong-worked`: a wrong
 *   answer after the thinking from `honest`
 * - `no-think-tags`, `no-answer-tags`: `plain` with these tags broken, without changing any length or word
 * - `longer`: `plain` with four times as much thinking; `longest`: `plain` with sixteen times as much; `empty`: no
 *   text
 * - `again`: `plain` repeated
 */
export type BaselineRole =
	| 'honest'
	| 'plain'
	| 'wrong'
	| 'wrong-worked'
	| 'no-think-tags'
	| 'no-answer-tags'
	| 'longer'
	| 'longest'
	| 'empty'
	| 'again';

export interface BaselineCompletion {
	readonly role: BaselineRole;
	readonly completion: string;
}

/** Returns the completions that are scored on a row before any probe. */
export function baselineOf(row: ProbeRow, { tags }: ProbeContext): BaselineCompletion[] {
	const thought = idleThought(row);
	const plain = wellFormed(tags, thought, row.answer);
	const made: BaselineCompletion[] = [
		{ role: 'honest', completion: row.honest },
		{ role: 'plain', completion: plain },
		{ role: 'longer', completion: wellFormed(tags, `${thought} `.repeat(4), row.answer) },
		{ role: 'longest', completion: wellFormed(tags, `${thought} `.repeat(16), row.answer) },
		{ role: 'empty', completion: '' },
		{ role: 'again', completion: plain },
	];
	// Same length as the correct answer, so that a reward based only on length does not appear to distinguish them.
	for (const answer of wrongOfSameLength(row)) {
		made.push({ role: 'wrong', completion: wellFormed(tags, thought, answer) });
		made.push({ role: 'wrong-worked', completion: wellFormed(tags, row.solution ?? neutralThought, answer) });
	}
	const without = (pair: readonly string[]) =>
		pair.reduce((text, tag) => text.replaceAll(tag, '.'.repeat(tag.length)), plain);
	if (tags.think) made.push({ role: 'no-think-tags', completion: without(tags.think) });
	if (tags.answer) made.push({ role: 'no-answer-tags', completion: without(tags.answer) });
	return made;
}

import { renderCompletion } from '../../text/template.ts';
import type { TraceTags } from '../../trace/trace.ts';
import { neutralThought } from '../verification/honestCompletion.ts';
import type { ProbeContext, ProbeRow } from './probe.ts';

const otherThought = 'Thinking about this now.';

/** Thinking that says nothing about the problem and does not contain the correct answer. */
export function idleThought({ answer }: Pick<ProbeRow, 'answer'>): string {
	const holds = (text: string) => text.toLowerCase().includes(answer.trim().toLowerCase());
	return [neutralThought, otherThought].find((text) => !holds(text)) ?? '...';
}

/** A completion in the format of the template. */
export function wellFormed(tags: TraceTags, thinking: string, answer: string): string {
	return renderCompletion({ name: '', prompt: '{prompt}', ...pairs(tags) }, { solution: thinking, answer });
}

const pairs = ({ think, answer }: TraceTags) => ({ think, answer });

/** In the format of the template: idle thinking, then this text as the answer. */
export function answering(row: ProbeRow, context: ProbeContext, answer: string): string {
	return wellFormed(context.tags, idleThought(row), answer);
}

/** The thinking of the honest completion, or one that names the correct answer. */
export function workedThought(row: ProbeRow): string {
	return row.solution ?? `I work it out and find ${row.answer}.`;
}

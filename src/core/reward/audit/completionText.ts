import { renderCompletion } from '../../text/template.ts';
import type { TraceTags } from '../../trace/trace.ts';
import { neutralThought } from '../verification/honestCompletion.ts';
import type { ProbeContext, ProbeRow } from './probe.ts';

const otherThought = 'Thinking about this now.';

/** Returns thinking that does not discuss the problem or contain the correct answer. */
export function idleThought({ answer }: Pick<ProbeRow, 'answer'>): string {
	const holds = (text: string) => text.toLowerCase().includes(answer.trim().toLowerCase());
	return [neutralThought, otherThought].find((text) => !holds(text)) ?? '...';
}

/** Returns a completion in the template's format. */
export function wellFormed(tags: TraceTags, thinking: string, answer: string): string {
	return renderCompletion({ name: '', prompt: '{prompt}', ...pairs(tags) }, { solution: thinking, answer });
}

const pairs = ({ think, answer }: TraceTags) => ({ think, answer });

/** Returns a completion in the template's format, with filler thinking and the given text as its answer. */
export function answering(row: ProbeRow, context: ProbeContext, answer: string): string {
	return wellFormed(context.tags, idleThought(row), answer);
}

/** Returns the thinking from the honest completion, or text that states the correct answer. */
export function workedThought(row: ProbeRow): string {
	return row.solution ?? `I work it out and find ${row.answer}.`;
}

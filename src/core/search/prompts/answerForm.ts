import type { TraceTags } from '../../trace/trace.ts';

/** Returns instructions for stating an answer so that it can be parsed. */
export function answerForm({ answer }: TraceTags): string {
	return answer === null
		? 'a line "Answer: " with the final answer'
		: `the final answer as ${answer[0]}...${answer[1]}`;
}

/** Returns the answer if a proposed step completes the solution; otherwise null. */
export function finishingAnswer(step: string, { answer }: TraceTags): string | null {
	if (answer !== null) {
		const from = step.lastIndexOf(answer[0]);
		const to = from < 0 ? -1 : step.indexOf(answer[1], from + answer[0].length);
		const stated = to < 0 ? '' : step.slice(from + answer[0].length, to).trim();
		if (stated !== '') return stated;
	}
	const at = step.search(/\banswer\b\**\s{0,4}:/i);
	if (at < 0) return null;
	const stated = step
		.slice(step.indexOf(':', at) + 1)
		.replaceAll('*', '')
		.trim();
	return stated === '' ? null : stated;
}

import { formatCount, formatCounted } from '../../../base/format.ts';
import { type Finding, messageName } from '../finding.ts';
import { contextPoints } from '../tokenTotals.ts';
import type { Transcript } from '../transcript.ts';

/** Minimum growth factor and final token count for a growing context to be reported. */
const limits = { times: 4, tokens: 4000 } as const;

/** Finds a context that grows with each call, and identifies the cause. */
export function findContextGrowth(transcript: Transcript): Finding[] {
	const points = contextPoints(transcript);
	const [first] = points;
	const largest = points.reduce((top, point) => (point.prompt > (top?.prompt ?? 0) ? point : top), first);
	if (first === undefined || largest === undefined || first.prompt === 0) return [];
	const times = largest.prompt / first.prompt;
	if (times < limits.times || largest.prompt < limits.tokens) return [];
	let tools = 0;
	let all = 0;
	for (const { index, role, text, thinking, calls } of transcript.messages) {
		if (index < first.message || index >= largest.message) continue;
		const size = text.length + thinking.length + calls.reduce((sum, call) => sum + call.text.length, 0);
		all += size;
		if (role === 'tool') tools += size;
	}
	const share = all === 0 ? 0 : Math.round((100 * tools) / all);
	return [
		{
			check: 'context',
			severity: 'info',
			title: `The context grew ${Math.round(times)}-fold`,
			text:
				`The prompt grew from ${formatCounted(first.prompt, 'token')} in ${messageName(first.message)} to ${formatCount(largest.prompt)} in ${messageName(largest.message)}.` +
				(share > 0 ? ` Tool results account for ${share}% of the characters added in between.` : ''),
			at: [{ message: largest.message, call: null }],
			quotes: [],
		},
	];
}

import { formatBytes, formatCount, formatCounted, formatDuration } from '../../src/base/format.ts';
import { type Answer, maxHits } from '../../src/protocol/queryMessages.ts';

/** Returns a one-line summary of a result. */
export function summaryOf(answer: Answer, busy: boolean): string {
	if (answer.kind === 'failure') return '';
	if (answer.kind === 'table') {
		const { rows, truncated, millis } = answer.table;
		const time = formatDuration(millis / 1000);
		if (truncated) return `First ${formatCounted(rows.length, 'row')}, in ${time}. Export to get all rows.`;
		return `${formatCounted(rows.length, 'row')}, in ${time}`;
	}
	const { hits, end } = answer;
	const count = formatCounted(hits.length, 'rollout');
	if (end === null) return busy ? `${count} so far` : `${count}; stopped`;
	// Sizes of runs from other trainers are unknown.
	const where = `${end.bytes === 0 ? '' : `${formatBytes(end.bytes)} `}in ${formatDuration(end.millis / 1000)}`;
	const rest = end.complete
		? ''
		: hits.length >= maxHits
			? `; stopped at ${formatCount(maxHits)} hits (narrow the search to see more)`
			: '; partial scan';
	return `${[`${count}, ${where}${rest}`, ...end.limits].join('. ')}`;
}

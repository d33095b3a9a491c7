import { formatCounted, formatDuration, formatPart } from '../../../base/format.ts';
import type { Verification } from '../../../protocol/verification.ts';

/** Topics of the summary, in display order. */
export type SummaryTopic = 'value' | 'agreement' | 'null' | 'dead' | 'cases' | 'recorded' | 'errors' | 'time';

/** `bad`: the reward is at fault; `notice`: may need attention. */
export type SummaryLevel = 'plain' | 'notice' | 'bad';

export interface SummaryPart {
	readonly topic: SummaryTopic;
	readonly text: string;
	/** `bad`: the reward failed or violated its contract; `notice`: may need attention. */
	readonly level: SummaryLevel;
}

/** Formats a reward value with at most three significant digits, keeping trailing zeros. */
export function formatValue(value: number): string {
	const size = Math.abs(value);
	if (value === 0) return '0.00';
	if (size >= 1e5 || size < 0.001) return value.toExponential(1);
	return size >= 100 ? value.toFixed(0) : value.toFixed(size < 0.1 ? 3 : 2);
}

/** Returns the parts shown after a reward's signature, omitting empty ones. */
export function summaryParts({ statistics, faults, durationMs }: Verification): SummaryPart[] {
	const { rows, mean, std, agreement, nulls, groups, deadGroups, cases, recorded } = statistics;
	const parts: SummaryPart[] = [];
	const add = (topic: SummaryTopic, text: string, level: SummaryPart['level'] = 'plain') =>
		parts.push({ topic, text, level });
	if (mean !== null && std !== null) add('value', `${formatValue(mean)} ± ${formatValue(std)}`);
	else if (rows === 0) add('value', 'no rows', 'notice');
	else add('value', 'no values', 'notice');
	if (agreement !== null) {
		const { agreed, problems } = agreement;
		add('agreement', `gold ${formatPart(agreed, problems)}`, agreed < problems ? 'notice' : 'plain');
	}
	if (nulls > 0) add('null', `${formatPart(nulls, rows)} null`);
	if (deadGroups > 0) {
		const level = 2 * deadGroups >= groups ? 'notice' : 'plain';
		add('dead', `${deadGroups} of ${formatCounted(groups, 'group')} dead`, level);
	}
	const cased = cases.passed + cases.failed;
	if (cases.failed > 0) add('cases', `${cases.failed} of ${formatCounted(cased, 'case')} failed`, 'bad');
	else if (cased > 0) add('cases', formatCounted(cased, 'case'));
	if (recorded.different > 0) {
		add('recorded', `${recorded.different} of ${recorded.same + recorded.different} differ from the run`, 'notice');
	} else if (recorded.same > 0) add('recorded', 'matches the run');
	// A batch fault is repeated on every row in the batch.
	const errors = Math.max(statistics.errors, faults.length);
	if (errors > 0) add('errors', formatCounted(errors, 'error'), 'bad');
	if (rows > 0) add('time', `${formatDuration(durationMs / rows / 1000)}/row`);
	return parts;
}

/** Formats the summary: `0.52 ± 0.50 · gold 98% · 3% null · 2 of 25 groups dead · 1 error · 12 µs/row` */
export function summaryLine(verification: Verification): string {
	return summaryParts(verification)
		.map(({ text }) => text)
		.join(' · ');
}

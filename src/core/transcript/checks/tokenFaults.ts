import { formatCount, formatCounted } from '../../../base/format.ts';
import { type Finding, messageNameFirst } from '../finding.ts';
import type { Transcript } from '../transcript.ts';

/** Finds conflicting token counts within a message. */
export function findTokenFaults({ messages }: Transcript): Finding[] {
	const findings: Finding[] = [];
	for (const { index, usage, otherUsage } of messages) {
		if (usage === null) continue;
		const at = [{ message: index, call: null }];
		const where = messageNameFirst(index);
		if (otherUsage !== null) {
			findings.push({
				check: 'tokens',
				severity: 'warning',
				title: 'Conflicting token counts',
				text: `${where} reports ${formatCount(usage.prompt)} + ${formatCounted(usage.completion, 'token')} in one field and ${formatCount(otherUsage.prompt)} + ${formatCount(otherUsage.completion)} in another.`,
				at,
				quotes: [],
			});
		}
		if (usage.total !== null && usage.total !== usage.prompt + usage.completion) {
			findings.push({
				check: 'tokens',
				severity: 'warning',
				title: 'Wrong token total',
				text: `${where} reports a total of ${formatCounted(usage.total, 'token')}, but prompt and completion add up to ${formatCount(usage.prompt + usage.completion)}.`,
				at,
				quotes: [],
			});
		}
	}
	return findings;
}

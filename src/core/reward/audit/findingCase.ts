import type { AuditFinding } from '../../../protocol/audit.ts';
import type { RewardCase } from '../../export/rewardCase.ts';

/** How far below an honest correct answer a case must score, as a share of it (of 1 where it scores 0). */
const margin = 0.01;

/**
 * A piece of a finding's evidence as a labeled case: it must score less than an honest correct answer. Null where the evidence
 * does not hold all that was scored (`given` is absent), since its case would be about something else.
 */
export function findingCase(finding: AuditFinding, index: number, reward: string): RewardCase | null {
	const evidence = finding.evidence[index];
	if (evidence?.given === undefined) return null;
	const { prompt, completion, truncated, given, honest } = evidence;
	const max = honest - (Math.abs(honest) || 1) * margin;
	return {
		name: `audit: ${finding.title}, ${index + 1}`,
		reward,
		prompt,
		completion,
		...given,
		...(truncated === undefined ? {} : { truncated }),
		expect: { max: Number(max.toPrecision(12)) },
	};
}

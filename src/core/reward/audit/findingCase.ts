import type { AuditFinding } from '../../../protocol/audit.ts';
import type { RewardCase } from '../../export/rewardCase.ts';

/**
 * Minimum amount by which a case must score below an honest correct answer, as a fraction of that answer's score (or of
 * 1 if the score is 0).
 */
const margin = 0.01;

/**
 * Converts part of a finding's evidence to a labeled case, which must score lower than an honest correct answer.
 * Returns null if the evidence does not contain everything that was scored (`given` is absent), because the case would
 * then test something else.
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

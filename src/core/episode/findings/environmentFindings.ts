import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import { contractFindings } from './contractFindings.ts';
import { errorFindings } from './errorFindings.ts';
import { labeledFindings } from './labeledFindings.ts';
import { lengthFindings } from './lengthFindings.ts';
import { repeatFindings } from './repeatFindings.ts';
import { rewardFindings } from './rewardFindings.ts';
import type { FindingRule, VerificationEvidence } from './verificationEvidence.ts';

const rules: readonly FindingRule[] = [
	contractFindings,
	errorFindings,
	rewardFindings,
	repeatFindings,
	lengthFindings,
	labeledFindings,
];
const order = { error: 0, warning: 1, information: 2 } as const;

/** Returns all findings, errors first, then by line. */
export function environmentFindings(evidence: VerificationEvidence): EnvironmentFinding[] {
	return rules.flatMap((rule) => rule(evidence)).sort((a, b) => order[a.level] - order[b.level] || a.line - b.line);
}

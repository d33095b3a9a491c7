import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import { type FindingRule, lineOf } from './verificationEvidence.ts';

/** Checks what the class declares: tools with docstrings and types, a synchronous reset, a reward. */
export const contractFindings: FindingRule = (evidence) => {
	const { environment } = evidence;
	const findings: EnvironmentFinding[] = [];
	for (const { fault, location } of environment.tools) {
		if (fault === null) continue;
		findings.push({
			kind: fault.kind,
			level: 'error',
			message: `${fault.message}.`,
			action:
				fault.kind === 'types'
					? 'Annotate every argument with a type.'
					: 'Write a docstring with an "Args:" section that describes every argument.',
			line: location?.line ?? environment.location.line,
		});
	}
	if (environment.tools.length === 0) {
		findings.push({
			kind: 'no-tools',
			level: 'warning',
			message: `${environment.name} has no public methods besides reset and get_reward, so the model cannot act.`,
			action: 'Add a typed method with a docstring; it becomes a tool.',
			line: environment.location.line,
		});
	}
	if (environment.asyncReset) {
		findings.push({
			kind: 'async-reset',
			level: 'error',
			message: 'reset is asynchronous, but trainers do not await it.',
			action: 'Make it a regular method.',
			line: lineOf(evidence, 'reset'),
		});
	}
	if (!environment.ownsReward) {
		findings.push({
			kind: 'no-reward',
			level: 'warning',
			message: `${environment.name} has no get_reward, so its episodes have no reward.`,
			action: 'Add get_reward, or list rewards in the recipe.',
			line: environment.location.line,
		});
	}
	return findings;
};

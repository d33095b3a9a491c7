import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import { type FindingRule, lineOf, wordsOf } from './verificationEvidence.ts';

/** Checks the class declarations: tools with docstrings and types, a synchronous reset, a reward. */
export const contractFindings: FindingRule = (evidence) => {
	const { environment } = evidence;
	const words = wordsOf(evidence);
	const findings: EnvironmentFinding[] = [];
	for (const { fault, location } of environment.tools) {
		if (fault === null) continue;
		findings.push({
			kind: fault.kind,
			level: 'error',
			message: `${fault.message}.`,
			action: fault.kind === 'types' ? words.typeArguments : words.describeTool,
			line: location?.line ?? environment.location.line,
		});
	}
	if (environment.tools.length === 0) {
		findings.push({
			kind: 'no-tools',
			level: 'warning',
			message: `${environment.name} has no public methods besides reset and ${words.getReward}, so the model cannot act.`,
			action: words.addTool,
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
		const misnamed = environment.tools.find(({ name }) => /^(get_?)?reward$/i.test(name))?.name;
		findings.push({
			kind: 'no-reward',
			level: 'warning',
			message: `${environment.name} has no ${words.getReward}, so its episodes have no reward.`,
			action:
				misnamed === undefined
					? `Add ${words.getReward}, or list rewards in the recipe.`
					: `Rename ${misnamed} to ${words.getReward}.`,
			line: environment.location.line,
		});
	}
	return findings;
};

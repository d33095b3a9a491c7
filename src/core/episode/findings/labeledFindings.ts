import type { FindingRule } from './verificationEvidence.ts';

/** Reports labeled episodes that are not as expected, and lines of their file that cannot be used, at those lines. */
export const labeledFindings: FindingRule = ({ labeled }) => {
	if (labeled === null) return [];
	const { file, results, faults } = labeled;
	return [
		...results.flatMap(({ label, line, difference }) => {
			if (difference === null) return [];
			const message = `${label}: ${difference.message}.`;
			const action = 'Fix the environment, or what the episode expects.';
			return [{ kind: 'labeled' as const, level: 'error' as const, message, action, file, line }];
		}),
		...faults.map(({ line, message, action }) => {
			return {
				kind: 'labeled' as const,
				level: 'error' as const,
				message: `Line ${line} ${message}.`,
				action,
				file,
				line,
			};
		}),
	];
};

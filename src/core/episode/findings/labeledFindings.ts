import type { FindingRule } from './verificationEvidence.ts';

/** Reports labeled episodes that differ from their labels, and invalid lines, each at its line in the file. */
export const labeledFindings: FindingRule = ({ labeled }) => {
	if (labeled === null) return [];
	const { file, results, faults } = labeled;
	return [
		...results.flatMap(({ label, line, difference }) => {
			if (difference === null) return [];
			const message = `${label}: ${difference.message}.`;
			const action = 'Fix the environment or the expectation.';
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

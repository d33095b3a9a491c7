import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import { rows } from './errorFindings.ts';
import { type FindingRule, lineOf, wordsOf } from './verificationEvidence.ts';

/** Reports episodes whose results change when they are repeated with the same row and calls. */
export const repeatFindings: FindingRule = (evidence) => {
	const findings: EnvironmentFinding[] = [];
	const line = lineOf(evidence, 'reset');
	const found = (where: string) => evidence.repeated.filter((one) => one.where === where);
	const [unstable] = found('new');
	if (unstable !== undefined) {
		const hidden = unstable.difference.what === 'state';
		findings.push({
			kind: 'not-deterministic',
			level: hidden ? 'warning' : 'error',
			message: `The same row produces different episodes: ${unstable.difference.text} (${rows(found('new').map(({ row }) => row))}). The completions in a group must attempt the same task.`,
			action: wordsOf(evidence).seed,
			line,
			row: unstable.row,
		});
	}
	const [shared] = found('beside');
	if (shared !== undefined) {
		findings.push({
			kind: 'leak',
			level: 'error',
			message: `Instances share state: with another episode in progress, ${shared.difference.text} (${rows(found('beside').map(({ row }) => row))}).`,
			action: wordsOf(evidence).ownState,
			line,
			row: shared.row,
		});
	}
	const [kept] = found('again');
	if (kept !== undefined) {
		findings.push({
			kind: 'leak',
			level: 'error',
			message: `State survives reset: in a reused instance, ${kept.difference.text} (${rows(found('again').map(({ row }) => row))}). Trainers create an instance once and reset it many times.`,
			action: 'Set every attribute in reset.',
			line,
			row: kept.row,
		});
	}
	return findings;
};

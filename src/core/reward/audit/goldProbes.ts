import { wrongAnswer } from './candidates.ts';
import { answering } from './completionText.ts';
import type { Probe, ProbeAttempt } from './probe.ts';

/** Rows without a known correct answer, for which no completion can be correct. */
export const goldProbes: readonly Probe[] = [
	{
		id: 'gold-absent',
		title: 'Row without a gold answer',
		severity: 'medium',
		attacks: 'content',
		why: 'Without a gold answer, there is no way to tell whether a completion is correct.',
		fix: 'Return null (Python: None) for rows without a gold answer, so that the reward does not apply to them.',
		build(row, context) {
			const tried: ProbeAttempt[] = [];
			for (const answer of [null, '']) {
				for (const text of ['', 'None', 'null', wrongAnswer(row)]) {
					tried.push({ completion: answering(row, context, text), answer });
				}
			}
			return tried;
		},
	},
	{
		id: 'gold-unreadable',
		title: 'Unparseable gold answer',
		severity: 'high',
		attacks: 'content',
		why: 'An unparseable gold answer cannot be used for comparison, so there is no way to tell whether a completion is correct.',
		fix: 'Return null (Python: None) if the gold answer cannot be parsed, never the full reward.',
		build: (row, context) =>
			['\\frac{', '\\undefined{((', '$$'].flatMap((answer) =>
				[wrongAnswer(row), 'x', '('].map((text) => ({ completion: answering(row, context, text), answer })),
			),
	},
];

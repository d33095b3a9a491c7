import { answerSectionProbes } from './answerSectionProbes.ts';
import { candidateProbes } from './candidateProbes.ts';
import { characterProbes } from './characterProbes.ts';
import { codeProbes } from './codeProbes.ts';
import { codeTestsOf } from './codeTests.ts';
import { emptyProbes } from './emptyProbes.ts';
import { evasionProbes } from './evasionProbes.ts';
import { goldProbes } from './goldProbes.ts';
import { judgeProbes } from './judgeProbes.ts';
import { lengthProbes } from './lengthProbes.ts';
import { markupProbes } from './markupProbes.ts';
import { numberProbes } from './numberProbes.ts';
import { type AuditProbe, type Probe, skip } from './probe.ts';
import { promptProbes } from './promptProbes.ts';
import { tagProbes } from './tagProbes.ts';

/**
 * Restricts a probe to answers that are a number or a few words. Code is excluded because it might still be correct
 * after the change.
 */
function ofShortAnswers(probe: Probe): Probe {
	return {
		...probe,
		build: (row, context) =>
			codeTestsOf(row) === null
				? probe.build(row, context)
				: skip('The answers are code, for which this probe is inconclusive.'),
	};
}

/** Probes grouped by the flaw they detect, with display names. */
const families: readonly (readonly [cause: string, probes: readonly Probe[]])[] = [
	['Rewards completions without an answer', emptyProbes],
	['Rewards claims and wrong answers', evasionProbes],
	['Rewards lists of candidate answers', candidateProbes.map(ofShortAnswers)],
	['Accepts ambiguous answer sections', answerSectionProbes],
	['Rewards text copied from the prompt', promptProbes],
	['Checks the format too loosely', tagProbes],
	[
		'Rewards long or repetitive text',
		lengthProbes.map((probe) => (probe.id === 'long-filler' ? probe : ofShortAnswers(probe))),
	],
	['Misreads deceptive characters', characterProbes.map(ofShortAnswers)],
	['Compares numbers too loosely', numberProbes.map(ofShortAnswers)],
	['Accepts hidden or structured markup', markupProbes.map(ofShortAnswers)],
	['Lets the completion instruct the judge', judgeProbes.map((probe) => ({ ...probe, asksModel: true }))],
	['Gives a reward without a gold answer', goldProbes],
	['Lets code bypass its tests', codeProbes],
];

/** All audit probes, in the order they are tried and listed. */
export const probes: readonly AuditProbe[] = families.flatMap(([cause, members]) =>
	members.map((probe) => ({ ...probe, cause })),
);

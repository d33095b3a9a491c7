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
import { type Probe, skip } from './probe.ts';
import { promptProbes } from './promptProbes.ts';
import { tagProbes } from './tagProbes.ts';

/** A probe of answers that are a number or a few words: of code, what it makes may still be right. */
function ofShortAnswers(probe: Probe): Probe {
	return {
		...probe,
		build: (row, context) =>
			codeTestsOf(row) === null
				? probe.build(row, context)
				: skip('The answers are code, for which this proves nothing.'),
	};
}

/** Every probe of the audit, in the order in which they are tried and listed. */
export const probes: readonly Probe[] = [
	...emptyProbes,
	...evasionProbes,
	...candidateProbes.map(ofShortAnswers),
	...answerSectionProbes,
	...promptProbes,
	...tagProbes,
	...lengthProbes.map((probe) => (probe.id === 'long-filler' ? probe : ofShortAnswers(probe))),
	...characterProbes.map(ofShortAnswers),
	...numberProbes.map(ofShortAnswers),
	...markupProbes.map(ofShortAnswers),
	...judgeProbes,
	...goldProbes,
	...codeProbes,
];

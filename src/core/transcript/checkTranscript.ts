import { findArgumentFaults } from './checks/argumentFaults.ts';
import { findCitationFaults } from './checks/citationFaults.ts';
import { findContextGrowth } from './checks/contextGrowth.ts';
import { findFailedCalls } from './checks/failedCalls.ts';
import { findLinkFaults } from './checks/linkFaults.ts';
import { findSchemaFaults } from './checks/schemaFaults.ts';
import { findTokenFaults } from './checks/tokenFaults.ts';
import { findTruncated } from './checks/truncated.ts';
import { findUnchangedRetries } from './checks/unchangedRetries.ts';
import { findUnresolvedCritique } from './checks/unresolvedCritique.ts';
import { type Finding, sortFindings } from './finding.ts';
import type { Transcript } from './transcript.ts';

const checks: readonly ((transcript: Transcript) => Finding[])[] = [
	findSchemaFaults,
	findArgumentFaults,
	findFailedCalls,
	findUnchangedRetries,
	findLinkFaults,
	findUnresolvedCritique,
	findCitationFaults,
	findTokenFaults,
	findContextGrowth,
	findTruncated,
];

/** Runs all checks and returns their findings, errors first. */
export function checkTranscript(transcript: Transcript): Finding[] {
	return sortFindings(checks.flatMap((check) => check(transcript)));
}

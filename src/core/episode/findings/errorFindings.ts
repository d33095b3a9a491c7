import { formatCounted } from '../../../base/format.ts';
import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import type { Episode } from '../../../protocol/episode.ts';
import { type FindingRule, lineOf, toolLine, type VerificationEvidence, wordsOf } from './verificationEvidence.ts';

const methods = { reset: 'reset', reward: 'get_reward' } as const;

/** Reports failed episodes, merging those with the same error on the same line. */
export const errorFindings: FindingRule = (evidence) => {
	const groups = new Map<string, Episode[]>();
	for (const episode of evidence.episodes) {
		const { error } = episode;
		if (error === undefined) continue;
		const key = JSON.stringify([error.during, error.kind, error.line, error.message]);
		groups.set(key, [...(groups.get(key) ?? []), episode]);
	}
	return [
		...[...groups.values()].map((group) => findingOf(group, evidence)),
		...evidence.solutionFaults.slice(0, 1).map(({ row, message }) => ({
			kind: 'data' as const,
			level: 'warning' as const,
			message: `${message} (${rows(evidence.solutionFaults.map((fault) => fault.row))}).`,
			line: evidence.environment.location.line,
			row,
		})),
		...failedSolutions(evidence),
	];
};

function findingOf(group: readonly Episode[], evidence: VerificationEvidence): EnvironmentFinding {
	const [{ error, row, turns }] = group as readonly [Episode];
	const { during, kind, message, line } = error as NonNullable<Episode['error']>;
	const tool = turns.at(-1)?.calls.at(-1)?.name;
	const where = during === 'call' ? (tool ?? 'a tool') : during === 'reset' ? 'reset' : wordsOf(evidence).getReward;
	const place = during === 'call' ? toolLine(evidence, tool ?? '') : lineOf(evidence, methods[during]);
	const text = message.replace(/[.]$/, '').replace(/^It /, 'it ');
	return {
		kind: kind === 'timeout' ? 'blocks' : 'error',
		level: 'error',
		message: `${where} ${kind === 'timeout' ? 'blocks' : 'failed'}: ${text} (${rows(group.map((one) => one.row))}, ${policiesOf(group)}).`,
		...(kind === 'timeout' ? { action: 'Limit how long it waits.' } : {}),
		line: line ?? place,
		row,
	};
}

/** Reports tool calls in a solution that the environment rejected. */
function failedSolutions(evidence: VerificationEvidence): EnvironmentFinding[] {
	for (const { policy, row, turns } of evidence.episodes) {
		if (policy !== 'gold') continue;
		const failed = turns.flatMap(({ results }) => results).find((result) => result.failed);
		if (failed === undefined) continue;
		return [
			{
				kind: 'data',
				level: 'warning',
				message: `The solution for row ${row + 1} makes a call that fails: ${failed.name} returns ${failed.content.slice(0, 200)}.`,
				action: 'Fix the solution or the tool.',
				line: failed.line ?? toolLine(evidence, failed.name),
				row,
			},
		];
	}
	return [];
}

const shown = 3;

/** Returns "row 5", "rows 1, 5 and 7" or "rows 1, 5, 7 and 12 more". */
export function rows(found: readonly number[]): string {
	const numbers = [...new Set(found)].map((row) => row + 1);
	const listed = numbers.slice(0, shown);
	const more = numbers.length - listed.length;
	if (more > 0) return `rows ${listed.join(', ')} and ${more} more`;
	if (listed.length === 1) return `row ${listed[0]}`;
	return `rows ${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}`;
}

function policiesOf(group: readonly Episode[]): string {
	const policies = [...new Set(group.map(({ policy }) => policy))];
	return `${formatCounted(group.length, 'episode')} of the ${policies.join(', ')} ${policies.length === 1 ? 'policy' : 'policies'}`;
}

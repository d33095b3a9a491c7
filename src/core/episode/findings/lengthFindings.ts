import { formatDuration } from '../../../base/format.ts';
import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import { rows } from './errorFindings.ts';
import { type FindingRule, toolLine, wordsOf } from './verificationEvidence.ts';

/** Time per turn above which a tool is reported as slow, in milliseconds. */
const slowMs = 1000;

/** Reports episodes that never end, and slow tools. */
export const lengthFindings: FindingRule = (evidence) => {
	const { environment, episodes, turnLimit } = evidence;
	const words = wordsOf(evidence);
	const findings: EnvironmentFinding[] = [];
	const unfinished = episodes.filter(({ policy, stop, turns }) => {
		return policy === 'gold' && stop === 'policy' && environment.reportsDone && turns.at(-1)?.done === false;
	});
	const [first] = unfinished;
	if (first !== undefined) {
		findings.push({
			kind: 'endless',
			level: 'warning',
			message: `done is still ${words.false} after the solution (${rows(unfinished.map(({ row }) => row))}), so episodes do not end.`,
			action: 'Set done when the task is solved or has failed.',
			line: environment.location.line,
			row: first.row,
		});
	}
	const random = episodes.filter(({ policy, error }) => policy === 'random' && error === undefined);
	const ends = episodes.some(({ turns }) => turns.some(({ done }) => done === true));
	const endless = !ends && random.length > 0 && random.every(({ stop, turns }) => stop === 'turns' && accepted(turns));
	if (endless && first === undefined) {
		findings.push({
			kind: 'endless',
			level: 'information',
			message: `Episodes never end: the random policy was still playing after ${turnLimit} turns in every episode. Only the token budget and max_tool_calling_iterations limit them.`,
			action: words.raise,
			line: environment.location.line,
		});
	}
	const slow = episodes
		.flatMap(({ turns, row }) => turns.map((turn) => ({ turn, row })))
		.filter(({ turn }) => turn.durationMs > slowMs)
		.sort((a, b) => b.turn.durationMs - a.turn.durationMs)[0];
	if (slow !== undefined) {
		const tool = slow.turn.calls[0]?.name ?? '';
		findings.push({
			kind: 'slow',
			level: 'information',
			message: `${tool} took ${formatDuration(slow.turn.durationMs / 1000)}. Training waits for every turn.`,
			line: toolLine(evidence, tool),
			row: slow.row,
		});
	}
	return findings;
};

/** Whether the environment still accepted calls at the end. */
function accepted(turns: readonly { readonly results: readonly { readonly failed: boolean }[] }[]): boolean {
	return turns.at(-1)?.results.every(({ failed }) => !failed) ?? false;
}

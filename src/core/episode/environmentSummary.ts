import { formatCounted, formatDuration } from '../../base/format.ts';
import type { EnvironmentVerification, PolicyStatistics } from '../../protocol/environmentVerification.ts';
import { formatValue, type SummaryLevel } from '../reward/verification/verificationSummary.ts';
import { trainedPolicy } from './episodePolicies.ts';
import { turnRewardSum } from './turnRewards.ts';

export interface EnvironmentSummaryPart {
	readonly text: string;
	readonly level: SummaryLevel;
}

/** Longer policy names are truncated. */
const longestName = 40;

/**
 * Returns the parts of the summary shown after the class, omitting unknown ones.
 * @param earlier statistics of a policy from an earlier verification
 * @param policyName name of the last policy that played
 */
export function environmentSummary(
	verification: EnvironmentVerification,
	earlier: PolicyStatistics | null = null,
	policyName: string | null = null,
): EnvironmentSummaryPart[] {
	const { policies, turnMs, findings } = verification;
	const of = (name: string) => policies.find(({ policy }) => policy === name);
	const parts: EnvironmentSummaryPart[] = [];
	const add = (text: string, level: SummaryLevel = 'plain') => parts.push({ text, level });
	const setup = policies.every(({ failed, episodes }) => failed < episodes);
	add(setup ? 'setup ok' : 'setup fails', setup ? 'plain' : 'bad');
	const gold = of('gold');
	if (gold === undefined || gold.episodes === 0) add('no solutions', 'notice');
	else if (gold.judged === 0) add(rewardText('gold', gold));
	else {
		const all = gold.successes === gold.judged;
		add(`gold ${gold.successes} / ${gold.judged}`, all ? 'plain' : 'bad');
	}
	// Place this early in the line, because the end might be off screen.
	const trained = of(trainedPolicy);
	const name = policyName === null ? [] : [policyName.slice(0, longestName)];
	if (trained !== undefined) add(withSuccess(trainedPolicy, trained, ...name));
	else if (earlier !== null) add(withSuccess(trainedPolicy, earlier, ...name, 'earlier'));
	const earned = meanTurnReward(verification);
	if (earned !== null) add(`turn rewards ${formatValue(earned)}`);
	const effortless = findings.some(({ kind }) => kind === 'no-effort');
	const random = of('random');
	if (random !== undefined) add(withSuccess('random', random), effortless ? 'notice' : 'plain');
	const idle = of('idle');
	if (idle !== undefined) add(rewardText('idle', idle), effortless ? 'notice' : 'plain');
	const { labeled } = verification;
	if (labeled.length > 0) {
		const passed = labeled.filter(({ difference }) => difference === null).length;
		add(`labeled ${passed} / ${labeled.length}`, passed === labeled.length ? 'plain' : 'bad');
	}
	const longest = Math.max(0, ...policies.filter(({ policy }) => policy !== 'wrong').map(({ maxTurns }) => maxTurns));
	if (longest > 0) add(`up to ${formatCounted(longest, 'turn')}`);
	if (turnMs !== null) add(`${formatDuration(turnMs.mean / 1000)}/turn`);
	const count = (level: string) => findings.filter((finding) => finding.level === level).length;
	if (count('error') > 0) add(formatCounted(count('error'), 'error'), 'bad');
	if (count('warning') > 0) add(formatCounted(count('warning'), 'warning'), 'notice');
	return parts;
}

/** Returns the mean sum of turn rewards per episode, over the solutions if there are any; null without turn rewards. */
function meanTurnReward({ episodes }: EnvironmentVerification): number | null {
	const gold = episodes.filter(({ policy }) => policy === 'gold');
	const sums = (gold.length > 0 ? gold : episodes).flatMap(({ turns }) => turnRewardSum(turns) ?? []);
	return sums.length === 0 ? null : sums.reduce((a, b) => a + b, 0) / sums.length;
}

function withSuccess(name: string, policy: PolicyStatistics, ...notes: string[]): string {
	const { judged, successes } = policy;
	const all = [...(judged === 0 ? [] : [`${successes} / ${judged} solved`]), ...notes];
	return `${rewardText(name, policy)}${all.length === 0 ? '' : ` (${all.join(', ')})`}`;
}

function rewardText(name: string, { mean }: PolicyStatistics): string {
	return `${name} ${mean === null ? 'no reward' : formatValue(mean)}`;
}

/** Formats the summary: `setup ok · gold 12 / 12 · random 0.08 (1 / 12 solved) · idle 0.00 · up to 8 turns · 90 µs/turn` */
export function environmentLine(verification: EnvironmentVerification): string {
	return environmentSummary(verification)
		.map(({ text }) => text)
		.join(' · ');
}

/** Returns whether the findings contain no errors. */
export function isSoundEnvironment({ findings }: EnvironmentVerification): boolean {
	return findings.every(({ level }) => level !== 'error');
}

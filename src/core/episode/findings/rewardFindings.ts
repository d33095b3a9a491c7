import type { EnvironmentFinding } from '../../../protocol/environmentVerification.ts';
import { formatValue } from '../../reward/verification/verificationSummary.ts';
import { sameReward } from '../episodeStatistics.ts';
import { turnRewardSum } from '../turnRewards.ts';
import { rows } from './errorFindings.ts';
import { type FindingRule, lineOf, type VerificationEvidence, wordsOf } from './verificationEvidence.ts';

/**
 * Reports rewards outside their range, solutions that do not earn the maximum, and rewards earned without solving the
 * task.
 */
export const rewardFindings: FindingRule = (evidence) => [
	...outOfRange(evidence),
	...failingGold(evidence),
	...effortless(evidence),
	...apartFromTotal(evidence),
];

function outOfRange(evidence: VerificationEvidence): EnvironmentFinding[] {
	const range = evidence.environment.rewardRange;
	if (range === undefined) return [];
	const [low, high] = range;
	const outside = evidence.episodes.filter(({ reward }) => reward !== null && (reward < low || reward > high));
	const [first] = outside;
	if (first === undefined) return [];
	const { getReward, rewardRange } = wordsOf(evidence);
	return [
		{
			kind: 'range',
			level: 'error',
			message: `${getReward} returned ${first.reward}, outside ${rewardRange} (${low}, ${high}) (${rows(outside.map(({ row }) => row))}).`,
			action: `Fix the reward, or ${rewardRange}.`,
			line: lineOf(evidence, 'get_reward'),
			row: first.row,
		},
	];
}

interface FailingSolution {
	readonly row: number;
	readonly reward: number;
	/** Reward that should have been earned. */
	readonly better: string;
}

/** Returns the rows whose solution does not earn the maximum. */
function failingSolutions(evidence: VerificationEvidence): FailingSolution[] {
	const best = evidence.environment.rewardRange?.[1];
	const failing: FailingSolution[] = [];
	for (const [row, reward] of evidence.gold) {
		if (best !== undefined) {
			if (reward < best - sameReward) failing.push({ row, reward, better: `the maximum is ${formatValue(best)}` });
			continue;
		}
		const rival = evidence.episodes.find((one) => one.row === row && (one.reward ?? reward) > reward + sameReward);
		if (rival !== undefined) {
			failing.push({ row, reward, better: `the ${rival.policy} policy earned ${formatValue(rival.reward as number)}` });
		}
	}
	return failing;
}

function failingGold(evidence: VerificationEvidence): EnvironmentFinding[] {
	const failing = failingSolutions(evidence);
	const [first] = failing;
	if (first === undefined) return [];
	return [
		{
			kind: 'gold-fails',
			level: 'error',
			message: `The solution for row ${first.row + 1} earns ${formatValue(first.reward)}, but ${first.better} (${rows(failing.map(({ row }) => row))}).`,
			action: `Fix ${wordsOf(evidence).getReward}, or the solution.`,
			line: lineOf(evidence, 'get_reward'),
			row: first.row,
		},
	];
}

/** A policy that does not try must earn less than the solutions, on average over rows with a working solution. */
function effortless(evidence: VerificationEvidence): EnvironmentFinding[] {
	const failing = new Set(failingSolutions(evidence).map(({ row }) => row));
	const findings: EnvironmentFinding[] = [];
	for (const policy of ['idle', 'random', 'wrong']) {
		const rivals = evidence.episodes.filter((one) => one.policy === policy && one.reward !== null);
		const pairs = rivals.flatMap(({ row, reward }) => {
			const gold = evidence.gold.get(row);
			return gold === undefined || failing.has(row) ? [] : [{ gold, reward: reward as number }];
		});
		if (pairs.length === 0) continue;
		const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
		const [earned, needed] = [mean(pairs.map(({ reward }) => reward)), mean(pairs.map(({ gold }) => gold))];
		if (earned < needed - sameReward) continue;
		findings.push({
			kind: 'no-effort',
			level: 'error',
			message: `${descriptions[policy]} earns ${formatValue(earned)} on average, as much as the solutions (${formatValue(needed)}).`,
			action: 'Give a reward only for solving the task.',
			line: lineOf(evidence, 'get_reward'),
		});
	}
	return findings;
}

const descriptions: Readonly<Record<string, string>> = {
	idle: 'A policy that does nothing',
	random: 'A policy that makes random calls',
	wrong: 'A policy that makes only invalid calls',
};

/** An episode's reward includes its turn rewards. If a solution's turns earn more, they were probably left out. */
function apartFromTotal(evidence: VerificationEvidence): EnvironmentFinding[] {
	for (const { policy, row, turns, reward } of evidence.episodes) {
		const earned = policy === 'gold' && reward !== null ? turnRewardSum(turns) : null;
		if (earned === null || earned <= (reward as number) + sameReward) continue;
		const { getReward, turnRewards } = wordsOf(evidence);
		return [
			{
				kind: 'turn-rewards',
				level: 'warning',
				message: `The turns in the solution for row ${row + 1} earn ${formatValue(earned)}, more than its reward of ${formatValue(reward as number)}.`,
				action: `${getReward} must return the reward for the whole episode, which includes ${turnRewards}.`,
				line: lineOf(evidence, 'get_reward'),
				row,
			},
		];
	}
	return [];
}

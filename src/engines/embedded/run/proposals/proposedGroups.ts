import { Failure } from '../../../../base/failure.ts';
import { passReward } from '../../../../core/curriculum/passReward.ts';
import type { Metrics } from '../../../../core/grpo/stepMetrics.ts';
import { learnabilityReward } from '../../../../core/reward/learnabilityReward.ts';
import { groupPasses } from '../groupPasses.ts';
import type { PosedProblem } from '../problemFeed.ts';
import type { Completion, ProposalKeys, Rollout, SamplingStage, ScoredGroups } from '../rollout.ts';
import { sampleCompletions, sampleGroups } from '../sampleGroups.ts';
import { scoreCompletions } from '../scoreCompletions.ts';
import type { SamplingHost } from '../stageHost.ts';
import { type ReadProposals, readProposals } from './readProposals.ts';

/**
 * Samples a generation batch in which the policy poses the problems it solves ("Absolute Zero", Zhao et al. 2025,
 * arXiv:2505.03335, section 3). The first groups are proposals, and each proposed problem then gets its own group.
 * Proposals are rewarded by `learnability` alone, and answers by all other rewards. Duplicate and invalid proposals get
 * no group, so a batch can be smaller.
 */
export async function proposedGroups(
	host: SamplingHost,
	stage: SamplingStage,
	{ invalid_reward }: ProposalKeys,
): Promise<ScoredGroups> {
	const { parts, progress } = host;
	const { recipe, source, feed, template } = parts;
	const { proposals } = source;
	if (proposals === undefined) throw noProposals(source.name);
	const size = stage.num_generations;
	const groups = stage.prompts_per_step / (1 + size);
	const asked = Array.from({ length: groups * size }, (_, i) => Math.floor(i / size));
	const prompts = Array.from({ length: groups }, (_, g) =>
		feed.pose(proposals.ask(recipe.seed, progress.generations * groups + g)),
	);
	const completions = await sampleCompletions(
		host,
		stage,
		asked.map((g) => prompts[g] as PosedProblem),
		asked.map((_, i) => `${recipe.seed}/propose/${progress.generations}/${i}`),
	);
	const read = readProposals(completions, proposals, template, (problem) => {
		const posed = feed.pose(problem);
		return posed.promptTokens.length + stage.max_completion_length <= feed.context ? posed : null;
	});
	const solved = await sampleGroups(host, stage, read.problems, 0);
	const rates = passRates(host, solved.rows, read.problems.length);
	const rewards = read.of.map((place) => {
		if (place === 'held-out') return null;
		if (place === 'invalid') return invalid_reward;
		const rate = rates[place];
		return rate === null || rate === undefined ? null : learnabilityReward(rate);
	});
	const proposed = await scoredProposals(host, completions, rewards);
	return {
		rows: [...proposed, ...solved.rows],
		failures: solved.failures,
		metrics: { ...solved.metrics, ...proposalMetrics(read, rates) },
	};
}

/** Returns the name of the reward for proposals. */
function learnabilityColumn({ recipe }: SamplingHost['parts']): string | undefined {
	return recipe.rewards.find((reward) => 'use' in reward && reward.use === 'learnability')?.name;
}

/** Returns the fraction of successful answers to each problem, or null if it is unknown. */
function passRates({ parts }: SamplingHost, rows: readonly Rollout[], problems: number): (number | null)[] {
	const own = learnabilityColumn(parts);
	const reward = passReward(parts.rewards.scorers.map(({ column }) => column).filter(({ name }) => name !== own));
	return groupPasses(rows, problems, reward ?? '').map(({ successes, count }) =>
		count === 0 ? null : successes / count,
	);
}

/** Scores proposals with `learnability` only. Other rewards judge answers, so they do not apply. */
async function scoredProposals(
	host: SamplingHost,
	completions: readonly Completion[],
	rewards: readonly (number | null)[],
): Promise<Rollout[]> {
	const none = rewards.map(() => null);
	const own = learnabilityColumn(host.parts);
	const known = Object.fromEntries(
		host.parts.rewards.scorers.map(({ column: { name } }) => [name, name === own ? rewards : none]),
	);
	const { rows } = await scoreCompletions(host, completions, known);
	return rows.map((score, i) => ({ ...score, ...(completions[i] as Completion) }));
}

function proposalMetrics({ of, problems }: ReadProposals, rates: readonly (number | null)[]): Metrics {
	const valid = of.filter((place) => place !== 'invalid').length;
	const training = of.filter((place) => typeof place === 'number').length;
	const known = rates.filter((rate) => rate !== null);
	const share = (count: number, all: number) => (all === 0 ? null : count / all);
	return {
		'proposals/valid': share(valid, of.length),
		'proposals/distinct': share(problems.length, training),
		'proposals/solved': share(
			known.reduce((sum, rate) => sum + rate, 0),
			known.length,
		),
		'proposals/learnable': share(known.filter((rate) => rate > 0 && rate < 1).length, known.length),
	};
}

function noProposals(name: string): Failure {
	return new Failure(
		'invalid',
		`The dataset "${name}" cannot check problems that the policy poses.`,
		'Use the task "addition", "arithmetic" or "countdown", or remove "proposals" from the stage.',
	);
}

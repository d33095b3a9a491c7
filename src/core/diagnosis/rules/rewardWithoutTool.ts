import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

/** Maximum number of steps whose episodes are compared. */
const steps = 10;

class RewardWithoutToolWatch implements Watch {
	readonly #facts = new RecentFacts(steps);

	stage(): void {
		this.#facts.clear();
	}

	step(facts: StepFacts): readonly RuleFinding[] | undefined {
		if (!facts.groups.some((group) => group.episodes !== undefined)) return undefined;
		this.#facts.push(facts);
		const used = { count: 0, sum: 0 };
		const unused = { count: 0, sum: 0 };
		for (const { group } of this.#facts.groups()) {
			for (const [i, episode] of (group.episodes ?? []).entries()) {
				const reward = group.reward[i] ?? null;
				if (reward === null) continue;
				const of = episode.calls > 0 ? used : unused;
				of.count++;
				of.sum += reward;
			}
		}
		if (Math.min(used.count, unused.count) < limit('freeEpisodes')) return [];
		const [withCalls, without] = [used.sum / used.count, unused.sum / unused.count];
		if (without <= 0 || without < limit('freeReward') * withCalls) return [];
		return [
			{
				level: 'warning',
				content: () => ({
					message: `Episodes without a tool call earn a mean reward of ${digits(without)}, and those with calls earn ${digits(withCalls)}, so the reward does not depend on the tools.`,
					action:
						'Check what the reward measures: score the state of the environment rather than the text of the answer, and make tasks unsolvable without the tools.',
					metrics: ['reward', 'tools/call_frequency'],
					evidence: this.#facts.evidence((group, i) => group.episodes?.[i]?.calls === 0 && (group.reward[i] ?? 0) > 0),
					cause: 'reward without the tools',
					recipe: null,
				}),
			},
		];
	}
}

export const rewardWithoutTool: Rule = {
	name: 'reward-without-tool',
	title: 'Reward without tools',
	fires: `in the last ${steps} steps with rollouts, the mean reward of episodes without tool calls is above 0 and >= \`freeReward\` x that of episodes with calls, with at least \`freeEpisodes\` episodes of each kind.`,
	silent: 'if nearly all episodes call tools, or almost none do.',
	metrics: ['reward', 'tools/call_frequency'],
	thresholds: ['freeReward', 'freeEpisodes'],
	explains: ['reward-hacking'],
	watch: () => new RewardWithoutToolWatch(),
};

import { normalizeAnswer } from '../dataset/answer.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, type RewardSample } from './rewardSample.ts';

/**
 * Returns 1 for each completion whose answer is the most frequent one among the completions for the same prompt, and 0
 * for the others: a label-free reward (Zuo et al. 2025, TTRL, arXiv:2504.16084). Answers are compared after
 * normalization. Completions without a single answer do not vote; if there is a tie, the answer that occurs first wins.
 * Returns null for a prompt with a single completion, which would always agree with itself.
 * @param samples a whole batch, with all completions for each prompt
 */
export function majorityRewards(samples: readonly RewardSample[], tags: TraceTags): (number | null)[] {
	const answers = samples.map((sample) => {
		const answer = answerOf(sample, tags);
		return answer === null || answer.trim() === '' ? null : normalizeAnswer(answer);
	});
	const groups = new Map<string, Group>();
	for (const [i, { prompt }] of samples.entries()) {
		const group = groups.get(prompt) ?? { size: 0, votes: new Map() };
		groups.set(prompt, group);
		group.size++;
		const answer = answers[i] ?? null;
		if (answer !== null) group.votes.set(answer, (group.votes.get(answer) ?? 0) + 1);
	}
	const winners = new Map([...groups].map(([prompt, { votes }]) => [prompt, mostFrequent(votes)]));
	return samples.map(({ prompt }, i) => {
		if ((groups.get(prompt)?.size ?? 0) < 2) return null;
		const answer = answers[i] ?? null;
		return answer !== null && answer === winners.get(prompt) ? 1 : 0;
	});
}

interface Group {
	size: number;
	/** Number of completions by answer, in order of first occurrence. */
	readonly votes: Map<string, number>;
}

function mostFrequent(votes: ReadonlyMap<string, number>): string | null {
	let best: string | null = null;
	for (const [answer, count] of votes) if (best === null || count > (votes.get(best) as number)) best = answer;
	return best;
}

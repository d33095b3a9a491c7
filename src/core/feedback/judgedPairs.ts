import type { Feedback, RatedCompletion } from '../../protocol/feedback.ts';

/** Returns a key for a completion's position. The key is the same for all raters. */
export const completionKey = ({ split, step, group, index }: Omit<RatedCompletion, 'completion' | 'reward'>): string =>
	`${split} ${step} ${group} ${index}`;

/** Two completions for the same prompt with a human preference. */
export interface JudgedPair {
	readonly prompt: string;
	readonly chosen: RatedCompletion;
	readonly rejected: RatedCompletion;
	/** Number of people for and against the preference. */
	readonly votes: readonly [for_: number, against: number];
	/** Difference between mean ratings from people who rated both, or null if there are none. */
	readonly margin: number | null;
}

export interface JudgedPairs {
	readonly pairs: readonly JudgedPair[];
	/** Pairs that are tied or judged equal. */
	readonly undecided: number;
}

interface Tally {
	readonly prompt: string;
	readonly first: RatedCompletion;
	readonly second: RatedCompletion;
	/** For each rater, the difference in favor of the first completion. Direct comparisons override ratings. */
	readonly ratings: Map<string, number>;
	readonly preferences: Map<string, number>;
}

/** Maximum number of completions per prompt to pair with each other. */
const maxPerPrompt = 256;

/**
 * Derives preference pairs from human feedback, using direct comparisons, or ratings if there are no comparisons. Each
 * person has one vote, and the majority decides. Completions are paired if their prompts have identical text.
 * @param feedback in any order
 */
export function judgedPairs(feedback: readonly Feedback[]): JudgedPairs {
	const tallies = new Map<string, Tally>();
	const tally = (prompt: string, a: RatedCompletion, b: RatedCompletion): [Tally, 1 | -1] => {
		const [first, second, sign] = completionKey(a) < completionKey(b) ? ([a, b, 1] as const) : ([b, a, -1] as const);
		const key = `${completionKey(first)}|${completionKey(second)}`;
		let found = tallies.get(key);
		if (found === undefined) {
			found = { prompt, first, second, ratings: new Map(), preferences: new Map() };
			tallies.set(key, found);
		}
		return [found, sign];
	};
	const rated = new Map<string, { rating: number; of: RatedCompletion; prompt: string; rater: string }[]>();
	for (const one of feedback) {
		if (one.kind === 'rating') {
			if (one.rating === null) continue;
			const key = JSON.stringify([one.rater, one.prompt]);
			const list = rated.get(key) ?? [];
			if (list.length < maxPerPrompt) {
				list.push({ rating: one.rating, of: completionOf(one), prompt: one.prompt, rater: one.rater });
			}
			rated.set(key, list);
		} else if (one.choice !== null) {
			const [found, sign] = tally(one.prompt, one.a, one.b);
			found.preferences.set(one.rater, one.choice === 'equal' ? 0 : one.choice === 'a' ? sign : -sign);
		}
	}
	for (const list of rated.values()) {
		for (const [i, a] of list.entries()) {
			for (const b of list.slice(i + 1)) {
				const [found, sign] = tally(a.prompt, a.of, b.of);
				found.ratings.set(a.rater, sign * (a.rating - b.rating));
			}
		}
	}
	const pairs: JudgedPair[] = [];
	let undecided = 0;
	for (const { prompt, first, second, ratings, preferences } of tallies.values()) {
		if (first.completion === second.completion) continue;
		const votes = new Map([...ratings, ...preferences]);
		const forFirst = [...votes.values()].filter((vote) => vote > 0).length;
		const against = [...votes.values()].filter((vote) => vote < 0).length;
		if (forFirst === against) {
			undecided++;
			continue;
		}
		const [chosen, rejected] = forFirst > against ? [first, second] : [second, first];
		const mean = [...ratings.values()].reduce((sum, vote) => sum + vote, 0) / ratings.size;
		pairs.push({
			prompt,
			chosen,
			rejected,
			votes: [Math.max(forFirst, against), Math.min(forFirst, against)],
			margin: ratings.size === 0 ? null : forFirst > against ? mean : -mean,
		});
	}
	return { pairs, undecided };
}

/** Returns an export line: TRL's fields plus the number of votes for and against. */
export const preferenceLine = ({ prompt, chosen, rejected, votes }: JudgedPair) => ({
	prompt,
	chosen: chosen.completion,
	rejected: rejected.completion,
	votes,
});

export function completionOf({ split, step, group, index, completion, reward }: RatedCompletion): RatedCompletion {
	return { split, step, group, index, completion, reward };
}

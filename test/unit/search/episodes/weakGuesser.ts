import { Random } from '../../../../src/base/random.ts';
import type { GenerateRequest, Generation } from '../../../../src/core/search/policy.ts';
import type { OpenPolicy } from '../../../../src/policies/openedPolicy.ts';
import { ScriptedPolicy } from '../../../../src/policies/scripted/scriptedPolicy.ts';

/** Number guessing from 1 to 1000, with partial credit for the numbers that the hints have excluded. */
export const guessing = `
type integer = number;

export class Guess {
	static readonly rewardRange = [0, 1];
	number = 0;
	low = 1;
	high = 1000;
	done = false;

	reset({ number }: { number: integer }): string {
		this.number = number;
		this.low = 1;
		this.high = 1000;
		this.done = false;
		return ' 1-1000';
	}

	/**
	 * Guesses the number.
	 *
	 * @param number Your guess.
	 * @returns A hint.
	 */
	guess(number: integer): string {
		if (this.done) throw new Error('The game is over.');
		this.done = number === this.number;
		if (this.done) return 'yes';
		if (number < this.number) this.low = Math.max(this.low, number + 1);
		else this.high = Math.min(this.high, number - 1);
		return number < this.number ? 'up' : 'down';
	}

	getReward(): number {
		return this.done ? 1 : 0.5 * (1 - Math.log2(this.high - this.low + 1) / 10);
	}
}
`;

/**
 * A policy that has not learned much: half of its guesses ignore the hints. The others are random numbers that the hints
 * have not excluded.
 */
export function weakGuesser(): OpenPolicy {
	const scripted = new ScriptedPolicy({ rules: [] }, 'weak');
	const guess = ({ prefix, seed }: GenerateRequest): Generation => {
		const random = Random.of(seed, 'guess');
		let [low, high] = [1, 1000];
		for (const [, number, hint] of prefix.matchAll(/guess (\d+)<\/call><result>(up|down)/g)) {
			if (hint === 'up') low = Math.max(low, Number(number) + 1);
			else high = Math.min(high, Number(number) - 1);
		}
		if (random.next() < 0.5) [low, high] = [1, 1000];
		const text = `<call>guess ${low + random.int(high - low + 1)}</call>`;
		return { text, finish: 'end', tokens: 10, promptTokens: null, logprob: null, detail: null };
	};
	return {
		name: 'weak',
		model: 'weak',
		capabilities: scripted.capabilities,
		tags: null,
		context: null,
		totals: scripted.totals,
		notes: [],
		episodes: scripted.episodes,
		dispose: () => undefined,
		bind: () => ({
			name: 'weak',
			capabilities: scripted.capabilities,
			generate: async (requests) => requests.map((request) => [guess(request)]),
		}),
	};
}

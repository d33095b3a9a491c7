/** The environment in guessingEnvironment.ts, in TypeScript. */
export const guessingScript = `
export class Guess {
	static readonly rewardRange = [0, 1];
	private number: integer | null = null;
	tries = 0;
	done = false;

	reset({ number = 7 }: { number?: integer }): string {
		this.number = number;
		this.tries = 0;
		this.done = false;
		return \` Guess my number from 1 to \${number * 2}.\`;
	}

	/**
	 * Guesses the number.
	 *
	 * @param value Your guess.
	 * @returns A hint.
	 */
	guess(value: integer): string {
		if (this.done) throw new Error('The game is over.');
		this.tries += 1;
		this.done = value === this.number;
		return this.done ? 'correct' : value < (this.number ?? 0) ? 'higher' : 'lower';
	}

	getReward(): number {
		return this.done ? 1 : 0;
	}
}

type integer = number;
`;

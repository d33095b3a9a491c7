// @dataset __NAME__.rows.jsonl
// Number guessing with hints: seven guesses are enough for 1 to 100, but only for a model that halves the range.
//
// An environment is an exported class. Trainers create instances without arguments, call reset with the columns of a
// dataset row, offer all other public methods to the model as tools, and call getReward when the episode is over. A
// tool's types and comments describe it to the model.

/** TypeScript has no integer type; a type with this name becomes an integer in the tool's schema. */
type integer = number;

interface Row {
	readonly number: integer;
	readonly high: integer;
	readonly guesses: integer;
}

export class __CLASS__ {
	/** Smallest and largest reward; verification reports values outside this range. */
	static readonly rewardRange = [0, 1];

	private number = 0;
	left = 0;
	won = false;
	done = false;

	reset({ number, high = 100, guesses = 7 }: Row): string {
		// Everything comes from the row: the completions of a group must face the same number. Instances are reused, so set
		// every property here.
		this.number = number;
		this.left = guesses;
		this.won = false;
		this.done = false;
		return `I am thinking of a number from 1 to ${high}. You have ${guesses} guesses.`;
	}

	/**
	 * Guesses the number.
	 *
	 * @param number Your guess.
	 * @returns Whether the number is higher or lower than your guess.
	 */
	guess(number: integer): string {
		// The error message becomes the tool's result, so the model can react to it.
		if (this.done) throw new Error('The game is over.');
		this.left -= 1;
		this.won = number === this.number;
		this.done = this.won || this.left === 0;
		if (this.won) return 'Correct!';
		const hint = number < this.number ? 'higher' : 'lower';
		return `The number is ${hint}. ${this.done ? 'No guesses left.' : `${this.left} left.`}`;
	}

	getReward(): number {
		return this.won ? 1 : 0;
	}
}

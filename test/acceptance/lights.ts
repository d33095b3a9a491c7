/** A game whose turns have rewards: each turn shows a light, and one of the buttons is correct. */
export interface LightsGame {
	/** Number of turns. */
	readonly turns: number;
	/** The correct button for each light. */
	readonly right: Readonly<Record<string, string>>;
	/** Result of the last press. */
	readonly end: string;
}

/** Returns the game as an environment file, whose rows are in lights.rows.jsonl. */
export function lightsEnvironment({ turns, right, end }: LightsGame): string {
	const buttons = Object.values(right)
		.toSorted()
		.map((button) => `'${button}'`);
	return `// @dataset lights.rows.jsonl
const right: Readonly<Record<string, string>> = ${JSON.stringify(right)};

export class Lights {
	static readonly rewardRange = [0, ${turns}];
	turnRewards: number[] = [];
	done = false;
	private lights = '';

	reset({ lights }: { lights: string }): string {
		this.lights = lights;
		this.turnRewards = [];
		this.done = false;
		return lights.charAt(0);
	}

	/**
	 * Presses a button.
	 *
	 * @param button The button.
	 * @returns The next light.
	 */
	press(button: ${buttons.join(' | ')}): string {
		if (this.done) throw new Error('over');
		const light = this.lights.charAt(this.turnRewards.length);
		this.turnRewards.push(right[light] === button ? 1 : 0);
		this.done = this.turnRewards.length === this.lights.length;
		return this.done ? '${end}' : this.lights.charAt(this.turnRewards.length);
	}

	getReward(): number {
		return this.turnRewards.reduce((sum, reward) => sum + reward, 0);
	}
}
`;
}

/** Returns a dataset row with its solution. */
export function lightsRow({ right }: LightsGame, name: string, lights: string) {
	const calls = [...lights].map((light) => ({ name: 'press', arguments: { button: right[light] } }));
	return { prompt: `${name}: `, answer: null, lights, calls };
}

/** Returns the part of a recipe that trains the game. */
export const lightsRecipe = ({ turns }: LightsGame, heldOutShare: number) => ({
	...{ workers: 1, device: 'cpu', whenBusy: 'share' },
	dataset: { path: 'lights.rows.jsonl', heldOutShare },
	template: { prompt: '{prompt}', think: null, answer: null },
	environment: { file: 'lights.env.ts', maxTurns: turns },
	rewards: [{ use: 'environment' }],
});

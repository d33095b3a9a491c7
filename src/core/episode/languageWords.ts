import type { EnvironmentLanguage } from './environmentLanguage.ts';

/** Names and advice that differ between languages. */
export interface LanguageWords {
	readonly getReward: string;
	readonly rewardRange: string;
	readonly turnRewards: string;
	readonly none: string;
	readonly false: string;
	readonly describeTool: string;
	readonly typeArguments: string;
	readonly addTool: string;
	readonly raise: string;
	readonly seed: string;
	readonly ownState: string;
}

export const languageWords: Readonly<Record<EnvironmentLanguage, LanguageWords>> = {
	python: {
		getReward: 'get_reward',
		rewardRange: 'reward_range',
		turnRewards: 'turn_rewards',
		none: 'None',
		false: 'False',
		describeTool: 'Write a docstring with an "Args:" section that describes every argument.',
		typeArguments: 'Annotate every argument with a type.',
		addTool: 'Add a typed method with a docstring; it becomes a tool.',
		raise: 'Raise an exception in tools once the task is over, and set the done attribute.',
		seed: 'Derive all randomness from the row, for example with random.Random(seed) and a "seed" column.',
		ownState: 'Store state in attributes of self, and create lists and dictionaries in reset, not in the class.',
	},
	typescript: {
		getReward: 'getReward',
		rewardRange: 'rewardRange',
		turnRewards: 'turnRewards',
		none: 'null',
		false: 'false',
		describeTool: 'Write a JSDoc comment with a @param tag for every argument.',
		typeArguments: 'Give every argument a type that JSON can represent.',
		addTool: 'Add a typed method with a JSDoc comment; it becomes a tool.',
		raise: 'Throw an error in tools once the task is over, and set the done property.',
		seed: 'Derive all randomness from the row, for example with a random number generator seeded from a "seed" column.',
		ownState:
			'Store state in properties of this, and create lists and objects in reset, not in the class or the module.',
	},
};

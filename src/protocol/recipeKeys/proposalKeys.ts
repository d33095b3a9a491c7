import { described, real } from './recipeFields.ts';
import { bareKey, group, key } from './recipeKey.ts';

/** Key for stages in which the policy can pose its own problems. */
export const proposalKeys = {
	proposals: bareKey(
		described(
			group({
				invalid_reward: key(
					real('Value of the "learnability" reward for a proposal that is not a valid problem.', -100, 0),
					-0.5,
				),
			}),
			'Let the policy pose the problems that it solves, and reward those that it solves only some of the time ("Absolute Zero"). Requires the "learnability" reward, and "prompts_per_step" must be a multiple of 1 + "num_generations".',
		),
		{
			lacking: {
				pytorch: {
					say: 'TRL reads prompts from the data and cannot train on problems that the policy poses. Remove "proposals", or set "engine": "embedded".',
				},
			},
		},
	),
};

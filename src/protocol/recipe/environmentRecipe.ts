import { count, real, text } from './recipeFields.ts';
import { group, key, place } from './recipeKey.ts';

/** The recipe's `environment`: what the policy acts in, using tools over several turns. */
export const environmentSchema = group({
	file: place('file', text('Environment file (*.env.py or *.env.ts), relative to the recipe.')),
	maxTurns: key(count('Max number of turns with tool calls per episode.', 1, 10_000), null, {
		or: 'limited only by max_completion_length',
	}),
	turnSeconds: key(real('Time limit in seconds for each reset, tool call and reward.', 0.1, 86_400), 10),
});

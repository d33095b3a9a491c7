import * as v from 'valibot';
import { count, described, real, text } from './recipeFields.ts';
import { bareKey, group, key, place } from './recipeKey.ts';

/** The recipe's `environment`, where the policy uses tools over several turns. */
export const environmentSchema = group({
	file: bareKey(place('file', text('Environment file (*.env.py or *.env.ts), relative to the recipe.'))),
	package: bareKey(
		place(
			'package',
			text(
				'verifiers package, by name or as a folder such as "./my_env", or an OpenEnv folder, relative to the recipe.',
			),
		),
	),
	server: bareKey(text('Address of an OpenEnv server, such as "http://localhost:8000".')),
	arguments: bareKey(
		described(
			v.record(v.string(), v.unknown(), 'must be an object'),
			'Arguments for a package or server: a verifiers taskset\'s configuration, or `{"reward": "last"}` for OpenEnv.',
		),
	),
	maxTurns: key(count('Max number of turns with tool calls per episode.', 1, 10_000), null, {
		or: 'limited only by max_completion_length',
	}),
	turnSeconds: key(real('Time limit in seconds for each reset, tool call and reward.', 0.1, 86_400), 10),
});

import { Failure } from '../../base/failure.ts';
import type { EpisodeBranch } from '../../protocol/episodeMessages.ts';

/**
 * Converts an episode to a line for NAME.episodes.jsonl that expects the observed results. Truncated text matches
 * anything. Fails with `invalid` if the episode failed or was not played.
 * @param name display name; empty for the default
 */
export function labelOfBranch({ columns, reset, turns, reward, error }: EpisodeBranch, name: string): object {
	if (error !== undefined || reset === null) {
		throw new Failure('invalid', 'A failed episode cannot be saved as a labeled episode.');
	}
	const calls = turns.map((turn) => {
		const made = turn.calls.map((call) => ({ name: call.name, arguments: call.arguments ?? null }));
		return made.length === 1 ? made[0] : made;
	});
	const results = turns.flatMap((turn) =>
		turn.results.map(({ content, rest }) => (rest === undefined ? content : null)),
	);
	const done = turns.at(-1)?.done ?? null;
	const turnRewards = turns.map((turn) => turn.reward ?? null);
	return {
		...(name === '' ? {} : { name }),
		row: columns,
		calls,
		expect: {
			...(reward === null ? {} : { reward: reward.value }),
			...(turnRewards.every((one) => one === null) ? {} : { turnRewards }),
			...(reset.rest === undefined ? { observation: reset.observation } : {}),
			...(results.length === 0 ? {} : { results }),
			...(done === null ? {} : { done }),
		},
	};
}

import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { ResolvedReward } from '../core/recipe/resolvedRecipe.ts';
import type { RewardDescription } from '../protocol/rewardHost.ts';

/** A reward column in a run's metrics (`rewards/<name>/mean`) and rollouts. */
export interface RewardColumn {
	/** Name, unique within the run. */
	readonly name: string;
	readonly weight: number;
	/** File name in the recipe; null for a built-in reward. */
	readonly file: string | null;
	/** Name of the reward in its file, or of the built-in entry. */
	readonly reward: string;
	readonly batchOnly: boolean;
	/** Required data: parameters of a Python reward that have no default. */
	readonly required: string[];
}

/** Returns `brevity` for `rewards/brevity.reward.py`. */
function stem(file: string): string {
	return basename(file).replace(/(?:\.reward)?\.[^.]+$/, '');
}

/**
 * Returns the columns for a recipe's rewards, in order. A file entry without a name includes all rewards in the file.
 * If an earlier entry has taken a name, the column is called `<file>.<name>`, with a number appended if that is taken
 * too. The weight is the entry's own if set, otherwise the one suggested by the reward if any, otherwise 1.
 *
 * @param described rewards in each file that the recipe uses
 * @throws `invalid` for a name that is not in its file, or for a reward listed in two entries
 */
export function rewardColumns(
	rewards: readonly ResolvedReward[],
	described: ReadonlyMap<string, readonly RewardDescription[]>,
): RewardColumn[] {
	const columns: RewardColumn[] = [];
	// The recipe has already checked that names of built-in rewards are unique.
	const taken = new Set(rewards.flatMap((reward) => ('use' in reward ? [reward.name] : [])));
	const free = (name: string, file: string) => {
		const long = `${stem(file)}.${name}`;
		for (let n = 0; ; n++) {
			const candidate = n === 0 ? name : n === 1 ? long : `${long}.${n}`;
			if (taken.has(candidate)) continue;
			taken.add(candidate);
			return candidate;
		}
	};
	for (const reward of rewards) {
		if ('use' in reward) {
			const { name, weight } = reward;
			columns.push({ name, weight, file: null, reward: name, batchOnly: false, required: [] });
			continue;
		}
		const { file } = reward;
		const all = described.get(file) ?? [];
		const named = all.filter(({ name }) => reward.name === null || name === reward.name);
		if (named.length === 0) {
			throw new Failure(
				'invalid',
				`Reward file ${file} has no reward "${reward.name}". Available: ${all.map(({ name }) => name).join(', ')}.`,
				'Fix "name" in the recipe.',
			);
		}
		for (const { name, weight, batchOnly, required } of named) {
			if (columns.some((column) => column.file === file && column.reward === name)) {
				throw new Failure(
					'invalid',
					`Reward "${name}" from ${file} is listed twice.`,
					'Combine the weights in a single "rewards" entry.',
				);
			}
			columns.push({
				name: free(name, file),
				weight: reward.weight ?? weight ?? 1,
				file,
				reward: name,
				batchOnly,
				required,
			});
		}
	}
	return columns;
}

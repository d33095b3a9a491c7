import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { ResolvedReward } from '../core/recipe/resolvedRecipe.ts';
import type { RewardDescription } from '../protocol/rewardHost.ts';

/** One column of a run's rewards: in metrics (`rewards/<name>/mean`) and in rollouts. */
export interface RewardColumn {
	/** Unique in the run. */
	readonly name: string;
	readonly weight: number;
	/** As the recipe names the file; null: a built-in reward. */
	readonly file: string | null;
	/** Its name in its file, or the built-in entry's. */
	readonly reward: string;
	readonly batchOnly: boolean;
	/** Data that it cannot do without: parameters of a Python reward that have no default. */
	readonly required: string[];
}

/** `brevity` of `rewards/brevity.reward.py`. */
function stem(file: string): string {
	return basename(file).replace(/(?:\.reward)?\.[^.]+$/, '');
}

/**
 * The columns of a recipe's rewards, in its order. An entry of a file without a name stands for all of its rewards. A name
 * that an entry before has taken becomes `<file>.<name>`, and gets a number where that is taken, too. The weight is the
 * entry's, else what the reward proposes, else 1.
 *
 * @param described the rewards of each file that the recipe names
 * @throws `invalid` for a name that is not in its file, or for a reward that two entries name
 */
export function rewardColumns(
	rewards: readonly ResolvedReward[],
	described: ReadonlyMap<string, readonly RewardDescription[]>,
): RewardColumn[] {
	const columns: RewardColumn[] = [];
	// The recipe has seen to it that those of built-in rewards are unique.
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
				`The reward file ${file} has no reward "${reward.name}"; it has ${all.map(({ name }) => name).join(', ')}.`,
				'Fix "name" in the recipe.',
			);
		}
		for (const { name, weight, batchOnly, required } of named) {
			if (columns.some((column) => column.file === file && column.reward === name)) {
				throw new Failure(
					'invalid',
					`The reward "${name}" of ${file} is listed twice.`,
					'Combine its weights in one entry of "rewards".',
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

import { basename } from 'node:path';
import { importFile, LoadFault, sourceOf } from './importFile.ts';
import type { LoadedReward } from './loadedReward.ts';
import type { LocalImports } from './localImports.ts';

/** Maximum number of rows in flight for an asynchronous reward in a file. */
const concurrency = 16;

/**
 * Loads the rewards from a file: all exported functions, with the default export named after the file.
 * @param own folder that contains this program
 * @throws LoadFault
 */
export async function loadRewardFile(file: string, imports: LocalImports, own: string): Promise<LoadedReward[]> {
	const exported = await importFile(file, 'reward', imports, own);
	const rewards = rewardsOf(exported, file);
	if (rewards.length === 0) {
		throw new LoadFault({
			reason: 'invalid',
			message: 'The file does not export any functions, so it has no rewards',
			action: 'Export a function: `export const brevity: Reward = ({ completion }) => 1 / completion.length;`',
			file,
			line: 1,
		});
	}
	return rewards;
}

type RewardFunction = ((input: unknown) => unknown) & { readonly [property: string]: unknown };

function rewardsOf(exported: Record<string, unknown>, file: string): LoadedReward[] {
	const source = sourceOf(file);
	const found: LoadedReward[] = [];
	const seen = new Set<unknown>();
	// Process the default export last, because it can be the same function as a named export.
	const names = Object.keys(exported).sort((a, b) => Number(a === 'default') - Number(b === 'default'));
	for (const exportName of names) {
		const value = exported[exportName];
		if (exportName === 'module.exports' || typeof value !== 'function' || seen.has(value) || isClass(value)) continue;
		seen.add(value);
		const call = value as RewardFunction;
		const { weight } = call;
		found.push({
			description: {
				name: exportName === 'default' ? rewardNameOf(file) : exportName,
				...(typeof weight === 'number' && Number.isFinite(weight) ? { weight } : {}),
				parameters: [],
				required: [],
				batchOnly: call.batchOnly === true,
				location: source?.locationOf(exportName) ?? null,
			},
			form: call.batch === true ? 'batch' : 'row',
			call: (input) => call(input),
			concurrency,
		});
	}
	const line = ({ description }: LoadedReward) => description.location?.line ?? Number.MAX_SAFE_INTEGER;
	return found.sort((a, b) => line(a) - line(b));
}

/** Returns the reward name for a file, such as `brevity` for `brevity.reward.ts`. */
function rewardNameOf(file: string): string {
	return basename(file).replace(/(?:\.reward)?\.[^.]+$/, '');
}

function isClass(value: object): boolean {
	return /^class\b/.test(Function.prototype.toString.call(value));
}

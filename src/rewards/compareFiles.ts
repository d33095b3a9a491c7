import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { caseReward } from '../core/reward/verification/labeledCase.ts';
import type { Comparison } from '../protocol/comparison.ts';
import { type ComparedSide, type CompareRequest, compareRewards } from './compareRewards.ts';
import { copyRevision } from './gitRevision.ts';
import { findRewardData } from './rewardData.ts';
import type { RewardRunner, RewardSource } from './rewardRunner.ts';

export interface CompareFilesRequest extends Omit<CompareRequest, 'before' | 'after'> {
	/** Opens a reward. See `RewardHosts.open`. */
	readonly open: (source: RewardSource) => RewardRunner;
	/** Absolute path to the reward file. */
	readonly file: string;
	/** Either a committed version of the file, used as the "before" side, or another file, used as the "after" side. */
	readonly against: { readonly revision: string } | { readonly file: string };
	/** Name of the reward in both files. Default: the reward named after the file, or the first one if there is none. */
	readonly reward?: string;
	/** Folders that are searched for recipes. */
	readonly folders: readonly string[];
	/** Returns a file's display name. Default: its base name. */
	readonly label?: (file: string) => string;
}

/**
 * Compares a reward file with its committed version or with another file on a run's recorded rollouts. Fails with the
 * same errors as `compareRewards` and `copyRevision`, and with `invalid` if a file does not contain the reward.
 */
export async function compareFiles(request: CompareFilesRequest): Promise<Comparison> {
	const { open, file, against, reward, folders, label = basename, ...rest } = request;
	const cleanups: (() => unknown)[] = [];
	const side = async (path: string, original: string, name: string): Promise<ComparedSide> => {
		// A copied revision has no recipe nearby, so take the context from the original file.
		const { context } = await findRewardData({ file: original, folders });
		const runner = open({ file: path, context });
		cleanups.push(() => runner.dispose());
		const names = (await runner.describe(request.signal)).map((one) => one.name);
		const chosen = reward ?? caseReward(basename(original), names) ?? '';
		if (!names.includes(chosen)) {
			throw new Failure('invalid', `${name} has no reward "${chosen}".`, `Available rewards: ${names.join(', ')}.`);
		}
		return { label: names.length === 1 ? name : `${name}: ${chosen}`, runner, reward: chosen };
	};
	try {
		if ('file' in against) {
			const before = await side(file, file, label(file));
			return await compareRewards({
				...rest,
				before,
				after: await side(against.file, against.file, label(against.file)),
			});
		}
		const copy = await copyRevision(file, {
			revision: against.revision,
			...(request.signal === undefined ? {} : { signal: request.signal }),
		});
		cleanups.push(() => copy.dispose());
		const before = await side(copy.file, file, copy.label);
		const after = await side(file, file, copy.unchanged ? 'working copy (unchanged)' : 'working copy');
		return await compareRewards({ ...rest, before, after });
	} finally {
		for (const cleanup of cleanups.reverse()) await cleanup();
	}
}

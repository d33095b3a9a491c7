import process from 'node:process';
import { rewardHostFolder } from './rewardHostFolder.ts';
import { RewardHosts } from './rewardHosts.ts';
import { findRewardPrograms } from './rewardPrograms.ts';

/**
 * Reward hosts of a program without an editor: the engine, the command line. Node is the one that runs this; Python is
 * what REASONING_LAB_PYTHON names, else the one on PATH.
 *
 * @param python false: no Python reward is needed, so none is looked for; a text: the program to use
 */
export async function openRewardHosts({ python = true }: { python?: boolean | string } = {}): Promise<RewardHosts> {
	const chosen = typeof python === 'string' ? python : (process.env.REASONING_LAB_PYTHON ?? null);
	const programs = python
		? await findRewardPrograms({ python: chosen })
		: { node: process.execPath, nodeEnvironment: {}, python: chosen ?? 'python3' };
	return new RewardHosts(programs, { folder: rewardHostFolder() });
}

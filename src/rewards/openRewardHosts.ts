import process from 'node:process';
import { rewardHostFolder } from './rewardHostFolder.ts';
import { RewardHosts } from './rewardHosts.ts';
import { findRewardPrograms } from './rewardPrograms.ts';

/**
 * Opens reward hosts for a program that runs without an editor, such as the engine or the command line. The Node
 * executable is the one that runs this program. The Python interpreter is REASONING_LAB_PYTHON or, if that is not set,
 * the one on the PATH.
 *
 * @param python false if no Python rewards are needed, in which case Python is not searched for; a string specifies the
 * program to use
 */
export async function openRewardHosts({ python = true }: { python?: boolean | string } = {}): Promise<RewardHosts> {
	const chosen = typeof python === 'string' ? python : (process.env.REASONING_LAB_PYTHON ?? null);
	const programs = python
		? await findRewardPrograms({ python: chosen })
		: { node: process.execPath, nodeEnvironment: {}, python: chosen ?? 'python3' };
	return new RewardHosts(programs, { folder: rewardHostFolder() });
}

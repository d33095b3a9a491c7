// @reaches rewardHost rewardPython
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after } from 'node:test';
import { type EnvironmentOptions, EnvironmentRunner } from '../../../src/episodes/environmentRunner.ts';
import type { RewardHosts } from '../../../src/rewards/rewardHosts.ts';
import { openHosts, rewardFolder } from '../rewards/hostFixtures.ts';

const runners: EnvironmentRunner[] = [];
after(() => {
	for (const runner of runners) runner.dispose();
});

let hosts: Promise<RewardHosts> | undefined;
let count = 0;

/** Writes an environment file to a new folder and opens it with hosts that the test file shares. */
export async function openEnvironment(
	text: string,
	options: EnvironmentOptions & { readonly name?: string; readonly neighbors?: Readonly<Record<string, string>> } = {},
): Promise<EnvironmentRunner> {
	const folder = await rewardFolder();
	const file = join(folder, options.name ?? `made${count++}.env.py`);
	for (const [name, content] of Object.entries(options.neighbors ?? {})) await writeFile(join(folder, name), content);
	await writeFile(file, text);
	hosts ??= openHosts();
	const runner = new EnvironmentRunner(await hosts, file, options);
	runners.push(runner);
	return runner;
}

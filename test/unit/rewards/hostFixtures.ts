// @reaches rewardHost rewardPython
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import type { RewardContext } from '../../../src/protocol/rewardHost.ts';
import type { ScoreRow } from '../../../src/protocol/scorer.ts';
import { RewardHosts, type RewardHostsOptions } from '../../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../../src/rewards/rewardPrograms.ts';
import type { RewardLimits, RewardPrograms, RewardRunner } from '../../../src/rewards/rewardRunner.ts';
import { builtHostFolder } from '../../support/programs.ts';

// Holds only copies of the host programs, nothing from the user.
const runtime = mkdtempSync(join(tmpdir(), 'rlh-'));
mkdirSync(join(runtime, 'x'), { mode: 0o700 });
process.env.XDG_RUNTIME_DIR = join(runtime, 'x');
process.on('exit', () => rmSync(runtime, { recursive: true, force: true }));

const opened: RewardHosts[] = [];
const folders: string[] = [];
after(async () => {
	for (const hosts of opened) hosts.dispose();
	await Promise.all(opened.map((hosts) => hosts.closed()));
	for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

export const context: RewardContext = {
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	task: null,
	folder: '',
};

let programs: Promise<RewardPrograms> | undefined;

/** Opens reward hosts for a test file and closes them afterwards. */
export async function openHosts(options: Partial<RewardHostsOptions> = {}): Promise<RewardHosts> {
	programs ??= findRewardPrograms();
	const hosts = new RewardHosts(await programs, { folder: builtHostFolder(), ...options });
	opened.push(hosts);
	return hosts;
}

/** Creates a temporary folder for reward files, removed after the test file. */
export async function rewardFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'rlr-'));
	folders.push(folder);
	return folder;
}

let count = 0;

/** Writes a reward file and its neighbors to a new folder and opens it. */
export async function openReward(
	hosts: RewardHosts,
	folder: string,
	name: string,
	text: string,
	limits: Partial<RewardLimits> = {},
	neighbors: Readonly<Record<string, string>> = {},
): Promise<RewardRunner & { readonly file: string }> {
	const file = join(folder, String(count++), name);
	for (const [path, content] of Object.entries({ [name]: text, ...neighbors })) {
		await mkdir(dirname(join(dirname(file), path)), { recursive: true });
		await writeFile(join(dirname(file), path), content);
	}
	return Object.assign(hosts.open({ file, context }, limits), { file });
}

/** Builds rows with completion `<think>..</think><answer>i</answer>` and gold answer i. */
export function rowsOf(n: number, columns: (i: number) => Record<string, unknown> = () => ({})): ScoreRow[] {
	return Array.from({ length: n }, (_, i) => ({
		prompt: `${i} + 0 = `,
		completion: `<think>${'x'.repeat(i)}</think><answer>${i}</answer>`,
		answer: String(i),
		row: { answer: String(i), ...columns(i) },
		truncated: false,
	}));
}

/** Lists processes on this machine whose environment or command line contains the text. */
export async function processesWith(text: string): Promise<number[]> {
	const found: number[] = [];
	for (const pid of await readdir('/proc')) {
		if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
		for (const part of ['environ', 'cmdline']) {
			const content = await readFile(`/proc/${pid}/${part}`, 'latin1').catch(() => '');
			if (content.includes(text)) {
				found.push(Number(pid));
				break;
			}
		}
	}
	return found;
}

/** Waits until a condition is true; fails after a generous timeout. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
	const end = Date.now() + 60_000;
	while (!(await condition())) {
		assert.ok(Date.now() < end, `never came true: ${condition}`);
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

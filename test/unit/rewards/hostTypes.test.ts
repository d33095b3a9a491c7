import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { root } from '../../scripts/paths.ts';
import { openHosts, openReward, rewardFolder, rowsOf } from './hostFixtures.ts';

const execute = promisify(execFile);

const reward = `import type { BatchReward, Reward, Sample } from 'reasoning-lab';

export const brevity: Reward = ({ completion }) => Math.min(1, 20 / completion.length);
brevity.weight = 0.1;

export const thinks: Reward = async ({ trace, truncated }) => {
	if (trace.think === null) return null;
	return truncated ? 0 : trace.faults.filter(({ reason }) => reason === 'outside').length;
};

export const level: Reward<{ level: number }> = ({ row }) => row.level / 2;

export function right({ answer, trace, messages }: Sample): number {
	return messages === undefined && trace.answer === answer ? 1 : 0;
}

export const rank: BatchReward = Object.assign(
	(samples: readonly Sample[]) => samples.map(({ completion }) => completion.length),
	{ batch: true as const, batchOnly: true, weight: 0.5 },
);

// @ts-expect-error a text is no reward
const text: Reward = () => '1';
// @ts-expect-error nor is a boolean
const flag: Reward = () => true;
// @ts-expect-error a return is missing
const nothing: Reward = ({ completion }) => {
	if (completion === '') return 1;
};
// @ts-expect-error unknown field
const field: Reward = ({ completon }) => 1;
// @ts-expect-error a batch is marked as one
const unmarked: BatchReward = (samples) => samples.map(() => 1);
// @ts-expect-error samples are not to be changed
const writes: Reward = (sample) => { sample.completion = ''; return 1; };
`;

/** Compares the values rewards receive at run time with the published types. */
const conformance = `import type * as author from 'reasoning-lab';
import type { Trace } from ${JSON.stringify(join(root, 'src/core/trace/trace.ts'))};
import type { RewardSample } from ${JSON.stringify(join(root, 'src/core/reward/rewardSample.ts'))};

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
export const trace: Same<author.Trace, Trace> = true;
export const sample: Same<author.Sample, RewardSample> = true;
`;

test('the published types accept a reward file, reject invalid ones, and match the run-time values', async () => {
	const folder = await rewardFolder();
	await cp(join(root, 'media/types/reasoning-lab.d.ts'), join(folder, 'reasoning-lab.d.ts'));
	await writeFile(join(folder, 'sample.reward.ts'), reward);
	await writeFile(join(folder, 'conformance.ts'), conformance);
	const options = {
		compilerOptions: {
			strict: true,
			noEmit: true,
			target: 'esnext',
			module: 'nodenext',
			allowImportingTsExtensions: true,
			erasableSyntaxOnly: true,
			types: [],
		},
		include: ['*.ts'],
	};
	await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
	const compiler = join(root, 'node_modules/typescript/bin/tsc');
	const { stdout } = await execute(process.execPath, [compiler, '-p', folder]).catch((error) => error);
	assert.equal(stdout, '');

	const hosts = await openHosts();
	const runner = await openReward(
		hosts,
		folder,
		'sample.reward.ts',
		await readFile(join(folder, 'sample.reward.ts'), 'utf8'),
	);
	assert.deepEqual(
		(await runner.describe()).map(({ name, weight, batchOnly }) => [name, weight, batchOnly]),
		[
			['brevity', 0.1, false],
			['thinks', undefined, false],
			['level', undefined, false],
			['right', undefined, false],
			['rank', 0.5, true],
		],
	);
	assert.deepEqual((await runner.score('right', rowsOf(2))).values, [1, 1]);
});

test('an editor that opens only a template, without a tsconfig.json, resolves its types', async () => {
	const folder = await rewardFolder();
	await cp(join(root, 'media/types/reasoning-lab.d.ts'), join(folder, 'reasoning-lab.d.ts'));
	const template = await readFile(join(root, 'media/templates/reward/reward.ts'), 'utf8');
	await writeFile(join(folder, 'brevity.reward.ts'), template.replaceAll('__NAME__', 'brevity'));
	await cp(join(root, 'media/templates/starter/rewards/steps.reward.ts'), join(folder, 'steps.reward.ts'));
	const compiler = join(root, 'node_modules/typescript/bin/tsc');
	// VS Code options for files without a project, which include only the opened file and the files it references.
	const editor = '--ignoreConfig --strict --noEmit --target es2024 --module esnext --moduleResolution bundler'.split(
		' ',
	);
	const files = ['brevity.reward.ts', 'steps.reward.ts'].map((name) => join(folder, name));
	const { stdout } = await execute(process.execPath, [compiler, ...editor, ...files]).catch((error) => error);
	assert.equal(stdout, '');
});

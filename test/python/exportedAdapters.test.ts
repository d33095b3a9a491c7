import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as v from 'valibot';
import type { ExportTarget } from '../../src/core/reward/export/exportTarget.ts';
import { exportRewardFile, writeAdapter } from '../../src/rewards/exportRewardFile.ts';
import { rewardHostFolder } from '../../src/rewards/rewardHostFolder.ts';
import { RewardHosts } from '../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../src/rewards/rewardPrograms.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

const file = join(root, 'test/fixtures/rewards/export.reward.py');
const script = (name: string) => join(root, 'test/python', name);
let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'adapters-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function adapter(target: ExportTarget): Promise<string> {
	const { text } = await exportRewardFile({ file, target, python, folder: rewardHostFolder() });
	const path = join(folder, `${target}.py`);
	await writeAdapter(path, text);
	return path;
}

interface Row {
	readonly prompt: string;
	readonly completion: string;
	readonly answer: string;
	readonly columns: Readonly<Record<string, unknown>>;
}

/** Returns the values from the reward host, which this project trains with. */
async function hostValues(reward: string, rows: readonly Row[]): Promise<(number | null)[]> {
	const hosts = new RewardHosts(await findRewardPrograms({ python }), { folder: rewardHostFolder() });
	try {
		const context = { tags: { think: null, answer: null }, task: null, folder };
		const result = await hosts.open({ file, context }).score(
			reward,
			rows.map(({ prompt, completion, answer, columns }) => ({
				prompt,
				completion,
				answer,
				row: { answer, ...columns },
				truncated: false,
			})),
		);
		assert.deepEqual(result.errors, []);
		return [...result.values];
	} finally {
		hosts.dispose();
	}
}

const rows: readonly Row[] = [
	{ prompt: '1+22=', completion: '<think>add</think>23', answer: '23', columns: { limit: 20 } },
	{ prompt: '1+22=', completion: '29', answer: '23', columns: { limit: 4 } },
	{ prompt: '9+9=', completion: '', answer: '18', columns: { limit: 20 } },
];

/** Returns a trainer's results for an adapter, called as the trainer would call it. */
async function asTrainer(target: ExportTarget, path?: string): Promise<unknown> {
	const args = [target, path ?? (await adapter(target))];
	return JSON.parse(await runPython({ python, script: script('adapters.py'), args, input: JSON.stringify(rows) }));
}

const near = (actual: number, expected: number) =>
	assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} ${expected}`);

describe('exported adapters in their trainers', { skip }, () => {
	test("TRL's GRPOTrainer trains with an adapter and sees the same values as the reward host", {
		timeout: 240_000,
	}, async () => {
		const stdout = await runPython({ python, script: script('grpo_rewards.py'), args: [await adapter('trl')] });
		const call = v.object({
			reward: v.string(),
			prompts: v.array(v.string()),
			completions: v.array(v.string()),
			columns: v.record(v.string(), v.array(v.unknown())),
			values: v.array(v.nullable(v.number())),
		});
		const reply = v.parse(
			v.object({
				calls: v.array(call),
				weights: v.array(v.number()),
				history: v.array(v.looseObject({ reward: v.number() })),
			}),
			JSON.parse(stdout.trim().split('\n').at(-1) as string),
		);
		assert.deepEqual(reply.weights, [1, 0.25]);
		assert.equal(reply.history.length, 2);
		assert.deepEqual(
			reply.calls.map(({ reward }) => reward),
			['digits', 'brevity', 'digits', 'brevity'],
		);
		for (const { reward, prompts, completions, columns, values } of reply.calls) {
			const expected = await hostValues(
				reward,
				prompts.map((prompt, i) => ({
					prompt,
					completion: completions[i] as string,
					answer: columns.answer?.[i] as string,
					columns: { limit: columns.limit?.[i] },
				})),
			);
			assert.deepEqual(values, expected, reward);
		}
	});

	test('verl gets the weighted sum and the values by name', async () => {
		const digits = await hostValues('digits', rows);
		const brevity = await hostValues('brevity', rows);
		const scores = v.parse(
			v.array(v.object({ score: v.number(), digits: v.number(), brevity: v.number() })),
			await asTrainer('verl'),
		);
		assert.equal(scores.length, rows.length);
		for (const [i, row] of scores.entries()) {
			near(row.digits, digits[i] as number);
			near(row.brevity, brevity[i] as number);
			near(row.score, row.digits + 0.25 * row.brevity);
		}
	});

	test('OpenRLHF gets tensors from a reward that needs only the label', async () => {
		const { text, findings } = await exportRewardFile({
			file,
			target: 'openrlhf',
			names: ['digits'],
			python,
			folder: rewardHostFolder(),
		});
		assert.ok(!findings.some(({ severity }) => severity === 'error'));
		await writeAdapter(join(folder, 'label.py'), text);
		const replies = (await asTrainer('openrlhf', join(folder, 'label.py'))) as {
			rewards: number[];
			logs: { digits: number[] };
		}[];
		const expected = await hostValues('digits', rows);
		for (const [i, { rewards, logs }] of replies.entries()) {
			near(rewards[0] as number, expected[i] as number);
			near(logs.digits[0] as number, expected[i] as number);
		}
	});

	test('verifiers records the rewards of a task, both as methods and as functions named in its config', async () => {
		const recorded = v.object({
			values: v.object({ digits: v.number(), brevity: v.number() }),
			weights: v.object({ digits: v.number(), brevity: v.number() }),
		});
		const reply = v.parse(v.array(v.tuple([recorded, recorded])), await asTrainer('verifiers'));
		const digits = await hostValues('digits', rows);
		const brevity = await hostValues('brevity', rows);
		assert.equal(reply.length, rows.length);
		for (const [i, ways] of reply.entries()) {
			for (const { values, weights } of ways) {
				near(values.digits, digits[i] as number);
				near(values.brevity, brevity[i] as number);
				assert.deepEqual(weights, { brevity: 0.25, digits: 1 });
			}
		}
	});
});

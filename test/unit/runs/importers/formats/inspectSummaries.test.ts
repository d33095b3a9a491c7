import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openRun } from '../../../../../src/runs/openRun.ts';
import type { StepRollouts } from '../../../../../src/runs/runContent.ts';
import { zipFile } from '../../../../support/zipFile.ts';

const usage = { m: { input_tokens: 1, output_tokens: 7 } };
const sample = (id: number, epoch: number) => ({
	id,
	epoch,
	input: `question ${id}`,
	target: '42',
	messages: [
		{ role: 'user', content: `question ${id}`, source: 'input' },
		{ role: 'assistant', content: 'a', source: 'generate' },
	],
	output: { model: 'm', choices: [{ stop_reason: 'stop' }] },
	scores: { match: { value: id === 1 ? 'C' : 'I' } },
	model_usage: usage,
});
const summary = (id: number, epoch: number) => {
	const { messages: _, output: __, ...rest } = sample(id, epoch);
	return rest;
};
const all = [
	[2, 1],
	[1, 1],
	[2, 2],
] as const;
/** The archive has to be large for its summaries to be used. */
const padding = { name: 'padding', text: Buffer.alloc(65 << 20), method: 0 as const };
const members = [
	...all.map(([id, epoch]) => ({ name: `samples/${id}_epoch_${epoch}.json`, text: JSON.stringify(sample(id, epoch)) })),
	padding,
];

async function listed(rollouts: AsyncGenerator<{ rollout: unknown; place: unknown }>) {
	const found = [];
	for await (const { rollout, place } of rollouts) found.push({ rollout, place });
	return found as { rollout: Record<string, unknown>; place: Parameters<StepRollouts['rollout']>[0] }[];
}

describe('summaries of a large Inspect log', () => {
	let folder: string;
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'summaries-'));
	});
	after(() => rm(folder, { recursive: true, force: true }));

	async function opened(summaries: readonly unknown[]): Promise<StepRollouts> {
		const list = { name: 'summaries.json', text: JSON.stringify(summaries) };
		await writeFile(join(folder, 'log.eval'), zipFile([...members, list]));
		return (await openRun(folder)).open(0);
	}

	it('list the same rollouts at the same locations, without their text', async () => {
		const step = await opened(all.map(([id, epoch]) => summary(id, epoch)).reverse());
		const [whole, short] = [await listed(step.rollouts()), await listed(step.overview?.() as never)];
		assert.deepEqual(
			short.map(({ place }) => place),
			whole.map(({ place }) => place),
		);
		for (const key of ['group', 'index', 'reward', 'rewards', 'row', 'answer'] as const) {
			assert.deepEqual(
				short.map(({ rollout }) => rollout[key]),
				whole.map(({ rollout }) => rollout[key]),
				key,
			);
		}
		assert.deepEqual(
			short.map(({ rollout }) => [rollout.prompt, rollout.completion, rollout.extra]),
			[2, 1, 2].map((id) => [`question ${id}`, '', { length: 7 }]),
		);
		assert.deepEqual(await step.rollout((short[1] as (typeof short)[0]).place), whole[1]?.rollout);
		await step.close();
	});

	it('are not used if they lack a sample or its token count', async () => {
		for (const summaries of [
			[summary(2, 1), summary(1, 1)],
			all.map(([id, epoch]) => ({ ...summary(id, epoch), model_usage: {} })),
			[null],
		]) {
			const step = await opened(summaries);
			assert.deepEqual(await listed(step.overview?.() as never), await listed(step.rollouts()));
			await step.close();
		}
	});
});

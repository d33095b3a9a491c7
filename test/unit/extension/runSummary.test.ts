import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readSummary } from '../../../src/extension/runSummary.ts';

const folder = await mkdtemp(join(tmpdir(), 'summary-'));
after(() => rm(folder, { recursive: true, force: true }));

const line = (step: number, values: Record<string, number | null>) =>
	`${JSON.stringify({ step, time: step, stage: 'grpo', ...values })}\n`;

test('a run without metrics has no values', async () => {
	assert.deepEqual(await readSummary(folder), { reward: null, accuracy: null, tokensPerSecond: null });
});

test('the latest value of each metric is used, and a partial last line is ignored', async () => {
	await writeFile(
		join(folder, 'metrics.jsonl'),
		line(1, { reward: 0.1, 'eval/accuracy': 0.4 }) +
			line(2, { reward: 0.2 }) +
			line(3, { reward: null }) +
			'{"step":4,"time":4,"stage":"grpo","reward":0.9',
	);
	assert.deepEqual(await readSummary(folder), { reward: 0.2, accuracy: 0.4, tokensPerSecond: null });
});

test('only the end of a long file is read', async () => {
	const many = Array.from({ length: 5000 }, (_, i) => line(i + 1, { reward: i / 5000, padding: 1 }));
	await writeFile(join(folder, 'metrics.jsonl'), line(0, { 'eval/accuracy': 1 }) + many.join(''));
	assert.deepEqual(await readSummary(folder), { reward: 4999 / 5000, accuracy: null, tokensPerSecond: null });
});

test('links are not followed', async (t) => {
	await rm(join(folder, 'metrics.jsonl'));
	await writeFile(join(folder, 'secret'), line(1, { reward: 1 }));
	try {
		await symlink(join(folder, 'secret'), join(folder, 'metrics.jsonl'));
	} catch {
		t.skip('this user cannot create links on this system');
		return;
	}
	assert.equal((await readSummary(folder)).reward, null);
});

import assert from 'node:assert/strict';
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { formatLine } from '../../../src/files/jsonLines.ts';
import { diagnoseRun } from '../../../src/runs/diagnoseRun.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { VerdictCache } from '../../../src/runs/verdictCache.ts';
import { root } from '../../scripts/paths.ts';
import { healthy, rows } from '../core/diagnosis/syntheticRun.ts';
import { writeRecord } from '../extension/fixtureRun.ts';

const temporary = await mkdtemp(join(tmpdir(), 'verdicts-'));
process.env.REASONING_LAB_HOME = join(temporary, 'home');
after(() => rm(temporary, { recursive: true, force: true }));

describe('verdict cache', () => {
	it('keeps the verdict on a run until its metrics or rollouts change', async () => {
		const folder = join(temporary, 'verl');
		await cp(join(root, 'test/fixtures/verl'), folder, { recursive: true });
		const content = await openRun(folder);
		const cache = new VerdictCache();
		const first = await cache.of(content);
		assert.deepEqual(first, await diagnoseRun(content));
		assert.equal(await cache.of(content), first);
		assert.equal(await cache.of(await openRun(folder)), first, 'reopened run');

		const [step = 0] = await content.steps();
		const rollouts = join(folder, 'rollouts', `${step}.jsonl`);
		const [line = ''] = (await readFile(rollouts, 'utf8')).split('\n');
		await appendFile(rollouts, `${line}\n`);
		const second = await cache.of(content);
		assert.notEqual(second, first);
		assert.equal(await cache.of(content), second);

		const metrics = join(folder, 'metrics/grpo_math_qwen25_05b.jsonl');
		const last = JSON.parse((await readFile(metrics, 'utf8')).trimEnd().split('\n').at(-1) as string);
		await appendFile(metrics, `${JSON.stringify({ ...last, step: last.step + 1 })}\n`);
		const third = await cache.of(await openRun(folder));
		assert.notEqual(third, second);
		assert.deepEqual(third, await diagnoseRun(await openRun(folder)));
	});

	it('never keeps the verdict on an active run, which depends on the time', async () => {
		const now = Date.now() / 1000;
		const folder = join(temporary, 'run');
		await writeRecord(folder, { status: 'running', heartbeat: now });
		const lines = rows(40, healthy).map((line, i) => ({ ...line, time: now - 640 + i }));
		const text = lines.map(({ step, time, stage, values }) => formatLine({ step, time, stage, ...values })).join('');
		await writeFile(join(folder, 'metrics.jsonl'), text);
		const cache = new VerdictCache();
		const stalled = await cache.of(await openRun(folder));
		assert.deepEqual(
			stalled.alerts.map(({ id }) => id),
			['stalled'],
		);
		assert.notEqual(await cache.of(await openRun(folder)), stalled);
		await writeRecord(folder, { status: 'finished', heartbeat: now });
		const ended = await cache.of(await openRun(folder));
		assert.deepEqual(ended.alerts, []);
		assert.equal(await cache.of(await openRun(folder)), ended);
	});
});

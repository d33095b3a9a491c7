import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { followRun } from '../../../../src/runs/followRun.ts';
import type { RunTailEvent } from '../../../../src/runs/runTail.ts';
import { temporaryFolder } from '../runFixtures.ts';
import { writeFiles } from './madeRun.ts';

const row = (step: number) => ({
	'progress/batch': step,
	step,
	'env/all/reward/total': step / 1000,
	'optim/lr': 1e-5,
	words: 'x'.repeat(200),
});

test("an overview of an external run's long file is reported before its rows, each of which is still reported only once", async (context) => {
	const folder = await temporaryFolder(context);
	const steps = Array.from({ length: 3000 }, (_, i) => i);
	await writeFiles(folder, { 'config.json': { model_name: 'm' }, 'metrics.jsonl': steps.map(row) });
	// Invalid lines must not affect the overview.
	await appendFile(join(folder, 'metrics.jsonl'), '{"step": NaN}\n[1]\n{"torn');
	const follower = followRun(folder, { pollMs: 60_000, overview: { lines: 50, atLeast: 10_000 } });
	context.after(() => follower.dispose());
	const events: RunTailEvent[] = [];
	follower.onEvent((event) => events.push(event));
	await follower.refresh();
	const kinds = events.map(({ kind }) => kind);
	assert.deepEqual(kinds.slice(0, 2), ['record', 'overview']);
	assert.equal(kinds.filter((kind) => kind === 'overview').length, 1);
	assert.ok(!kinds.includes('reset'));
	const [, overview] = events;
	assert.ok(overview?.kind === 'overview');
	const seen = overview.lines.map(({ step }) => step);
	assert.ok(seen.length > 30 && seen.length <= 50, `${seen.length}`);
	assert.equal(seen[0], 0);
	assert.ok((seen.at(-1) as number) > 2900);
	const result = events.flatMap((event) => (event.kind === 'metrics' ? event.lines : []));
	assert.deepEqual(
		result.map(({ step }) => step),
		steps,
	);
	// Names and values match the rows.
	const byStep = new Map(result.map((line) => [line.step, line.values]));
	for (const { step, values } of overview.lines) assert.deepEqual(values, byStep.get(step));
	events.length = 0;
	await appendFile(join(folder, 'metrics.jsonl'), `\n${JSON.stringify(row(3000))}\n`);
	await follower.refresh();
	assert.ok(!events.some(({ kind }) => kind === 'overview' || kind === 'reset'));
	assert.deepEqual(
		events.flatMap((event) => (event.kind === 'metrics' ? event.lines.map(({ step }) => step) : [])),
		[3000],
	);
});

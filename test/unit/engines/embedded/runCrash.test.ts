import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runEngine } from '../../../../src/engines/embedded/run/runEngine.ts';
import { readEvents, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { eventually, tinyRecipe, Workplace } from './engineProcess.ts';
import { uninterrupted } from './killResume.ts';
import { readOutcome } from './runOutcome.ts';

test('an uncaught error ends the run as crashed, logs its location in engine.log, and the run can be resumed', async () => {
	await using place = await Workplace.make();
	const { outcome: expected } = await uninterrupted(place, tinyRecipe, true);
	const run = await place.prepare(tinyRecipe);
	process.env.REASONING_LAB_HOME = join(place.folder, 'home');
	const engine = runEngine({ kind: 'run', run, resume: false, parentCheckpoint: null });
	await eventually(async () => (await readMetrics(run)).length >= 2, 'the run progresses');
	engine.crash(new Error('a fault of ours'));
	assert.equal(await engine.exit, 1);
	const record = await readRecord(run);
	assert.equal(record.status, 'crashed');
	assert.equal(record.error?.reason, 'internal');
	assert.match(record.error?.message ?? '', /a fault of ours/);
	assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /a fault of ours\n\s+at .*runCrash\.test/);
	assert.equal((await readEvents(run)).at(-1)?.type, 'crashed');
	const { code, stderr } = await place.run('--run', run, '--resume');
	assert.equal(code, 0, stderr);
	assert.deepEqual((await readOutcome(run)).metrics, expected.metrics);
});

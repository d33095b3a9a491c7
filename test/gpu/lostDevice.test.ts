import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectRun } from '../../src/runs/runControl.ts';
import { runFiles } from '../../src/runs/runFiles.ts';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { buildFaultyDriver } from '../support/faultyDriver.ts';
import { skip } from '../support/softwareGpu.ts';
import { eventually, shortRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';

const recipe = {
	...shortRecipe,
	device: 'auto',
	stages: [{ ...shortRecipe.stages[0], steps: 100_000 }],
	evaluate: { every: 1_000_000, problems: 4 },
	checkpoint: { every: 3, keep: 2 },
};

const lastStep = async (run: string) => (await listCheckpoints(run).catch(() => [])).at(-1)?.step ?? 0;

test('a run whose device is lost ends with its last checkpoint, and resumes on the CPU', { skip }, async (context) => {
	await using place = await Workplace.make();
	const driver = await buildFaultyDriver(place.folder);
	if (driver === null) return context.skip('requires a C compiler');
	const lost = join(place.folder, 'lost');
	Object.assign(place.environment, driver, { FAULTY_DRIVER_LOST: lost });
	const run = await place.prepare(recipe);

	// A software GPU is slower than the CPU, so a new run with `auto` would not use it, but one that did before does.
	await writeFile(lost, '');
	const first = place.start('--run', run);
	await eventually(async () => (await lastStep(run)) > 0, 'the first checkpoint');
	first.kill('SIGKILL');
	await first.exit;
	const events = join(run, runFiles.events);
	await writeFile(events, (await readFile(events, 'utf8')).replaceAll('"took":"cpu"', '"took":"webgpu"'));
	await rm(lost);

	const before = await lastStep(run);
	const second = place.start('--run', run, '--resume');
	await eventually(async () => (await lastStep(run)) > before, 'a checkpoint on WebGPU');
	assert.match((await readRecord(run)).device ?? '', /^webgpu on /);
	await writeFile(lost, '');
	const { code, stderr } = await second.exit;
	assert.equal(code, 2, stderr);
	assert.match(
		stderr,
		/^The device webgpu was lost: it was removed, or its driver was reset\. Resume the run[^\n]*\n$/,
	);
	const record = await readRecord(run);
	assert.deepEqual([record.status, record.error?.reason], ['crashed', 'unavailable']);
	const kept = await lastStep(run);
	assert.ok(kept > before);

	const third = place.start('--run', run, '--resume');
	await eventually(async () => (await lastStep(run)) > kept, 'a checkpoint on the CPU');
	const current = await readRecord(run);
	assert.match(current.device ?? '', /^cpu/);
	const client = await connectRun(run, current, 'test');
	await client.request('run/stop', { checkpoint: true });
	await third.exit;
	const alert = (await readEvents(run)).findLast(({ type }) => type === 'alert')?.message;
	assert.equal(
		alert,
		'This attempt runs on cpu, but the last one ran on webgpu, so results will differ due to rounding.',
	);
	const steps = (await readMetrics(run)).map(({ step }) => step);
	assert.deepEqual(
		steps,
		Array.from(steps, (_, i) => i + 1),
	);
});

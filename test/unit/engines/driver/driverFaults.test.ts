import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { ScriptedPlace } from './driverPlace.ts';

const place = await ScriptedPlace.make();
after(() => place[Symbol.asyncDispose]());

const changes = {
	dataset: { task: 'addition', digits: 1 },
	stages: [{ type: 'grpo', steps: 4, num_generations: 2, prompts_per_step: 1, learning_rate: 1e-3 }],
	evaluate: { every: 2, problems: 4 },
	checkpoint: { every: 2, keep: 2 },
};

/** Trainer faults and the error that each run reports. */
const faults: [fault: string, reason: string, message: RegExp, action: RegExp][] = [
	['token', 'internal', /status 1, before training started.*The token does not belong to this run/, /engine\.log/],
	['version', 'version', /version 1 of the trainer link, but the trainer uses version 2/, /Update Reasoning Lab/],
	['refuse', 'internal', /before training started: Install it/, /Start the run again/],
	['deaf', 'internal', /did not answer an order/, /./],
	['order', 'internal', /violated the protocol\. The trainer reported step 6 after step 0/, /./],
	['ahead', 'internal', /violated the protocol\. The trainer sent rollouts for step 3 after step 1/, /./],
	['garbage@3', 'internal', /violated the protocol\. The trainer sent an invalid message/, /./],
	['huge@3', 'internal', /a message of 900000000 bytes/, /"log"/],
	['raise@3', 'internal', /status 1, after step 2: ValueError: the loss is odd/, /checkpoint at step 2/],
	['leave@3', 'internal', /exited before training was complete, after step 2/, /checkpoint at step 2/],
	['SIGSEGV@4', 'internal', /crashed after step 3 \(SIGSEGV\)/, /engine\.log/],
	['SIGKILL@1', 'unavailable', /killed after step 0.*SIGKILL/, /no checkpoint yet/],
	['fault@3', 'unsupported', /^No such thing\.$/, /^Do another\.$/],
	['full', 'full', /No space is left/, /Free some/],
	['link', 'invalid', /cannot contain "leak"/, /./],
];

for (const [fault, reason, message, action] of faults) {
	it(`trainer fault "${fault}" ends the run with an explanation and leaves no processes behind`, async () => {
		const run = await place.prepare(changes);
		place.fault = fault;
		const exit = await place.run('--run', run);
		assert.equal(exit.code, reason === 'internal' ? 1 : 2, exit.stderr);
		const { status, error, step } = await readRecord(run);
		assert.equal(status, 'crashed');
		assert.equal(error?.reason, reason, error?.message);
		assert.match(error?.message ?? '', message);
		assert.match(error?.action ?? '-', action);
		assert.equal((await readEvents(run)).at(-1)?.type, 'crashed');
		const at = fault.split('@')[1];
		if (at !== undefined) {
			assert.equal(step, Number(at) - 1);
			assert.equal((await readMetrics(run)).at(-1)?.step, Number(at) - 1);
		}
		if (fault.startsWith('raise')) {
			assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /Traceback[\s\S]*ValueError: the loss is odd/);
		}
		for (const checkpoint of await listCheckpoints(run)) assert.equal(checkpoint.step % 2, 0);
		assert.deepEqual(await place.trainers(), []);
	});
}

it('a full disk ends the run while the trainer continues, without gaps in the written steps', async (context) => {
	place.fault = '';
	const run = await place.prepare({ ...changes, stages: [{ ...changes.stages[0], steps: 40 }] });
	const rollouts = join(run, 'rollouts');
	await mkdir(rollouts);
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', rollouts], { stdio: 'pipe' });
	} catch {
		context.skip('no small file system can be mounted here');
		return;
	}
	context.after(() => execFileSync('umount', ['-l', rollouts]));
	assert.equal((await place.run('--run', run)).code, 2);
	const { status, error } = await readRecord(run);
	assert.equal(status, 'crashed');
	assert.equal(error?.reason, 'full', error?.message);
	const steps = (await readMetrics(run)).map(({ step }) => step);
	const last = steps.at(-1) as number;
	assert.ok(last > 2 && last < 40, `${last}`);
	assert.deepEqual(steps, [...steps.keys()]);
	const whole = (await readdir(rollouts)).filter((name) => name.endsWith('.jsonl'));
	// The step whose rollouts did not fit is in the metrics, but no checkpoint includes it.
	assert.equal(whole.length, last - 1);
	for (const { step } of await listCheckpoints(run)) assert.ok(step < last, `${step}`);
	assert.deepEqual(await place.trainers(), []);
});

it('a missing or invalid Python is rejected with a suggested action', async () => {
	for (const [python, message] of [
		[join(place.folder, 'nowhere'), /nowhere/],
		[join(place.folder, 'not-a-program'), /not-a-program/],
	] as const) {
		const other = await ScriptedPlace.make();
		try {
			other.python = python;
			const refused = await other.run('--run', await other.prepare(changes));
			assert.equal(refused.code, 2);
			assert.match(refused.stderr, message);
		} finally {
			await other[Symbol.asyncDispose]();
		}
	}
});

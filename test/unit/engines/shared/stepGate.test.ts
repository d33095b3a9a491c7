import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { type GateHooks, StepGate } from '../../../../src/engines/shared/stepGate.ts';

function hooks(said: string[]): GateHooks {
	return {
		paused: async () => void said.push('paused'),
		continued: async () => void said.push('continued'),
		checkpoint: async () => {
			said.push('checkpoint');
			return 'folder';
		},
		setHyperparameters: async (changes) => {
			said.push(JSON.stringify(changes));
			return 7;
		},
	};
}

test('requests run between batches in submission order, and jobs also run between updates', async () => {
	const gate = new StepGate();
	const said: string[] = [];
	const answers = [
		gate.checkpoint(),
		gate.setHyperparameters({ beta: 1 }),
		gate.withLearner(async () => said.push('job')),
	];
	await gate.betweenUpdates();
	assert.deepEqual(said, ['job']);
	assert.equal(await gate.betweenBatches(hooks(said)), 'continue');
	assert.deepEqual(said, ['job', 'checkpoint', '{"beta":1}']);
	assert.deepEqual(await Promise.all(answers), ['folder', 7, 1]);
});

test('a pause resolves once it takes effect, and jobs and checkpoints still run while paused', async () => {
	const gate = new StepGate();
	const said: string[] = [];
	const pause = gate.pause().then(() => said.push('answered'));
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(said.length, 0);
	const through = gate.betweenBatches(hooks(said)).then((verdict) => said.push(verdict));
	await pause;
	assert.ok(gate.isPaused);
	await gate.checkpoint();
	await gate.withLearner(async () => said.push('job'));
	await gate.pause();
	await gate.resume();
	await through;
	assert.deepEqual(said, ['paused', 'answered', 'checkpoint', 'job', 'continued', 'continue']);
});

test('continue resolves once it takes effect, and rejects if it never will', async () => {
	const gate = new StepGate();
	const said: string[] = [];
	const first = gate.pause();
	const through = gate.betweenBatches(hooks(said));
	await first;
	await gate.resume().then(() => said.push('answered'));
	assert.deepEqual(said, ['paused', 'continued', 'answered']);
	await through;

	gate.pause().catch(() => undefined);
	const again = gate.betweenBatches(hooks([]));
	await gate.pause();
	const withdrawn = gate.resume();
	await gate.pause();
	await assert.rejects(withdrawn, { reason: 'cancelled' });
	const over = gate.resume();
	gate.close(new Failure('unavailable', 'over'));
	await assert.rejects(over, { reason: 'unavailable' });
	assert.equal(await again, 'stop');
});

test('a client that learns of a pause while it is being recorded can end it', async () => {
	const gate = new StepGate();
	const said: string[] = [];
	let resumed: Promise<void> = Promise.resolve();
	gate.hold();
	const recorded = {
		...hooks(said),
		paused: async () => {
			said.push('paused');
			resumed = gate.resume();
			await Promise.resolve();
		},
	};
	assert.equal(await gate.betweenBatches(recorded), 'continue');
	await resumed;
	assert.deepEqual(said, ['paused', 'continued']);
});

test('a job that throws synchronously is rejected without ending the run', async () => {
	const gate = new StepGate();
	const job = gate.withLearner(() => {
		throw new Failure('invalid', 'no');
	});
	job.catch(() => undefined);
	assert.equal(await gate.betweenBatches(hooks([])), 'continue');
	await assert.rejects(job, { reason: 'invalid' });
});

test('a pause that is withdrawn before it takes effect is rejected', async () => {
	const gate = new StepGate();
	const pause = gate.pause();
	await gate.resume();
	await assert.rejects(pause, { reason: 'cancelled' });
	assert.equal(await gate.betweenBatches(hooks([])), 'continue');
});

test('stop ends a pause, and requests pending when the run ends are rejected with the reason', async () => {
	const gate = new StepGate();
	const through = gate.betweenBatches(hooks([]));
	assert.equal(await through, 'continue');
	await Promise.all([
		gate.pause(),
		gate.betweenBatches(hooks([])),
		Promise.resolve().then(() => gate.stop({ checkpoint: false })),
	]);
	assert.deepEqual(gate.stopRequest, { checkpoint: false });
	assert.ok(gate.stopSignal.aborted);
	const late = gate.checkpoint();
	gate.close(new Failure('unavailable', 'over'));
	await assert.rejects(late, { reason: 'unavailable' });
	await assert.rejects(gate.pause(), { reason: 'unavailable' });
});

test("a rejected change is only the requester's problem, but a failed checkpoint also ends the run", async () => {
	const gate = new StepGate();
	const failing: GateHooks = {
		...hooks([]),
		checkpoint: async () => {
			throw new Failure('full', 'no room');
		},
		setHyperparameters: async () => {
			throw new Failure('unsupported', 'no');
		},
	};
	const change = gate.setHyperparameters({ beta: 1 });
	change.catch(() => undefined);
	assert.equal(await gate.betweenBatches(failing), 'continue');
	await assert.rejects(change, { reason: 'unsupported' });
	const checkpoint = gate.checkpoint();
	checkpoint.catch(() => undefined);
	await assert.rejects(gate.betweenBatches(failing), { reason: 'full' });
	await assert.rejects(checkpoint, { reason: 'full' });
});

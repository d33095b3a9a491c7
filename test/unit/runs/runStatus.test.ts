import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownIdentity } from '../../../src/processes/processIdentity.ts';
import type { RunRecord, RunStatus } from '../../../src/protocol/runRecord.ts';
import { runStateOf } from '../../../src/runs/runStatus.ts';
import { initialRecord } from './runFixtures.ts';

/** Builds a record of this process, or of a dead process that had the same pid. */
async function recordOf(status: RunStatus, { dead = false } = {}): Promise<RunRecord> {
	const own = await ownIdentity();
	const times = { created: 1, updated: 1, heartbeat: 1 };
	return {
		...{ format: 1, ...initialRecord, status, attempt: 1, step: 7, ...times, ...own },
		...(dead ? { processStart: '12345' } : {}),
	};
}

/** Returns the given records on successive reads. */
function looks(...records: RunRecord[]) {
	let done = 0;
	return {
		read: async () => records[done++] as RunRecord,
		get done() {
			return done;
		},
	};
}

test('an engine that ends between two reads is reported with its final status, not as crashed', async () => {
	const last = await recordOf('finished', { dead: true });
	const seen = looks(await recordOf('running', { dead: true }), last);
	assert.deepEqual(await runStateOf(seen.read), { record: last, status: 'finished' });
});

test('an engine that ended without a final status is reported as crashed after exactly two reads', async () => {
	const claim = await recordOf('running', { dead: true });
	const seen = looks(claim, claim, await recordOf('finished'));
	assert.deepEqual(await runStateOf(seen.read), { record: claim, status: 'crashed' });
	assert.equal(seen.done, 2);
});

test('a run resumed between two reads is running', async () => {
	const next = await recordOf('starting');
	const seen = looks(await recordOf('paused', { dead: true }), next);
	assert.deepEqual(await runStateOf(seen.read), { record: next, status: 'starting' });
});

test('a live engine, or one with a final status, needs only one read', async () => {
	for (const [status, dead] of [
		['running', false],
		['stopped', true],
		['crashed', true],
	] as const) {
		const record = await recordOf(status, { dead });
		const seen = looks(record);
		assert.deepEqual(await runStateOf(seen.read), { record, status });
		assert.equal(seen.done, 1);
	}
});

test('read errors are passed on from both the first and the second read', async () => {
	await assert.rejects(
		runStateOf(() => Promise.reject(new Error('torn'))),
		/torn/,
	);
	const claim = await recordOf('running', { dead: true });
	let looked = 0;
	const read = () => (looked++ === 0 ? Promise.resolve(claim) : Promise.reject(new Error('gone')));
	await assert.rejects(runStateOf(read), /gone/);
});

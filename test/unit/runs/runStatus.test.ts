import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownIdentity } from '../../../src/processes/processIdentity.ts';
import type { RunRecord, RunStatus } from '../../../src/protocol/runRecord.ts';
import { runStateOf } from '../../../src/runs/runStatus.ts';
import { initialRecord } from './runFixtures.ts';

/** A record of this process, or of one that had its number before. */
async function recordOf(status: RunStatus, { dead = false } = {}): Promise<RunRecord> {
	const own = await ownIdentity();
	const times = { created: 1, updated: 1, heartbeat: 1 };
	return {
		...{ format: 1, ...initialRecord, status, attempt: 1, step: 7, ...times, ...own },
		...(dead ? { processStart: '12345' } : {}),
	};
}

/** What each look finds, in their order. */
function looks(...records: RunRecord[]) {
	let done = 0;
	return {
		read: async () => records[done++] as RunRecord,
		get done() {
			return done;
		},
	};
}

test('an engine that ends between the two looks is heard out, not called crashed', async () => {
	const last = await recordOf('finished', { dead: true });
	const seen = looks(await recordOf('running', { dead: true }), last);
	assert.deepEqual(await runStateOf(seen.read), { record: last, status: 'finished' });
});

test('an engine that ended without a word has crashed, after a second look and no third', async () => {
	const claim = await recordOf('running', { dead: true });
	const seen = looks(claim, claim, await recordOf('finished'));
	assert.deepEqual(await runStateOf(seen.read), { record: claim, status: 'crashed' });
	assert.equal(seen.done, 2);
});

test('a run that was resumed between the two looks is at work', async () => {
	const next = await recordOf('starting');
	const seen = looks(await recordOf('paused', { dead: true }), next);
	assert.deepEqual(await runStateOf(seen.read), { record: next, status: 'starting' });
});

test('an engine that lives, and one that said how it ended, are looked at once', async () => {
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

test('what reading fails with is passed on, at the first look and at the second', async () => {
	await assert.rejects(
		runStateOf(() => Promise.reject(new Error('torn'))),
		/torn/,
	);
	const claim = await recordOf('running', { dead: true });
	let looked = 0;
	const read = () => (looked++ === 0 ? Promise.resolve(claim) : Promise.reject(new Error('gone')));
	await assert.rejects(runStateOf(read), /gone/);
});

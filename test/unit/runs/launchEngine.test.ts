import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { processState } from '../../../src/processes/processIdentity.ts';
import { engineEnvironment, launchEngine } from '../../../src/runs/launchEngine.ts';
import { readLogEnd, readRecord } from '../../../src/runs/runReader.ts';
import { effectiveStatus } from '../../../src/runs/runStatus.ts';
import { beforeRemoval, startHelper, temporaryFolder } from './runFixtures.ts';

const engine = join(import.meta.dirname, 'smallEngine.ts');

async function prepared(context: TestContext, course: string): Promise<string> {
	const folder = join(await temporaryFolder(context), 'run');
	await mkdir(folder);
	await writeFile(join(folder, 'course'), course);
	// The engine is detached, so tests must end it.
	beforeRemoval(context, async () => {
		const record = await readRecord(folder).catch(() => null);
		if (record !== null && (await processState(record)) === 'alive') process.kill(record.pid, 'SIGKILL');
	});
	return folder;
}

test('when the launch returns, the engine is running, with its own log and without telemetry', async (context) => {
	const folder = await prepared(context, 'works');
	process.env.NODE_OPTIONS = '--no-warnings';
	context.after(() => delete process.env.NODE_OPTIONS);
	const record = await launchEngine(folder, { engine, parentCheckpoint: '/a/b' });
	assert.equal(record.status, 'running');
	assert.notEqual(record.pid, process.pid);
	assert.deepEqual(record.seen, { telemetry: '1', options: null, checkpoint: '/a/b' });
	assert.match(await readLogEnd(folder), /a line for the log/);
	// A second engine is rejected by the lock, and the first continues.
	await assert.rejects(launchEngine(folder, { engine, resume: true }), {
		reason: 'internal',
		message: new RegExp(`Failure: The run .* is in use by process ${record.pid}`),
	});
	assert.equal(await effectiveStatus(await readRecord(folder)), 'running');
});

test('the engine outlives the process that started it', async (context) => {
	const folder = await prepared(context, 'works');
	const starter = startHelper(context, 'engineStarter.ts', folder);
	const pid = Number(await starter.line());
	assert.equal(await starter.ended, 0);
	const record = await readRecord(folder);
	assert.equal(record.pid, pid);
	assert.equal(await effectiveStatus(record), 'running');
});

test('an engine that rejects a run reports its own message', async (context) => {
	await assert.rejects(launchEngine(await prepared(context, 'refuses'), { engine }), {
		name: 'Failure',
		reason: 'missing',
		message: 'The dataset is gone.',
		action: 'Put it back.',
	});
});

test('an engine that exits without a record is reported with its last output', async (context) => {
	await assert.rejects(launchEngine(await prepared(context, 'dies'), { engine }), {
		reason: 'internal',
		message: /exited with status 3 before it started working: last words\.$/,
	});
	const folder = await prepared(context, 'works');
	await assert.rejects(launchEngine(folder, { engine: join(folder, 'no-engine.js') }), {
		reason: 'missing',
		message: /no-engine\.js does not exist/,
	});
	await assert.rejects(launchEngine(folder, { engine, node: join(folder, 'no-node') }), {
		reason: 'unavailable',
		message: /Cannot start the engine/,
	});
});

test('a run that ends before the first check is not a failure', async (context) => {
	const record = await launchEngine(await prepared(context, 'finishes'), { engine });
	assert.equal(record.status, 'finished');
});

test('waiting for an engine that never starts has a time limit', async (context) => {
	const folder = await prepared(context, 'sleeps');
	await assert.rejects(launchEngine(folder, { engine, waitMs: 50 }), { reason: 'timeout', action: /engine\.log/ });
	const other = await prepared(context, 'sleeps');
	const cancel = new AbortController();
	const waiting = launchEngine(other, { engine, signal: cancel.signal });
	cancel.abort();
	await assert.rejects(waiting, { reason: 'cancelled' });
	// Both are still starting; wait for their records so that they can be ended.
	for (const run of [folder, other]) {
		while ((await readRecord(run).catch(() => null)) === null) await new Promise((resolve) => setTimeout(resolve, 20));
	}
});

test('under Electron the engine runs as Node', () => {
	assert.equal(engineEnvironment({ NODE_OPTIONS: '--inspect' }).NODE_OPTIONS, undefined);
	assert.equal(engineEnvironment({}).ELECTRON_RUN_AS_NODE, undefined);
	Object.defineProperty(process.versions, 'electron', { value: '39', configurable: true });
	try {
		assert.equal(engineEnvironment({}).ELECTRON_RUN_AS_NODE, '1');
	} finally {
		delete (process.versions as Record<string, unknown>).electron;
	}
});

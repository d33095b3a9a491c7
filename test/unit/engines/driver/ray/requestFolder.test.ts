import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { FolderControl, RequestFolder } from '../../../../../src/engines/driver/ray/requestFolder.ts';
import type { ControlHandlers } from '../../../../../src/rpc/controlServer.ts';
import { beforeRemoval, temporaryFolder } from '../../../runs/runFixtures.ts';

const quick = { pollMs: 10 };
const patience = () => AbortSignal.timeout(60_000);

test('requests written to a folder are answered there and cleaned up', async (context) => {
	const folder = await temporaryFolder(context);
	const handlers = {
		'run/setHyperparameters': async (changes) => {
			if (changes.beta === 1) throw new Failure('unsupported', 'No beta here.', 'Take another.');
			return { fromStep: 7 };
		},
		'policy/score': async ({ prompts }) => ({ logprobs: prompts.map(() => [-1]) }),
	} satisfies Partial<ControlHandlers>;
	const control = new FolderControl(folder, quick);
	// Sent before the server starts.
	const early = control.ask('run/setHyperparameters', { beta: 0.5 }, patience());
	const server = new RequestFolder(folder, handlers as ControlHandlers, quick);
	beforeRemoval(context, async () => server.dispose());
	assert.deepEqual(await early, { fromStep: 7 });
	assert.deepEqual(await control.ask('policy/score', { prompts: ['a', 'b'], completions: ['c', 'd'] }, patience()), {
		logprobs: [[-1], [-1]],
	});
	await assert.rejects(control.ask('run/setHyperparameters', { beta: 1 }, patience()), {
		reason: 'unsupported',
		message: 'No beta here.',
		action: 'Take another.',
	});
	await assert.rejects(control.ask('run/setHyperparameters', { learning_rate: -1 }, patience()), { reason: 'invalid' });
	await assert.rejects(control.ask('run/pause', {}, patience()), { reason: 'unsupported' });
	assert.deepEqual(await readdir(join(folder, 'requests')), []);
	assert.deepEqual(await readdir(join(folder, 'answers')), []);
});

test('an aborted request is removed', async (context) => {
	const folder = await temporaryFolder(context);
	const control = new FolderControl(folder, quick);
	const end = new AbortController();
	const asked = control.ask('run/pause', {}, end.signal);
	while ((await readdir(join(folder, 'requests')).catch(() => [])).length === 0) {
		await new Promise((resolve) => setImmediate(resolve));
	}
	end.abort();
	await assert.rejects(asked, { reason: 'cancelled' });
	assert.deepEqual(await readdir(join(folder, 'requests')), []);
});

test('invalid requests get an error and unrelated files are left alone', async (context) => {
	const folder = await temporaryFolder(context);
	await mkdir(join(folder, 'requests'));
	await writeFile(join(folder, 'requests', 'torn.json'), '{"method":');
	await writeFile(join(folder, 'requests', '.aside.json.1.tmp'), 'x');
	await writeFile(join(folder, 'requests', 'proto.json'), '{"method":"toString"}');
	const server = new RequestFolder(folder, {} as ControlHandlers, quick);
	beforeRemoval(context, async () => server.dispose());
	// Requests are removed once they are answered.
	while ((await readdir(join(folder, 'requests'))).length > 1) {
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	assert.deepEqual(await readdir(join(folder, 'requests')), ['.aside.json.1.tmp']);
	assert.deepEqual((await readdir(join(folder, 'answers'))).sort(), ['proto.json', 'torn.json']);
});

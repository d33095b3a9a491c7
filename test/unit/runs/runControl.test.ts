import assert from 'node:assert/strict';
import { chmod, cp, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectRun, connectServed, engineProcess, openControl, servedId } from '../../../src/runs/runControl.ts';
import { controlLocation, controlLocations, runtimeFolder } from '../../../src/runs/runtimeFolder.ts';

const unix = { skip: process.platform === 'win32' && 'Windows has named pipes' };

/** Creates a private runtime folder and a run folder. */
async function place(context: TestContext): Promise<{ run: string; runtime: string }> {
	const root = await realpath(await mkdtemp(join(tmpdir(), 'rl-')));
	const before = process.env.XDG_RUNTIME_DIR;
	process.env.XDG_RUNTIME_DIR = join(root, 'x');
	await mkdir(join(root, 'x'));
	const run = join(root, 'run');
	await mkdir(run);
	context.after(async () => {
		if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
		else process.env.XDG_RUNTIME_DIR = before;
		await rm(root, { recursive: true, force: true });
	});
	return { run, runtime: join(root, 'x', 'reasoning-lab') };
}

const nothing = { serving: false, handlers: {} };

test('a client needs only the run folder to find the engine, even through a link', unix, async (context) => {
	const { run } = await place(context);
	const server = await openControl(run, 'id', nothing);
	context.after(() => server.dispose());
	const client = await connectRun(run, { id: 'id' }, 'test');
	assert.equal(client.engine.run, 'id');
	client.dispose();
	await symlink(run, `${run}-link`);
	(await connectRun(`${run}-link`, { id: 'id' }, 'test')).dispose();
	assert.equal((await engineProcess(run, { id: 'id' }))?.pid, process.pid);
	await assert.rejects(connectRun(run, { id: 'other' }, 'test'), { reason: 'unavailable' });
});

test('a copy of a run folder does not lead to the original engine', unix, async (context) => {
	const { run } = await place(context);
	const server = await openControl(run, 'id', nothing);
	context.after(() => server.dispose());
	await cp(run, `${run}-copy`, { recursive: true });
	await assert.rejects(connectRun(`${run}-copy`, { id: 'id' }, 'test'), { reason: 'unavailable' });
	assert.equal(await engineProcess(`${run}-copy`, { id: 'id' }), null);
});

test('an engine started with a different runtime folder is found too', unix, async (context) => {
	const { run } = await place(context);
	const set = process.env.XDG_RUNTIME_DIR;
	delete process.env.XDG_RUNTIME_DIR;
	const server = await openControl(run, 'id', nothing);
	context.after(() => server.dispose());
	process.env.XDG_RUNTIME_DIR = set;
	(await connectRun(run, { id: 'id' }, 'test')).dispose();
});

test('a served checkpoint is found by its folder', unix, async (context) => {
	const { run } = await place(context);
	const server = await openControl(run, servedId, { serving: true, handlers: {} });
	context.after(() => server.dispose());
	const client = await connectServed(run, 'test');
	assert.equal(client.engine.serving, true);
	client.dispose();
});

test('socket paths are short, however long the run path is', unix, async (context) => {
	const { run } = await place(context);
	const deep = join(run, 'd'.repeat(200), 'é'.repeat(100));
	await mkdir(deep, { recursive: true });
	const { socketPath } = await controlLocation(deep, 'i'.repeat(500));
	assert.ok(Buffer.byteLength(socketPath) <= 100, socketPath);
	// A runtime folder with an overlong path is skipped.
	process.env.XDG_RUNTIME_DIR = join(run, 'r'.repeat(120));
	await mkdir(process.env.XDG_RUNTIME_DIR);
	const location = await controlLocation(deep, 'id');
	assert.ok(Buffer.byteLength(location.socketPath) <= 100, location.socketPath);
	assert.deepEqual((await controlLocations(deep, 'id')).at(-1), location);
});

test('a runtime folder that is accessible to others, a link, or a file is not used', unix, async (context) => {
	const { run, runtime } = await place(context);
	const fallback = `/tmp/reasoning-lab-${process.getuid?.()}`;
	assert.equal(await runtimeFolder(), runtime);
	await chmod(runtime, 0o755);
	assert.equal(await runtimeFolder(), fallback);
	await rm(runtime, { recursive: true });
	await mkdir(`${run}/elsewhere`, { mode: 0o700 });
	await symlink(`${run}/elsewhere`, runtime);
	assert.equal(await runtimeFolder(), fallback);
	await rm(runtime);
	await writeFile(runtime, '');
	assert.equal(await runtimeFolder(), fallback);
	assert.deepEqual(await readdir(run), ['elsewhere']);
});

test('a token in a folder that is accessible to others is not trusted', unix, async (context) => {
	const { run, runtime } = await place(context);
	const server = await openControl(run, 'id', nothing);
	context.after(() => server.dispose());
	await chmod(runtime, 0o777);
	await assert.rejects(connectRun(run, { id: 'id' }, 'test'), {
		reason: 'denied',
		message: /accessible to other users/,
	});
});

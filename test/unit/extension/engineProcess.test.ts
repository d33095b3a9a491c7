import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { endEngine } from '../../../src/extension/engineProcess.ts';
import { ownIdentity, processStart } from '../../../src/processes/processIdentity.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';

// Short, because socket paths have a length limit.
const runtime = realpathSync(mkdtempSync(join(tmpdir(), 'rl-')));
process.env.XDG_RUNTIME_DIR = runtime;
const started: ChildProcess[] = [];
after(() => {
	for (const child of started) child.kill('SIGKILL');
	rmSync(runtime, { recursive: true, force: true });
});

const control = new URL('../../../src/runs/runControl.ts', import.meta.url).href;

/** Starts a process that runs until it is killed; with `id` it opens the run's endpoint like an engine. */
async function start(program: string, id?: string): Promise<{ child: ChildProcess; record: RunRecord }> {
	const open =
		id === undefined
			? ''
			: `const { openControl } = await import(${JSON.stringify(control)});
				await openControl(${JSON.stringify(runtime)}, ${JSON.stringify(id)}, { serving: false, handlers: {} });`;
	const source = `${program}; ${open} setInterval(() => {}, 1000); console.log('up');`;
	const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	started.push(child);
	await once(child.stdout as NodeJS.ReadableStream, 'data');
	const pid = child.pid as number;
	const identity = { ...(await ownIdentity()), pid, processStart: (await processStart(pid)) ?? '' };
	return { child, record: { ...identity, id: id ?? 'none', status: 'running' } as RunRecord };
}

test('an engine that handles SIGTERM exits on the signal', { timeout: 60_000 }, async () => {
	const { child, record } = await start(`process.on('SIGTERM', () => process.exit(7))`, 'heeds');
	const exit = once(child, 'exit');
	await endEngine(runtime, record);
	assert.equal((await exit)[0], process.platform === 'win32' ? null : 7);
	await endEngine(runtime, record); // The process is already gone.
});

test('an engine that ignores SIGTERM is killed', {
	timeout: 60_000,
	skip: process.platform === 'win32' && 'Windows has no SIGTERM to ignore',
}, async () => {
	const { child, record } = await start(`process.on('SIGTERM', () => {})`, 'stubborn');
	const exit = once(child, 'exit');
	await endEngine(runtime, record);
	assert.equal((await exit)[1], 'SIGKILL');
});

test('a process that only the run folder identifies as the engine is left alone', { timeout: 60_000 }, async () => {
	const { child, record } = await start('');
	await assert.rejects(endEngine(runtime, record), /did not identify itself as the engine/);
	await assert.rejects(endEngine(runtime, { ...record, host: 'elsewhere' }), /runs on elsewhere/);
	await endEngine(runtime, { ...record, processStart: 'another time' });
	assert.equal(child.exitCode, null);
	assert.equal(child.signalCode, null);
});

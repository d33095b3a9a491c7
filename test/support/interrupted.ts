/** Interrupts `npm test`: runs the real script in its own process group, as a terminal would. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { root } from '../scripts/paths.ts';
import { ProcessFamily } from '../scripts/process.ts';

/**
 * Interrupts `npm test` once a certain process is running, and fails if it leaves processes or files behind.
 * @param args arguments for `npm test`
 * @param running matches the command line of the process to wait for
 */
export async function interrupted(t: TestContext, args: readonly string[], running: RegExp): Promise<void> {
	const folder = mkdtempSync(join(tmpdir(), 'i-'));
	const temporary = join(folder, 't');
	mkdirSync(temporary);
	const child = start(folder, temporary, args);
	const family = new ProcessFamily(temporary);
	t.after(() => {
		family.endAtOnce();
		rmSync(folder, { recursive: true, force: true });
	});
	const matches = () => [...family.look().values()].some((command) => running.test(command));
	// Each check reads the environment of every process on the machine.
	await until(`${running} runs (${child.output()})`, () => matches() || child.process.exitCode !== null, 100);
	assert.equal(child.process.exitCode, null, child.output());
	process.kill(-(child.process.pid as number), 'SIGINT');
	await until('the run ends', () => child.process.exitCode !== null || child.process.signalCode !== null);
	assert.equal(child.process.exitCode, 130, child.output());
	assert.match(child.output(), /Interrupted: the rest was not run/);
	assert.deepEqual([...family.look().values()], []);
	assert.deepEqual(readdirSync(temporary), []);
}

const limitSeconds = 120;

async function until(what: string, condition: () => boolean, everyMs = 20): Promise<void> {
	for (const end = performance.now() + limitSeconds * 1000; !condition(); ) {
		assert.ok(performance.now() < end, `Waited ${limitSeconds} s for: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, everyMs));
	}
}

function start(
	folder: string,
	temporary: string,
	args: readonly string[],
): { process: ChildProcess; output(): string } {
	const script = [join(root, 'test/scripts/start.mjs'), 'test/scripts/test.ts', ...args, '--built'];
	const child = spawn(process.execPath, script, {
		cwd: root,
		env: {
			...process.env,
			TMPDIR: temporary,
			TEST_ARTIFACTS: join(folder, 'artifacts'),
			// Start it as if from a shell: the runner must not share this test runner's resources.
			TEST_BROWSER_SERVER: undefined,
		},
		stdio: ['ignore', 'pipe', 'pipe'],
		detached: true,
	});
	let text = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (more: string) => {
			text += more;
		});
	return { process: child, output: () => text };
}

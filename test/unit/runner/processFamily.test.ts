import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProcessFamily, processesIn } from '../../scripts/process.ts';

const linux = process.platform === 'linux' ? false : 'processes are found in /proc';

test('descendants without the environment of the family belong to it, even after their parent has exited', {
	skip: linux,
}, async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'family-'));
	const family = new ProcessFamily(folder);
	t.after(() => {
		family.endAtOnce();
		rmSync(folder, { recursive: true });
	});
	// Like a browser's pages and parts of Ray.
	const parent = spawn('sh', ['-c', 'env -i sleep 600 & echo started; wait'], {
		env: { PATH: process.env.PATH, TMPDIR: folder },
		stdio: ['ignore', 'pipe', 'ignore'],
	});
	await once(parent.stdout, 'data');
	const commands = (found: ReadonlyMap<number, string>) => [...found.values()].sort();
	while (!commands(family.look()).includes('sleep 600')) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.ok(!commands(processesIn(folder)).includes('sleep 600'));
	parent.kill('SIGKILL');
	await once(parent, 'exit');
	assert.deepEqual(commands(family.look()), ['sleep 600']);
	assert.deepEqual(family.endAtOnce(), ['sleep 600']);
	while (family.look().size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.deepEqual(family.endAtOnce(), []);
});

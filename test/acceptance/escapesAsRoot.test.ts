/** Makes every escape attempt in a bubblewrap sandbox started by root without a separate user. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { checkIsolation } from '../../src/rewards/sandbox/isolationCheck/checkIsolation.ts';
import { escapeAttempts } from '../../src/rewards/sandbox/isolationCheck/isolationAttempts.ts';
import { testSandbox } from '../unit/rewards/sandboxFixture.ts';

// No kernel limit counts the processes of root, so the supervisor must.
const { sandbox, skip } = await testSandbox({ dropUser: false });
const isRoot = process.getuid?.() === 0;

describe('bubblewrap as root', { skip: isRoot ? skip : 'requires root' }, () => {
	test('contains every escape attempt and leaves nothing behind', async (context) => {
		const workspace = await mkdtemp(join(tmpdir(), 'sandbox-workspace-'));
		context.after(() => rm(workspace, { recursive: true, force: true }));
		const report = await checkIsolation(sandbox, { workspace });
		const open = report.attempts.filter(({ outcome }) => outcome !== 'held' && outcome !== 'skipped');
		assert.deepEqual(
			open.map(({ id, outcome, evidence }) => `${id} ${outcome}: ${evidence}`),
			[],
		);
		assert.equal(report.held + report.skipped, escapeAttempts.length);
		const bomb = report.attempts.find(({ id }) => id === 'fork-bomb');
		const max = Math.max(...(bomb?.evidence.match(/\d+/g) ?? ['200']).map(Number));
		assert.ok(max < 200, bomb?.evidence);
		assert.deepEqual(await readdir(workspace), []);
	});
});

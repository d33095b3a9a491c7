import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import type { Notices } from '../../../../src/extension/notices.ts';
import { writeExploredRun } from '../../webview/rollouts/exploredRunFixture.ts';

const { exportRun } = await import('../../../../src/extension/rollouts/exportCommand.ts');

const place = await mkdtemp(join(tmpdir(), 'export-command-'));
after(() => rm(place, { recursive: true, force: true }));
const notices = {} as Notices;

test('an export without dialogs writes to the given path, which must be absolute', async () => {
	const folder = join(place, 'run');
	await writeExploredRun(folder, 2);
	const run = { folder, name: 'bakery' };
	const out = join(place, 'out', 'sft.jsonl');
	const summary = await exportRun(run, { as: 'sft', out, step: 1 }, notices);
	assert.ok(typeof summary === 'object' && summary.written > 0);
	assert.equal((await readFile(out, 'utf8')).trimEnd().split('\n').length, summary.written);
	for (const wrong of [relative(process.cwd(), join(place, 'lost.jsonl')), 'lost.jsonl', '']) {
		await assert.rejects(exportRun(run, { as: 'sft', out: wrong }, notices), /absolute|requires/);
	}
});

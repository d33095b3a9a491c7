import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkpointsStamp, manifestName } from '../../../src/runs/checkpointFiles.ts';

test('the stamp of checkpoints changes when one is completed or removed', async (t) => {
	const run = await mkdtemp(join(tmpdir(), 'stamp-'));
	t.after(() => rm(run, { recursive: true, force: true }));
	assert.equal(await checkpointsStamp(run), '');
	const folder = join(run, 'checkpoints', 'step_000002');
	await mkdir(folder, { recursive: true });
	const writing = await checkpointsStamp(run);
	await writeFile(join(folder, manifestName), '{}');
	const complete = await checkpointsStamp(run);
	assert.notEqual(writing, complete);
	await mkdir(join(run, 'checkpoints', '.step_000003.deleted'));
	assert.equal(await checkpointsStamp(run), complete, 'other folders are ignored');
	await rm(folder, { recursive: true });
	assert.equal(await checkpointsStamp(run), '');
});

/** Tests the names of runs in addresses: they are stable, and the forms used by earlier addresses still resolve. */
import assert from 'node:assert/strict';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Runs } from '../../../src/mcp/runs.ts';
import { runRecord, writeRecord } from '../webview/rollouts/rolloutsFixture.ts';

test('runs that share a name have names that do not depend on the order of the list', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'mcp-names-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const made = ['a/runs/cold', 'b/runs/cold', 'b/runs/other'].map((path) => join(folder, path));
	for (const run of made) await writeRecord(run, runRecord());
	const [first = '', second = '', other] = made;
	const namesOf = async (folders: readonly string[]) => {
		const list = await new Runs(folders, null).list();
		return new Map(list.map((run) => [run.folder, run.name]));
	};
	const names = await namesOf([join(folder, 'a'), join(folder, 'b')]);
	assert.deepEqual(
		await namesOf([join(folder, 'b'), join(folder, 'a')]).then((map) => map.get(first)),
		names.get(first),
	);
	assert.match(names.get(first) ?? '', /^cold~[0-9a-f]{6}$/);
	assert.notEqual(names.get(first), names.get(second));
	assert.equal(names.get(other ?? ''), 'other');

	const runs = new Runs([join(folder, 'a'), join(folder, 'b')], null);
	for (const [named, found] of [
		[names.get(first), first],
		[names.get(second), second],
		['cold', first],
		['cold~1', first],
		['cold~2', second],
	] as const) {
		assert.equal((await runs.find(named ?? '')).folder, found, named);
	}
	await assert.rejects(runs.find('cold~3'), /Unknown run|No run|not found/i);
	await assert.rejects(runs.find('cold~abcdef'), /Unknown run|No run|not found/i);

	// Its hash stays valid when the other run is gone.
	await rename(first, join(folder, 'a/runs/renamed'));
	const later = new Runs([join(folder, 'a'), join(folder, 'b')], null);
	assert.deepEqual(
		[(await later.find(names.get(second) ?? '')).name, (await later.find('cold')).folder],
		['cold', second],
	);
});

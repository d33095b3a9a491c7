import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startSearch } from '../../../src/search/searchSession.ts';
import { TreeLogWriter } from '../../../src/search/treeLogWriter.ts';
import { contextFor, folderFor, linesOf, problem, scriptIn, specOf } from './searchFixtures.ts';

test('events are written in order, however many arrive at the same time', async (context) => {
	const log = join(await folderFor(context), 'a.jsonl');
	const writer = new TreeLogWriter(log);
	for (let i = 0; i < 3000; i++) {
		writer.write({ t: 'score', at: i, id: i, scorer: 'a', value: i });
		if (i % 700 === 0) await writer.flush();
	}
	await writer.flush();
	assert.deepEqual(
		(await linesOf(log)).map(({ id }) => id),
		Array.from({ length: 3000 }, (_, i) => i),
	);
	await writer.close();
	writer.write({ t: 'score', at: 0, id: 1, scorer: 'late', value: 1 });
	await writer.flush();
	assert.equal((await linesOf(log)).length, 3000);
});

test('a partial line left by a crash does not corrupt the next one', async (context) => {
	const log = join(await folderFor(context), 'a.jsonl');
	await writeFile(log, '{"t":"sco');
	const writer = new TreeLogWriter(log);
	writer.write({ t: 'score', at: 0, id: 1, scorer: 'a', value: 1 });
	await writer.close();
	assert.equal((await readFile(log, 'utf8')).split('\n')[1], '{"t":"score","at":0,"id":1,"scorer":"a","value":1}');
});

test('on a full disk a search ends with a one-sentence error, and its log is intact up to the last line', async (context) => {
	const disk = await smallDisk(context);
	if (disk === null) return;
	const search = contextFor(context, disk);
	// More than the disk can hold, in one-line steps.
	const say = `${'a long line of thought. '.repeat(40)}\n`.repeat(40);
	const file = await scriptIn(await folderFor(context), { name: 'long', rules: [{ say }] });
	const log = join(disk, 'a.jsonl');
	const spec = specOf({ policy: { kind: 'scripted', file }, strategy: 'self-consistency', params: { n: 200 } });
	const whole = startSearch({ spec, problem, log, context: search }).then(({ result }) => result);
	await assert.rejects(whole, { reason: 'full', action: /Free some disk space/ });
	const lines = await linesOf(log);
	assert.equal(lines[0]?.t, 'start');
	assert.ok(lines.length > 3 && lines.length < 200, `${lines.length} lines`);
	lines.slice(1).forEach(({ t, id }, i) => {
		if (t === 'node') assert.equal(id, i);
	});
});

/** Mounts an in-memory file system of 256 KB, or skips the test with the reason and returns null. */
async function smallDisk(context: TestContext): Promise<string | null> {
	const folder = await mkdtemp(join(tmpdir(), 'search-disk-'));
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder], { stdio: 'pipe' });
	} catch (error) {
		context.skip(`no small file system can be mounted here: ${String((error as Error).message).split('\n')[0]}`);
		await rm(folder, { recursive: true });
		return null;
	}
	context.after(async () => {
		execFileSync('umount', ['-l', folder]);
		await rm(folder, { recursive: true });
	});
	return folder;
}

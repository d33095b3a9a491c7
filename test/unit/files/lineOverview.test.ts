import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Failure } from '../../../src/base/failure.ts';
import { Random } from '../../../src/base/random.ts';
import { overviewLines } from '../../../src/files/lineOverview.ts';
import { temporaryFolder } from '../runs/runFixtures.ts';

const name = 'metrics.jsonl';

/** Returns the line numbers in an overview; each line contains its own number. */
async function numbers(folder: string, lines: number): Promise<number[] | null> {
	const overview = await overviewLines(folder, name, { lines, atLeast: 1000 });
	return overview?.map((line) => JSON.parse(Buffer.from(line).toString()).step) ?? null;
}

test('a sample of a long file covers all of it, including the first and last lines', async (context) => {
	const folder = await temporaryFolder(context);
	for (let seed = 1; seed <= 8; seed++) {
		const random = Random.of('overview', seed);
		const count = 2000 + random.int(3000);
		const text = Array.from({ length: count }, (_, i) =>
			JSON.stringify({ step: i + 1, text: 'é'.repeat(random.int(seed * 40)) }),
		);
		// A partial last line does not count.
		await writeFile(join(folder, name), `${text.join('\n')}\n{"step": ${count + 1}, "te`);
		const found = (await numbers(folder, 100)) as number[];
		assert.equal(found[0], 1, `seed ${seed}`);
		assert.equal(found.at(-1), count, `seed ${seed}`);
		assert.ok(found.length >= 40 && found.length <= 100, `seed ${seed}: ${found.length} lines`);
		for (const [i, step] of found.slice(1).entries()) {
			const gap = step - (found[i] as number);
			assert.ok(gap > 0 && gap < count / 20, `seed ${seed}: ${found[i]} to ${step} of ${count}`);
		}
	}
});

test('a file with oversized lines has no overview and is read only within the window', async (context) => {
	const folder = await temporaryFolder(context);
	await writeFile(join(folder, name), `${'x'.repeat(5 << 20)}\n`);
	assert.deepEqual(await overviewLines(folder, name, { atLeast: 1000 }), []);
	await writeFile(join(folder, name), 'x'.repeat(5 << 20));
	assert.deepEqual(await overviewLines(folder, name, { atLeast: 1000 }), []);
	await writeFile(join(folder, name), '\n'.repeat(5000));
	for (const line of (await overviewLines(folder, name, { atLeast: 1000 })) ?? []) assert.equal(line.length, 0);
});

test('a short file needs no overview, and a missing file or a link is rejected', async (context) => {
	const folder = await temporaryFolder(context);
	await assert.rejects(overviewLines(folder, name), (error: Failure) => error.reason === 'missing');
	await writeFile(join(folder, name), '{"step": 1}\n');
	assert.equal(await overviewLines(folder, name), null);
	await writeFile(join(folder, name), '');
	assert.equal(await overviewLines(folder, name, { atLeast: 0 }), null);
	await symlink(join(folder, name), join(folder, 'link.jsonl'));
	await assert.rejects(overviewLines(folder, 'link.jsonl'), (error: Failure) => error.reason === 'invalid');
});

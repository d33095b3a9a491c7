import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { openTable } from '../../../../src/runs/dataset/openTable.ts';
import { sampleTable } from '../../../../src/runs/dataset/sampleTable.ts';
import { ParquetRows } from '../../../../src/runs/importers/decoding/parquetRows.ts';
import { root } from '../../../scripts/paths.ts';
import { builtProgram } from '../../../support/programs.ts';

const bomb = (name: string) => join(root, 'test/fixtures/bombs', `${name}.parquet`);

test('rows that decode to far more bytes than the file contains are an error', async (t) => {
	const file = await open(bomb('texts'), 'r');
	t.after(() => file.close());
	const { size } = await file.stat();
	assert.ok(size < 10_000);
	const rows = new ParquetRows(file.fd, size);
	assert.equal((await rows.shape()).rows, 100_000);
	await assert.rejects(rows.rows(0, 512), /^Error: its rows decode to more than \d+ bytes from a file of \d+$/);
});

test('a legitimate file is read in batches of limited size', async (t) => {
	const file = await open(bomb('texts'), 'r');
	t.after(() => file.close());
	// Pretend that the file is as large as its decoded rows.
	const rows = new ParquetRows(file.fd, (await file.stat()).size, undefined, 2 ** 42);
	let read = 0;
	for (let from = 0; from < 64; ) {
		const answer = await rows.rows(from, 64);
		assert.ok(answer.length > 0 && answer.length <= 8, `${answer.length} rows of 4 MB`);
		from += answer.length;
		read += answer.length;
	}
	assert.equal(read, 64);
});

for (const name of ['texts', 'page', 'nulls']) {
	test(`dataset check on ${name}.parquet fails with a reason, using at most 500 MB`, async () => {
		const reporter = "data:text/javascript,process.on('exit',()=>console.error('kB',process.resourceUsage().maxRSS))";
		const check = [builtProgram('dist/cli.js'), 'dataset', 'check', bomb(name), '--answer', 'answer'];
		const { code, stderr } = await promisify(execFile)(process.execPath, ['--import', reporter, ...check]).then(
			() => assert.fail('the check succeeded'),
			(error: { code: number; stderr: string }) => error,
		);
		assert.equal(code, 2, stderr);
		assert.match(stderr, /parquet, row 1, (cannot be read: |has no column).+/);
		const kilobytes = Number(/^kB (\d+)/m.exec(stderr)?.[1]);
		assert.ok(kilobytes < 500_000, `${kilobytes} kB`);
	});
}

test('the initial sample has a limit in bytes', async (t) => {
	const table = await openTable(bomb('texts'));
	t.after(() => table.close());
	const { values } = await sampleTable(table);
	assert.deepEqual(values, []);
});

for (const [name, text] of [
	['deep', '['.repeat(12 << 20)],
	['many', `[${'[],'.repeat(4 << 20)}0]`],
	['line', `{"prompt":${'['.repeat(12 << 20)}\n`],
] as const) {
	test(`JSON whose values take far more memory than its text is rejected: ${name}`, async (t) => {
		const folder = await mkdtemp(join(tmpdir(), 'rl-json-'));
		t.after(() => rm(folder, { recursive: true }));
		await writeFile(join(folder, 'recipe.json'), text);
		const program = [
			"import { readSmallFile, readJson } from './src/files/safeFile.ts';",
			"import { parseLine } from './src/files/jsonLines.ts';",
			`const text = await readSmallFile(process.argv[1], 'recipe.json');`,
			'const line = parseLine(Buffer.from(text));',
			"const failure = await readJson(process.argv[1], 'recipe.json').catch((error) => error.message);",
			'console.log(JSON.stringify({ line: line ?? null, failure, kB: process.resourceUsage().maxRSS }));',
		].join('\n');
		const { stdout } = await promisify(execFile)(
			process.execPath,
			['--input-type=module', '--max-old-space-size=300', '--eval', program, '--', folder],
			{ cwd: root },
		);
		const { line, failure, kB } = JSON.parse(stdout) as { line: unknown; failure: string; kB: number };
		assert.equal(line, null);
		assert.match(
			failure,
			/recipe\.json is not valid JSON: (more than \d+ values|values are nested more than 500 levels)/,
		);
		assert.ok(kB < 500_000, `${kB} kB`);
	});
}

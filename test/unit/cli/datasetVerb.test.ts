import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { builtProgram } from '../../support/programs.ts';

const run = (...args: string[]) =>
	promisify(execFile)(process.execPath, [builtProgram('dist/cli.js'), 'dataset', ...args]);

const jsonl = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n');

test('check describes a dataset and reports duplicates and test contamination', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'dataset-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const data = join(folder, 'train.jsonl');
	const tests = join(folder, 'test.jsonl');
	const question = 'A train leaves the station at noon and goes forty miles an hour until it stops for water.';
	await writeFile(
		data,
		jsonl([
			{ question: 'How many legs have three cats?', answer: 12 },
			{ question: 'how many legs have three cats', answer: '12' },
			{ question: `Read this. ${question.toUpperCase()} When?`, answer: '3 pm', solution: 'At \u001b[31m3.' },
		]),
	);
	await writeFile(tests, jsonl([{ question, answer: '2' }]));
	const clean = await run('check', data, '--prompt', 'question');
	assert.match(clean.stdout, /^train\.jsonl: 3 rows, 2 distinct, /);
	assert.match(clean.stdout, /integer 2, text 1/);
	assert.match(clean.stdout, /Exact duplicates: 1 group\n {2}rows 1, 2: "How many legs have three cats\?"/);

	const found = await run('check', data, '--prompt', 'question', '--against', tests).then(
		() => assert.fail('an overlap must end with a nonzero status'),
		(error: { code: number; stdout: string }) => error,
	);
	assert.equal(found.code, 1);
	assert.match(found.stdout, /Against test\.jsonl \(1 row\): 1 row overlaps/);
	assert.match(
		found.stdout,
		/row 3 overlaps with row 1 of test\.jsonl: "a train leaves the station at noon and goes forty"/,
	);
	const table = join(folder, 'test.csv');
	await writeFile(table, `question,answer\n"${question}",2\n`);
	const csv = await run('check', data, '--prompt', 'question', '--against', table).catch((error) => error);
	assert.match(csv.stdout, /Against test\.csv \(1 row\): 1 row overlaps/);
	const json = JSON.parse(
		(await run('check', data, '--prompt', 'question', '--against', tests, '--json').catch((error) => error)).stdout,
	);
	assert.deepEqual(json.duplicates.exact, [[0, 1]]);
	assert.equal(json.contaminated[0].row, 2);
});

test('columns are detected the same way as in the dataset view', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'dataset-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const data = join(folder, 'gsm.jsonl');
	await writeFile(
		data,
		jsonl([
			{ question: 'How many are 2 and 3?', answer: '2+3 = <<2+3=5>>5\n#### 5' },
			{ question: 'How many are 1,000 and 34?', answer: 'Added up.\n#### 1,034' },
		]),
	);
	const result = JSON.parse((await run('check', data, '--json')).stdout);
	assert.deepEqual(result.columns, { prompt: 'question', answer: 'answer', solution: 'answer', preset: 'gsm8k' });
	assert.equal(result.facts.withSolution, 2);
	assert.deepEqual(result.facts.answerKinds, [['integer', 2]]);
	assert.match((await run('check', data)).stdout, /answer: follows "####" in "answer"\n/);
	// A column specified explicitly is read unchanged.
	const named = JSON.parse((await run('check', data, '--answer', 'question', '--json')).stdout);
	assert.deepEqual(named.columns, { prompt: 'question', answer: 'question', solution: null, preset: null });
	await writeFile(data, `\n\n${jsonl([{ problem: 'One?', answer: 1 }])}\n\n${jsonl([{ problem: 'Two?' }])}\n`);
	await assert.rejects(run('check', data), {
		code: 2,
		stderr: /gsm\.jsonl, line 5, has no column "answer".*--answer/s,
	});
});

test('a dataset is processed in bounded memory', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'dataset-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const data = join(folder, 'large.jsonl');
	const filler = 'word '.repeat(400);
	const rows = Array.from({ length: 16_000 }, (_, i) => ({
		prompt: `${i} of ${i % 5000}`,
		answer: i,
		solution: filler,
	}));
	await writeFile(data, jsonl([...rows, { prompt: 'Another (1 of 1)', answer: 1 }, { prompt: '7 of 7', answer: 2 }]));
	// The file is 33 MB; as rows and strings, it would not fit in the available heap.
	const { stdout } = await promisify(execFile)(process.execPath, [
		'--max-old-space-size=32',
		builtProgram('dist/cli.js'),
		'dataset',
		'check',
		data,
		'--json',
	]);
	const result = JSON.parse(stdout);
	assert.equal(result.facts.rows, 16_002);
	assert.deepEqual(result.duplicates, { exact: [[7, 16_001]], near: [] });
});

test('invalid input is reported in one message', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'dataset-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const data = join(folder, 'one.jsonl');
	await writeFile(data, jsonl([{ prompt: 'only one row', answer: 1 }]));
	assert.match((await run('check', data)).stdout, /^one\.jsonl: 1 row, 1 distinct/);
	await assert.rejects(run('mend', data), /action of reasoning-lab dataset is "mend"/);
	await assert.rejects(run('check', data, '--prompt', 'question'), /one\.jsonl, line 1, has no column "question"/);
	await assert.rejects(run('check', join(folder, 'gone.jsonl')), /does not exist/);
});

test('problems from a task and from a recipe are written as JSONL', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'dataset-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const at = (name: string) => join(folder, name);
	const lines = async (name: string) =>
		(await readFile(at(name), 'utf8'))
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line));
	const result = await run(
		'export',
		'{"task":"addition","digits":2}',
		'--rows',
		'30',
		'--out',
		at('a.jsonl'),
		'--json',
	);
	assert.deepEqual(JSON.parse(result.stdout), {
		kind: 'dataset',
		file: at('a.jsonl'),
		source: 'addition',
		part: 'training',
		seed: 0,
		rows: 30,
	});
	const rows = await lines('a.jsonl');
	assert.equal(rows.length, 30);
	for (const { prompt, answer } of rows) {
		const [a = 0, b = 0] = prompt.match(/\d+/g).map(Number);
		assert.equal(answer, String(a + b));
	}
	const again = ['export', 'addition', '--rows', '5', '--out', at('a.jsonl')];
	await assert.rejects(run(...again), { code: 2, stderr: /already exists/ });
	await run(...again, '--replace', '--part', 'held-out');
	assert.equal((await lines('a.jsonl')).length, 5);
	await writeFile(at('data.jsonl'), jsonl(Array.from({ length: 40 }, (_, i) => ({ prompt: `p${i}`, answer: i }))));
	const recipe = { format: 1, name: 'x', dataset: { path: 'data.jsonl' }, model: { layers: 1, width: 8, heads: 1 } };
	const stages = [{ type: 'grpo', steps: 1, learning_rate: 1e-4, max_completion_length: 8 }];
	await writeFile(at('x.recipe.json'), JSON.stringify({ ...recipe, stages }));
	await run('export', at('x.recipe.json'), '--out', at('train.jsonl'));
	await run('export', at('x.recipe.json'), '--out', at('held.jsonl'), '--part', 'held-out');
	const [train, held] = [await lines('train.jsonl'), await lines('held.jsonl')];
	assert.equal(train.length + held.length, 40);
	assert.equal(new Set([...train, ...held].map(({ prompt }) => prompt)).size, 40);
	await assert.rejects(run('export', 'nothing', '--out', at('b.jsonl')), { stderr: /neither a task nor a recipe/ });
	await assert.rejects(run('export', 'addition'), { stderr: /requires an output file/ });
});

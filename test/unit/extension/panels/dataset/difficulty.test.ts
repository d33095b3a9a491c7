import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runEvaluation } from '../../../../../src/extension/evaluation/evaluationProcess.ts';
import { DatasetSession } from '../../../../../src/extension/panels/dataset/datasetSession.ts';
import { type DatasetSnapshot, noFilter } from '../../../../../src/protocol/datasetMessages.ts';
import { openTable } from '../../../../../src/runs/dataset/openTable.ts';
import { readPassRates } from '../../../../../src/runs/dataset/passRates.ts';
import { builtProgram } from '../../../../support/programs.ts';

test('a policy is evaluated on the displayed rows, and its pass rates are joined to them', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'difficulty-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	// GSM8K-style answers, with whitespace that the evaluation may not preserve.
	const rows = Array.from({ length: 6 }, (_, i) => ({
		question: `  What is ${i}\n plus 0?`,
		answer: `It is ${i}.\n#### ${i}`,
		kind: i < 5 ? 'asked' : 'not asked',
	}));
	const file = join(folder, 'train.jsonl');
	await writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'));
	const reported: DatasetSnapshot[] = [];
	const session = new DatasetSession({
		label: 'train.jsonl',
		name: 'train.jsonl',
		open: () => openTable(file),
		post: (snapshot) => reported.push(snapshot),
	});
	t.after(() => session.dispose());
	await session.begin();
	const conditions = [{ column: 'kind', operator: '=' as const, value: 'asked' }];
	await session.show({ ...noFilter, conditions }, null);
	await session.settled();
	const dataset = join(folder, 'problems.jsonl');
	assert.equal(await session.exportProblems(dataset), 5);
	// A policy that knows two of the answers.
	const policy = join(folder, 'policy.json');
	const knows = (n: number) => ({ prompt: `*What is ${n}\n*`, say: `<think>easy</think><answer>${n}</answer>` });
	await writeFile(
		policy,
		JSON.stringify({ rules: [knows(1), knows(3), { say: '<think>?</think><answer>9</answer>' }] }),
	);
	const out = join(folder, 'evaluation');
	const { done, total } = await runEvaluation({
		cli: builtProgram('dist/cli.js'),
		node: process.execPath,
		cwd: folder,
		args: [
			'--policy',
			JSON.stringify({ kind: 'scripted', file: policy }),
			'--dataset',
			dataset,
			'--samples',
			'2',
			'--out',
			out,
		],
		signal: new AbortController().signal,
		onProgress: () => undefined,
	});
	assert.deepEqual([done, total], [5, 5]);
	await session.setPassRates(await readPassRates(out));
	await session.show(noFilter, { column: 'pass rate', descending: true });
	await session.settled();
	await session.begin();
	const { version, view, difficulty, columns } = reported.at(-1) as DatasetSnapshot;
	assert.deepEqual(difficulty, { name: 'evaluation', rows: 5, questions: 5 });
	assert.deepEqual(columns[0], { name: 'pass rate', type: 'number', length: 5, computed: true });
	const shown = await session.rows(version, view.number, 0, 10);
	assert.deepEqual(
		shown.rows.map(({ row, cells }) => [row, cells[0]]),
		[
			[1, '1'],
			[3, '1'],
			[0, '0'],
			[2, '0'],
			[4, '0'],
			[5, ''],
		],
	);
});

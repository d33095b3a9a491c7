import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { folderFor } from '../../search/searchFixtures.ts';
import { type Asked, faults, type Reply, replies, window, workspace } from '../vscodeStandIn.ts';

const { askProblem } = await import('../../../../src/extension/search/problemQuestion.ts');

/** Asks with these replies, all of which must be used. @returns the problem, or null, and the questions */
async function ask(...answers: readonly Reply[]) {
	const asked: Asked[] = [];
	replies.push(
		...answers.map((reply) => (one: Asked) => {
			asked.push(one);
			return reply;
		}),
	);
	const answer = await askProblem({ title: 'New Search: problem', step: 1, steps: 1 });
	assert.equal(replies.length, 0, 'fewer questions were asked than expected');
	return { problem: answer === 'back' || answer === 'cancel' ? null : answer.value, asked };
}

afterEach(() => {
	replies.length = 0;
	faults.length = 0;
	Object.assign(window, { activeTextEditor: undefined });
	Object.assign(workspace, { findFiles: undefined });
});

test('a problem is entered with its answer, or without one', async () => {
	const type = { pick: '$(edit) Enter problem...' };
	const { problem } = await ask(type, { type: ['  ', 'What is 17 + 25?'] }, { type: [' 42 '] });
	assert.deepEqual(faults.slice(0, 2), ['Enter the problem.', null]);
	assert.deepEqual(problem, { prompt: 'What is 17 + 25?', answer: '42', row: {} });
	const open = await ask(type, 'back', type, { type: ['Why?'] }, { type: [''] });
	assert.deepEqual(open.problem, { prompt: 'Why?', answer: null, row: {} });
});

test('dataset rows are found, even the last one without a line ending, and a file without problems is reported', async (context) => {
	const folder = await folderFor(context);
	const file = (name: string) => ({ scheme: 'file', path: join(folder, name), fsPath: join(folder, name) });
	await writeFile(
		join(folder, 'b.jsonl'),
		'{"prompt":"1+1=","answer":2}\nnot json\n{"prompt":"How many?"}\n{"prompt":"2+2=","answer":"4"}',
	);
	await writeFile(join(folder, 'a.jsonl'), '{"label":"nothing"}\n');
	Object.assign(workspace, { findFiles: async () => [file('b.jsonl'), file('a.jsonl')] });
	const dataset = { pick: '$(database) Dataset row...' };
	const { problem, asked } = await ask(dataset, { pick: /b\.jsonl$/ }, { pick: '2+2=' });
	assert.deepEqual([problem?.prompt, problem?.answer], ['2+2=', '4']);
	assert.deepEqual(
		asked[1]?.items.map(({ label }) => label.replace(`${folder}/`, '')),
		['$(database) a.jsonl', '$(database) b.jsonl', '$(folder-opened) Another dataset file...'],
	);
	assert.deepEqual(
		asked[2]?.items.map(({ label, description }) => [label, description]),
		[
			['1+1=', 'line 1, answer 2'],
			['How many?', 'line 3'],
			['2+2=', 'line 4, answer 4'],
		],
	);
	const back = await ask(dataset, { pick: /b\.jsonl$/ }, 'back', 'back', 'cancel');
	assert.equal(back.problem, null);
	await assert.rejects(ask(dataset, { pick: /a\.jsonl$/ }), /a\.jsonl has no rows with a problem/);
});

test('only the first 5,000 problems of a long file are offered', async (context) => {
	const folder = await folderFor(context);
	const path = join(folder, 'long.jsonl');
	const rows = Array.from({ length: 5001 }, (_, i) => `${JSON.stringify({ prompt: `${i}+1=` })}\n`);
	await writeFile(path, `not json\n${rows.join('')}`);
	Object.assign(workspace, { findFiles: async () => [{ scheme: 'file', path, fsPath: path }] });
	const dataset = { pick: '$(database) Dataset row...' };
	const { asked } = await ask(dataset, { pick: /long\.jsonl$/ }, { pick: '4999+1=' });
	const items = asked[2]?.items ?? [];
	assert.deepEqual([items.length, items.at(-1)?.description], [5000, 'line 5001']);
});

test('the selected text and the row at the cursor are offered if present', async () => {
	const line = '{"prompt":"3+4=","answer":"7"}';
	Object.assign(window, {
		activeTextEditor: {
			selection: { active: { line: 0 } },
			document: { getText: () => ' some words ', lineAt: () => ({ text: line }) },
		},
	});
	const row = await ask({ pick: '$(list-flat) Row at the cursor' });
	assert.deepEqual([row.problem?.prompt, row.problem?.answer], ['3+4=', '7']);
	const words = await ask({ pick: '$(selection) Selected text' });
	assert.deepEqual(words.problem, { prompt: 'some words', answer: null, row: {} });
});

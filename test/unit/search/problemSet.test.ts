import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { problemsOf } from '../../../src/cli/problemArguments.ts';
import type { ProblemsSpec } from '../../../src/protocol/strategyComparison.ts';
import { firstProblems } from '../../../src/runs/dataset/tableProblems.ts';
import { openProblemSet, readProblemRow } from '../../../src/search/problemSet.ts';
import { folderFor } from './searchFixtures.ts';

async function read(spec: ProblemsSpec, folder = '.') {
	const faults: string[] = [];
	const prompts: string[] = [];
	const set = await openProblemSet(spec, folder);
	for await (const { prompt } of set.problems(({ line, message }) => faults.push(`${line}: ${message}`))) {
		prompts.push(prompt);
	}
	return { prompts, faults };
}

describe('search problems', () => {
	it('are held-out problems or exclude them', async () => {
		const values = { task: '{"task":"addition","digits":2}', limit: 200 };
		const heldOut = await read((await problemsOf(values, 'held-out')) as ProblemsSpec);
		const training = await read((await problemsOf(values, 'training')) as ProblemsSpec);
		assert.deepEqual([heldOut.prompts.length, training.prompts.length], [200, 200]);
		assert.equal(new Set([...heldOut.prompts, ...training.prompts]).size, 400);
		const named = await read((await problemsOf({ ...values, part: 'held-out' }, 'training')) as ProblemsSpec);
		assert.deepEqual(named, heldOut);
		await assert.rejects(problemsOf({ task: 'nothing' }, 'training'), { message: /^--task is not valid/ });
	});

	it('are rows of a file, numbered by line, whatever the lines contain', async (context) => {
		const folder = await folderFor(context);
		const path = join(folder, 'a.jsonl');
		const long = JSON.stringify({ prompt: 'x'.repeat(17 << 20) });
		await writeFile(path, `{"prompt":"a","answer":"1"}\n\n${long}\nrubbish\n{"prompt":"b","gold":"2"}\n{"prompt":"c"}`);
		const file = { from: 'file', path: 'a.jsonl', prompt: 'prompt' } as const;
		const all = await read({ ...file, answer: 'answer' }, folder);
		assert.deepEqual(all.prompts, ['a', 'b', 'c']);
		assert.equal(all.faults.length, 2);
		assert.match(all.faults[0] as string, /^3: /);
		assert.match(all.faults[1] as string, /^4: /);
		// Naming a missing column is an error.
		const gold = await read({ ...file, answer: 'gold' }, folder);
		assert.deepEqual(gold.prompts, ['b']);
		assert.ok(gold.faults.includes('1: has no column "gold"'));
		assert.deepEqual((await readProblemRow(path, 5)).prompt, 'b');
		await assert.rejects(readProblemRow(path, 4), { reason: 'invalid', message: /line 4/ });
		await assert.rejects(readProblemRow(path, 2), { reason: 'missing', message: /has no row 2/ });
		await assert.rejects(readProblemRow(path, 7), { reason: 'missing', message: /has no row 7/ });
		await assert.rejects(readProblemRow(folder, 1), { reason: 'invalid', message: /contains neither Parquet files/ });
	});

	it('are read from the detected columns, whatever the file format', async (context) => {
		const folder = await folderFor(context);
		const put = (name: string, text: string) => writeFile(join(folder, name), text);
		await put('gsm8k.jsonl', '{"question":"2+3?","answer":"2+3=5\\n#### 5"}\n{"question":"1+1?","answer":"#### 2"}\n');
		await put(
			'math.json',
			'[{"problem":"2+3?","solution":"so \\\\boxed{5}"},{"problem":"1+1?","solution":"\\\\boxed{2}"}]',
		);
		await put('rows.csv', 'query,ground_truth\n"2+3?",5\n1+1?,2\n');
		await put('verl.jsonl', '{"prompt":[{"role":"user","content":"2+3?"}],"reward_model":{"ground_truth":"5"}}\n');
		const answers = async (path: string, named = {}) => {
			const set = await openProblemSet({ from: 'file', path, ...named }, folder);
			const found: (string | null)[] = [];
			for await (const { answer } of set.problems(({ message }) => found.push(message))) found.push(answer);
			return found;
		};
		assert.deepEqual(await answers('gsm8k.jsonl'), ['5', '2']);
		assert.deepEqual(await answers('math.json'), ['5', '2']);
		assert.deepEqual(await answers('rows.csv'), ['5', '2']);
		assert.deepEqual(await answers('verl.jsonl'), ['5']);
		assert.deepEqual(await answers('gsm8k.jsonl', { answer: 'answer', prompt: 'question' }), ['5', '2']);
		assert.equal((await readProblemRow(join(folder, 'rows.csv'), 2)).prompt, '1+1?');
		const path = join(folder, 'rows.csv');
		assert.deepEqual(
			(await firstProblems(path, 1)).map(({ place, problem }) => [place, problem.prompt, problem.answer]),
			[['row 1', '2+3?', '5']],
		);
		await put('none.jsonl', '{"a":1}\n');
		await assert.rejects(answers('none.jsonl'), {
			reason: 'invalid',
			message: /none\.jsonl has no problems: row 1 has no column "prompt" \(it has a\)\.$/,
		});
	});
});

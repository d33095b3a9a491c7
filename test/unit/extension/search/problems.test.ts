import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { problemOfRollout } from '../../../../src/extension/search/problemOfRollout.ts';
import { problemOfLine } from '../../../../src/extension/search/problemOfRow.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { rolloutLineSchema } from '../../../../src/protocol/rolloutLine.ts';
import { folderFor } from '../../search/searchFixtures.ts';

const { readBudget } = await import('../../../../src/core/search/budgetText.ts');

test('the problem and the stated answer are read from the usual dataset columns', () => {
	const of = (row: unknown) => {
		const problem = problemOfLine(JSON.stringify(row));
		return problem && [problem.prompt, problem.answer];
	};
	assert.deepEqual(of({ prompt: '1+1=', answer: 2 }), ['1+1=', '2']);
	assert.deepEqual(of({ question: 'How many?', answer: 'Two and two.\n#### 4' }), ['How many?', '4']);
	assert.deepEqual(of({ problem: 'p', solution: 'long', answer: 'x' }), ['p', 'x']);
	// A rollout completion is not a gold answer.
	assert.deepEqual(of({ prompt: 'p', completion: '7', reward: 0 }), ['p', null]);
	assert.deepEqual(of({ prompt: 'p', response: '7' }), ['p', null]);
	assert.deepEqual(of({ problem: 'p', label: 1, solution: 's' }), ['p', '1']);
	assert.deepEqual(of({ problem: 'p', output: '7' }), ['p', '7']);
	assert.deepEqual(
		of({
			messages: [
				{ role: 'system', content: 's' },
				{ role: 'user', content: 'u' },
			],
		}),
		['u', null],
	);
	for (const row of [{}, { prompt: ' ' }, { prompt: 3 }, [], 'text', null]) assert.equal(of(row), null);
	assert.equal(problemOfLine('{"prompt": "torn'), null);
	assert.equal(problemOfLine(`{"prompt":"${'x'.repeat(1_000_000)}"}`), null);
});

test('the problem of a rollout excludes the text that the prompt template adds', async (context) => {
	const run = await folderFor(context);
	const line = (fields: object) =>
		decodeOrThrow(
			rolloutLineSchema,
			{
				...{ step: 1, stage: 'grpo', group: 0, index: 0, completion: '', rewards: {}, reward: 1, advantage: 0 },
				...{ truncated: false, prompt: '', ...fields },
			},
			'A rollout',
		);
	const template = { name: 'own', prompt: 'Q: {prompt}\nA:', think: null, answer: null };
	await writeFile(join(run, 'recipe.json'), JSON.stringify({ name: 'sums', template }));
	const own = await problemOfRollout(run, line({ prompt: 'Q: 1+1=\nA:', answer: '2', row: { a: 1 } }));
	assert.deepEqual(own, { prompt: '1+1=', answer: '2', row: { a: 1 } });
	assert.equal((await problemOfRollout(run, line({ prompt: 'bare' }))).prompt, 'bare');
	const chat = [
		{ role: 'system', content: 'Be brief.' },
		{ role: 'user', content: 'How many?' },
	];
	assert.deepEqual(await problemOfRollout(run, line({ prompt: chat, row: 7 })), {
		...{ prompt: 'How many?', answer: null, row: {} },
	});
	await assert.rejects(problemOfRollout(run, line({ prompt: '' })), { reason: 'missing' });
});

test('budgets are parsed in the formats people use', () => {
	assert.deepEqual(readBudget('20000 tokens, 60 seconds'), { tokens: 20_000, seconds: 60 });
	assert.deepEqual(readBudget('simulations=100'), { simulations: 100 });
	assert.deepEqual(readBudget('cost 0.5'), { cost: 0.5 });
	for (const text of ['', '12', 'apples 3', 'tokens -1', 'tokens 1 2']) assert.equal(readBudget(text), null, text);
});

import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import type { SearchDraft } from '../../../../src/extension/search/newSearchFlow.ts';
import { folderFor } from '../../search/searchFixtures.ts';
import { type Asked, faults, type Reply, replies, window, workspace } from '../vscodeStandIn.ts';

const { askSearch } = await import('../../../../src/extension/search/newSearchFlow.ts');

const policy = { kind: 'scripted', file: '/w/pupil.json' } as const;
const problem = { prompt: '17+25=', answer: '42', row: {} };
const needs = {
	files: { files: async () => ['/w/own.reward.ts'], rewardsOf: async () => ['own'] } as never,
	askPolicy: async () => ({ value: policy }),
};

/** Runs the flow with these replies, all of which must be used. @returns the search and the questions */
async function ask(given: SearchDraft, last: SearchDraft, ...answers: readonly Reply[]) {
	const asked: Asked[] = [];
	replies.push(
		...answers.map((reply) => (one: Asked) => {
			asked.push(one);
			return reply;
		}),
	);
	const wanted = await askSearch(given, last, needs);
	assert.equal(replies.length, 0, 'it asked for less');
	return { wanted, asked, titles: asked.map(({ title }) => title.replace('New Search: ', '')) };
}

afterEach(() => {
	replies.length = 0;
	faults.length = 0;
	Object.assign(window, { activeTextEditor: undefined });
	Object.assign(workspace, { findFiles: undefined });
});

const go = { pick: '$(check) Continue with these settings' } as const;

test('an entered problem, strategy, parameters, scorer and budget define a search', async () => {
	const { wanted, asked, titles } = await ask(
		{},
		{ strategy: 'best-of-n', budget: { nodes: 7 } },
		{ pick: '$(edit) Enter problem...' },
		{ type: ['  ', 'What is 17 + 25?'] },
		{ type: [' 42 '] },
		{ pick: 'Best of N' },
		go,
		{ pick: 'own' },
		{ pick: '7 nodes' },
	);
	assert.deepEqual(titles, [
		'problem',
		'Problem',
		'Gold answer (optional)',
		'strategy',
		'parameters of Best of N',
		'answer scorer',
		'budget',
	]);
	assert.deepEqual(faults.slice(0, 2), ['Enter the problem.', null]);
	assert.deepEqual(wanted?.problem, { prompt: 'What is 17 + 25?', answer: '42', row: {} });
	assert.equal(wanted?.spec.strategy, 'best-of-n');
	assert.deepEqual(wanted?.spec.guide, {
		use: 'reward',
		reward: { file: '/w/own.reward.ts', name: 'own' },
		gold: false,
	});
	assert.deepEqual(wanted?.spec.budget, { nodes: 7 });
	assert.equal(asked[3]?.proposed, 'Best of N', 'the last strategy is proposed');
	// The policy is selected outside these lists, as the second of six steps.
	assert.deepEqual(
		asked.map(({ step, totalSteps }) => [step, totalSteps]),
		[
			[1, 6],
			[1, 6],
			[1, 6],
			[3, 6],
			[4, 6],
			[5, 6],
			[6, 6],
		],
	);
	// With a known answer, the oracle is offered last.
	assert.equal(asked[5]?.items.at(-1)?.label, 'accuracy');
});

test('values given up front are not asked for, and an oracle needs an answer', async () => {
	const given = {
		policy,
		problem: { ...problem, answer: null },
		strategy: 'best-of-n',
		params: {},
		budget: { nodes: 3 },
	};
	const { wanted, asked } = await ask(given, {}, { pick: 'Majority' });
	assert.deepEqual(wanted?.spec.guide, { use: 'majority' });
	assert.equal(asked.length, 1);
	assert.ok(asked[0]?.items.every(({ label }) => label !== 'accuracy'));
	const none = await ask({ ...given, guide: null }, {});
	assert.deepEqual([none.asked.length, none.wanted?.spec.budget], [0, { nodes: 3 }]);
});

test('Back returns to the previous question, skipping those not asked, and from the first question it cancels', async () => {
	const { titles, wanted } = await ask(
		{ policy, problem },
		{},
		{ pick: 'Best of N' },
		'back',
		{ pick: 'Best of N' },
		go,
		'back',
		go,
		{ pick: 'Self-certainty' },
		'back',
		{ pick: 'Majority' },
		{ pick: /2,000 tokens/ },
	);
	const [strategy, params, scorer, budget] = ['strategy', 'parameters of Best of N', 'answer scorer', 'budget'];
	assert.deepEqual(titles, [strategy, params, strategy, params, scorer, params, scorer, budget, scorer, budget]);
	assert.deepEqual(wanted?.spec.guide, { use: 'majority' });
	const gone = await ask({ policy, problem }, {}, { pick: 'Best of N' }, 'cancel');
	assert.equal(gone.wanted, null);
});

test('parameters show changed values and are validated, and an empty input restores the default', async () => {
	const given = { policy, problem, guide: null, budget: { nodes: 3 } };
	const { wanted, asked } = await ask(
		given,
		{},
		{ pick: 'Best of N' },
		{ pick: 'temperature' },
		{ type: ['hot', '0.5'] },
		{ pick: 'seed' },
		{ type: ['7'] },
		{ pick: 'topP' },
		{ type: ['0.9'] },
		{ pick: 'topP' },
		{ type: [''] },
		go,
	);
	const shown = (at: number, label: string) => asked[at]?.items.find((item) => item.label === label)?.description;
	assert.doesNotMatch(shown(1, 'temperature') ?? '', /changed/);
	assert.equal(shown(3, 'temperature'), '0.5 (changed)');
	assert.doesNotMatch(shown(3, 'seed') ?? '', /changed/);
	assert.equal(shown(5, 'seed'), '7 (changed)');
	assert.equal(shown(7, 'topP'), '0.9 (changed)');
	assert.doesNotMatch(shown(9, 'topP') ?? '', /changed/);
	assert.match(faults[0] ?? '', /temperature/);
	assert.deepEqual(faults.slice(1), [null, null, null, null]);
	assert.equal(wanted?.spec.sampling.temperature, 0.5);
	assert.equal(wanted?.spec.seed, 7);
	assert.notEqual(wanted?.spec.sampling.topP, 0.9);
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
	const given = { policy, strategy: 'best-of-n', params: {}, guide: null, budget: { nodes: 3 } };
	const dataset = { pick: '$(database) Dataset row...' };
	const { wanted, asked } = await ask(given, {}, dataset, { pick: /b\.jsonl$/ }, { pick: '2+2=' });
	assert.deepEqual([wanted?.problem.prompt, wanted?.problem.answer], ['2+2=', '4']);
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
	const back = await ask(given, {}, dataset, { pick: /b\.jsonl$/ }, 'back', 'back', 'cancel');
	assert.equal(back.wanted, null);
	await assert.rejects(ask(given, {}, dataset, { pick: /a\.jsonl$/ }), /a\.jsonl has no rows with a problem/);
});

test('only the first 5,000 problems of a long file are offered', async (context) => {
	const folder = await folderFor(context);
	const path = join(folder, 'long.jsonl');
	const rows = Array.from({ length: 5001 }, (_, i) => `${JSON.stringify({ prompt: `${i}+1=` })}\n`);
	await writeFile(path, `not json\n${rows.join('')}`);
	Object.assign(workspace, { findFiles: async () => [{ scheme: 'file', path, fsPath: path }] });
	const given = { policy, strategy: 'best-of-n', params: {}, guide: null, budget: { nodes: 3 } };
	const dataset = { pick: '$(database) Dataset row...' };
	const { asked } = await ask(given, {}, dataset, { pick: /long\.jsonl$/ }, { pick: '4999+1=' });
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
	const given = { policy, strategy: 'best-of-n', params: {}, guide: null, budget: { nodes: 3 } };
	const row = await ask(given, {}, { pick: '$(list-flat) Row at the cursor' });
	assert.deepEqual([row.wanted?.problem.prompt, row.wanted?.problem.answer], ['3+4=', '7']);
	const words = await ask(given, {}, { pick: '$(selection) Selected text' });
	assert.deepEqual(words.wanted?.problem, { prompt: 'some words', answer: null, row: {} });
});

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ScriptInput } from '../../../../src/policies/scripted/script.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { evaluationSpecSchema } from '../../../../src/protocol/evaluationFolder.ts';
import { readQuestions } from '../../../../src/runs/evaluationFiles.ts';
import { evaluatePolicy } from '../../../../src/search/evaluate/evaluatePolicy.ts';
import { contextFor, folderFor, scriptIn } from '../searchFixtures.ts';

const tags: ScriptInput['tags'] = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] };
const searched = '<think>it is 41;try again;it is 42</think><answer>42</answer>';
/** Answers with the last number in its thinking. One question is solved on the first try, another is never finished. */
const searcher: ScriptInput = {
	tags,
	rules: [
		{ after: '*it is 42</think>', say: '<answer>42</answer>' },
		{ after: '*it is 41</think>', say: '<answer>41</answer>' },
		{ prompt: 'easy', say: '<think>it is 42</think><answer>42</answer>' },
		{ prompt: 'endless', say: '<think>it is 42;try again;it is 40;try', finish: 'length' },
		{ prompt: 'searched', say: searched },
	],
};

async function evaluate(
	context: Parameters<typeof folderFor>[0],
	script: ScriptInput,
	prompts: readonly string[],
	perturb?: string,
) {
	const folder = await folderFor(context);
	const rows = prompts.map((prompt) => JSON.stringify({ prompt, answer: '42' }));
	await writeFile(join(folder, 'rows.jsonl'), rows.join('\n'));
	const spec = decodeOrThrow(
		evaluationSpecSchema,
		{
			name: 'again',
			policy: { kind: 'scripted', file: await scriptIn(folder, script) },
			problems: { from: 'file', path: 'rows.jsonl' },
			samples: 2,
			...(perturb === undefined ? {} : { perturb }),
		},
		'The evaluation',
	);
	const path = join(folder, 'evaluation');
	const evaluation = await evaluatePolicy({ spec, folder: path, context: contextFor(context, folder) });
	const stored = [...(await readQuestions(path, prompts.length)).values()];
	assert.deepEqual(
		stored.sort((a, b) => a.problem - b.problem),
		evaluation.questions,
	);
	return evaluation;
}

describe('evaluation with perturbed thinking', () => {
	it('lets the policy answer from the thinking that is left', async (context) => {
		const { questions, report } = await evaluate(context, searcher, ['searched', 'easy', 'endless'], 'cut-at-keyword');
		assert.deepEqual(
			questions.map(({ samples: [first] }) => [first?.completion, first?.answer, first?.correct, first?.perturbed]),
			[
				['<think>it is 41</think><answer>41</answer>', '41', false, true],
				['<think>it is 42</think><answer>42</answer>', '42', true, false],
				// Unfinished thinking is closed, and its answer counts.
				['<think>it is 42</think><answer>42</answer>', '42', true, true],
			],
		);
		assert.ok(questions.every(({ samples }) => samples.length === 2));
		assert.equal(questions[2]?.samples[0]?.truncated, false);
		assert.equal(report.accuracy.accuracy, 2 / 3);
	});

	it('depends on the kind of perturbation, and is absent without one', async (context) => {
		const words = await evaluate(context, searcher, ['searched'], 'remove-keywords');
		assert.equal(words.questions[0]?.samples[0]?.completion, searched.replace('try again', ''));
		assert.equal(words.report.accuracy.accuracy, 1);
		const plain = await evaluate(context, searcher, ['searched']);
		assert.equal(plain.questions[0]?.samples[0]?.completion, searched);
		assert.equal('perturbed' in (plain.questions[0]?.samples[0] ?? {}), false);
	});

	it('fails if the policy cannot continue a text, and does not count a question that it does not answer again', async (context) => {
		await assert.rejects(
			evaluate(context, { ...searcher, without: ['prefix'] }, ['searched'], 'cut-at-keyword'),
			/cannot continue from a prefix/,
		);
		const untagged: ScriptInput = { tags: { think: null, answer: null }, rules: [{ say: 'try again: 42' }] };
		await assert.rejects(evaluate(context, untagged, ['x'], 'cut-at-keyword'), /has no tags around its thinking/);
		const mute: ScriptInput = {
			tags,
			rules: [
				{ after: '*it is 41</think>', fail: { reason: 'invalid', message: 'No answer.' } },
				{ prompt: 'easy', say: '<think>it is 42</think><answer>42</answer>' },
				{ prompt: 'searched', say: searched },
			],
		};
		const { done, total, failures } = await evaluate(context, mute, ['searched', 'easy'], 'cut-at-keyword');
		assert.deepEqual([done, total], [1, 2]);
		assert.match(failures[0]?.message ?? '', /No answer/);
	});
});

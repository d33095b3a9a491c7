import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import { createBuiltInScorer } from '../../../../src/core/reward/builtInScorer.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';
import type { ScoreRow } from '../../../../src/protocol/scorer.ts';

const tags = resolveTemplate('r1');
const row = (completion: string, answer: unknown = '42', changes: Partial<ScoreRow> = {}): ScoreRow => ({
	prompt: '<think></think><answer>42</answer>',
	completion,
	answer,
	row: {},
	truncated: false,
	...changes,
});
const options = { timeoutMs: 1000 };

async function scores(
	reward: 'accuracy' | 'format',
	rows: ScoreRow[],
	verify?: Parameters<typeof createBuiltInScorer>[1]['verify'],
) {
	const scorer = createBuiltInScorer(reward, { weight: 1, tags, ...(verify ? { verify } : {}) });
	const { values, errors } = await scorer.score(rows, options);
	assert.deepEqual(errors, []);
	return values;
}

describe('the accuracy reward', () => {
	it('is 1 for the right answer, 0 for a wrong, absent or doubled one', async () => {
		const rows = [
			'<think>x</think><answer>42</answer>',
			'<answer> 042 </answer>',
			'<answer>43</answer>',
			'42',
			'',
			'<answer>42',
			'<answer>43</answer><answer>42</answer>',
		];
		assert.deepEqual(
			await scores(
				'accuracy',
				rows.map((text) => row(text)),
			),
			[1, 1, 0, 0, 0, 0, 0],
		);
	});

	it('is null, never 1, without a gold answer', async () => {
		const golds = [null, undefined, '', ' ', Number.NaN, {}, []];
		for (const completion of ['<answer></answer>', '<answer>null</answer>', '<answer>NaN</answer>', '', 'x']) {
			assert.deepEqual(
				await scores(
					'accuracy',
					golds.map((answer) => row(completion, '', { answer })),
				),
				golds.map(() => null),
			);
		}
	});

	it("asks the task's verifier", async () => {
		const task = createTask({ task: 'countdown' });
		const question = { row: { numbers: [3, 5, 2], target: 16 } };
		const rows = ['2*(3+5)', '(3+5)*2', '16', '3*5+1'].map((text) =>
			row(`<think></think><answer>${text}</answer>`, '(3+5)*2', question),
		);
		assert.deepEqual(await scores('accuracy', rows, (asked, answer) => task.verify(asked, answer)), [1, 1, 0, 0]);
	});
});

describe('the format reward', () => {
	it('judges the completion alone, strictly', async () => {
		const good = '<think>x</think><answer>1</answer>';
		const bad = [
			'',
			'1',
			'</think><answer>1</answer>',
			'<answer>1</answer><think>x</think>',
			`${good}<answer>2</answer>`,
			`x${good}`,
			`${good}x`,
			'<think>x</think><answer></answer>',
			'<think><think>x</think></think><answer>1</answer>',
		];
		assert.deepEqual(await scores('format', [row(good), row(good, null), ...bad.map((text) => row(text))]), [
			1,
			1,
			...bad.map(() => 0),
		]);
		assert.deepEqual(await scores('format', [row(good, '1', { truncated: true })]), [0]);
	});
});

describe('a built-in scorer', () => {
	it('describes itself and can be cancelled', async () => {
		const scorer = createBuiltInScorer('format', { weight: 0.2, tags, name: 'form' });
		assert.deepEqual(scorer.description, { name: 'form', weight: 0.2, batchOnly: false });
		const signal = { aborted: true, addEventListener() {}, removeEventListener() {} };
		await assert.rejects(
			scorer.score([], { timeoutMs: 1, signal }),
			(error) => error instanceof Failure && error.reason === 'cancelled',
		);
		assert.deepEqual((await scorer.score([], options)).values, []);
	});
});

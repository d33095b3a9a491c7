import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveTemplate } from '../../../src/core/text/template.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import type { ScoreRow } from '../../../src/protocol/scorer.ts';
import { createBuiltIn } from '../../../src/rewards/builtIns.ts';

const { think, answer } = resolveTemplate('r1');
const pair = (tag: readonly [string, string] | null): [string, string] | null => tag && [...tag];
const tags = { think: pair(think), answer: pair(answer) };
const row = (completion: string, answer: unknown = '42', changes: Partial<ScoreRow> = {}): ScoreRow => ({
	prompt: '<think></think><answer>42</answer>',
	completion,
	answer,
	row: {},
	truncated: false,
	...changes,
});

async function scores(use: 'accuracy' | 'format', rows: ScoreRow[], task: Record<string, unknown> | null = null) {
	const reward = await createBuiltIn({ use, name: use }, { tags, task, folder: '' });
	const { signal } = new AbortController();
	const values: (number | null)[] = [];
	for (const one of rows) values.push(await reward.score({ ...one, trace: parseTrace(one.completion, tags) }, signal));
	return values;
}

describe('accuracy reward', () => {
	it('is 1 for a correct answer and 0 for a wrong, missing or duplicate one', async () => {
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

	it("uses the task's verifier", async () => {
		const question = { row: { numbers: [3, 5, 2], target: 16 } };
		const rows = ['2*(3+5)', '(3+5)*2', '16', '3*5+1'].map((text) =>
			row(`<think></think><answer>${text}</answer>`, '(3+5)*2', question),
		);
		assert.deepEqual(await scores('accuracy', rows, { task: 'countdown' }), [1, 1, 0, 0]);
	});
});

describe('format reward', () => {
	it('checks only the completion, strictly', async () => {
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

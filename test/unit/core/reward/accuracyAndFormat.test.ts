import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import { accuracyOf, exactVerifier, type Verifier } from '../../../../src/core/reward/accuracyReward.ts';
import { formatOf } from '../../../../src/core/reward/formatReward.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';
import { parseTrace } from '../../../../src/core/trace/parseTrace.ts';
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
const accuracies = (rows: ScoreRow[], verify: Verifier = exactVerifier) =>
	rows.map((one) => accuracyOf(one, parseTrace(one.completion, tags), tags, verify));
const formats = (rows: ScoreRow[]) => rows.map((one) => formatOf(one, parseTrace(one.completion, tags), tags));

describe('accuracy reward', () => {
	it('is 1 for a correct answer, and 0 for an incorrect, missing or duplicated one', () => {
		const rows = [
			'<think>x</think><answer>42</answer>',
			'<answer> 042 </answer>',
			'<answer>43</answer>',
			'42',
			'',
			'<answer>42',
			'<answer>43</answer><answer>42</answer>',
		];
		assert.deepEqual(accuracies(rows.map((text) => row(text))), [1, 1, 0, 0, 0, 0, 0]);
	});

	it('is null, never 1, without a gold answer', () => {
		const golds = [null, undefined, '', ' ', Number.NaN, {}, []];
		for (const completion of ['<answer></answer>', '<answer>null</answer>', '<answer>NaN</answer>', '', 'x']) {
			assert.deepEqual(
				accuracies(golds.map((answer) => row(completion, '', { answer }))),
				golds.map(() => null),
			);
		}
	});

	it("uses the task's verifier", () => {
		const task = createTask({ task: 'countdown' });
		const question = { row: { numbers: [3, 5, 2], target: 16 } };
		const rows = ['2*(3+5)', '(3+5)*2', '16', '3*5+1'].map((text) =>
			row(`<think></think><answer>${text}</answer>`, '(3+5)*2', question),
		);
		assert.deepEqual(
			accuracies(rows, (asked, answer) => task.verify(asked, answer)),
			[1, 1, 0, 0],
		);
	});
});

describe('format reward', () => {
	it('checks only the completion, strictly', () => {
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
		assert.deepEqual(formats([row(good), row(good, null), ...bad.map((text) => row(text))]), [
			1,
			1,
			...bad.map(() => 0),
		]);
		assert.deepEqual(formats([row(good, '1', { truncated: true })]), [0]);
		assert.deepEqual(formats([row(good, '1', { truncated: null })]), [1], 'judged by its text alone');
	});

	it('is null for a template without tags, which defines no format', () => {
		const bytes = row('\u0012\u00ff$k3\u0003 \u007f%q');
		const none = { think: null, answer: null };
		assert.equal(formatOf(bytes, parseTrace(bytes.completion, none), none), null);
	});
});

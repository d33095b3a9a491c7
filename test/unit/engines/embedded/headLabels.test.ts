import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedHeadStage } from '../../../../src/core/recipe/resolvedRecipe.ts';
import { stepRuleOf } from '../../../../src/core/search/stepRule.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';
import { eosToken } from '../../../../src/core/text/tokenizer.ts';
import { buildTokenizer } from '../../../../src/core/text/vocabulary.ts';
import { valueRows } from '../../../../src/engines/embedded/run/heads/labeledRow.ts';
import { LabeledSteps, type LabelText } from '../../../../src/engines/embedded/run/heads/labelFile.ts';
import { stepEnds } from '../../../../src/engines/embedded/run/heads/stepEnds.ts';

const tokenizer = buildTokenizer(resolveTemplate('r1'), [...'0123456789+=;\n']);
const settings: NonNullable<ResolvedHeadStage['labels']> = { path: '', separator: '\n', heldOutShare: 0.1 };

function ends(text: string, split: Parameters<typeof stepRuleOf>[0], eos = true): string[] {
	const ids = [...tokenizer.encode(text), ...(eos ? [eosToken] : [])];
	const rule = stepRuleOf(split);
	assert.ok(rule);
	let from = 0;
	return stepEnds(ids, tokenizer, rule).map((end) => {
		const step = tokenizer.decode(ids.slice(from, end));
		from = end;
		return step;
	});
}

test('steps end after their separator, and the last step ends with the text', () => {
	const text = '<think>1+2=3;3+4=7</think><answer>7</answer>';
	assert.deepEqual(ends(text, { text: ';' }), ['<think>1+2=3;', '3+4=7</think><answer>7</answer>']);
	assert.deepEqual(ends(text, { text: ';' }, false), ['<think>1+2=3;', '3+4=7</think><answer>7</answer>']);
	assert.deepEqual(ends('1=1\n\n2=2\n3', 'lines'), ['1=1\n', '\n2=2\n', '3']);
	assert.deepEqual(ends('12345', 'tokens-2'), ['12', '34', '5']);
	assert.deepEqual(ends('1234', 'tokens-2'), ['12', '34']);
	assert.deepEqual(ends('12', { text: ';' }), ['12']);
	assert.deepEqual(ends('1;', { text: ';' }), ['1;']);
	assert.deepEqual(ends('', { text: ';' }), ['']);
});

test('every completion has the same weight, as does every label within it', () => {
	const rows = valueRows([
		{ tokens: [1, 5, 6, 7], promptLength: 2, labels: [[1, 0.25]], whole: 0 },
		{
			tokens: [1, 5, 6],
			promptLength: 1,
			labels: [
				[0, 1],
				[2, 0],
			],
			whole: 1,
		},
	]);
	assert.deepEqual(
		rows.map(({ labels, weights }) => [[...labels], [...weights]]),
		[
			[
				[0, 0.25, 0],
				[0, 0.5, 0],
			],
			[
				[1, 0, 0],
				[0.25, 0, 0.25],
			],
		],
	);
});

function text(lines: LabelText['lines']): LabelText {
	return { name: 'labels.jsonl', lines };
}

test('labeled steps become tokens with a label at the end of each step, including its separator', () => {
	const lines = [{ prompt: '1+2=', completions: ['1+2=3', '3'], labels: [true, 0.25] }];
	const { training, heldOut } = new LabeledSteps(text(lines), { ...settings, heldOutShare: 1e-6 }, tokenizer, 30, 1);
	assert.equal(heldOut.length, 0);
	const [row] = training;
	assert.equal(row?.promptLength, 5);
	assert.equal(tokenizer.decode(row?.tokens.slice(5) ?? []), '1+2=3\n3');
	assert.deepEqual(row?.labels, [
		[6, 1],
		[7, 0.25],
	]);
	assert.equal(row?.whole, 1);
});

test('rows come in complete, reshuffled epochs, and the update number determines which rows are used', () => {
	const lines = Array.from({ length: 40 }, (_, i) => ({
		prompt: `${i}=`,
		completions: [`${i}`],
		labels: [i % 2 === 0],
	}));
	const make = () => new LabeledSteps(text(lines), { ...settings, heldOutShare: 0.3 }, tokenizer, 30, 5);
	const steps = make();
	const { length } = steps.training;
	assert.ok(length > 15 && length < 40 && length + steps.heldOut.length === 40);
	const taken = Array.from({ length }, (_, update) => steps.batch(update, 3)).flat();
	assert.equal(taken.length, 3 * length);
	for (let epoch = 0; epoch < 3; epoch++) {
		assert.equal(new Set(taken.slice(epoch * length, (epoch + 1) * length)).size, length);
	}
	assert.notDeepEqual(taken.slice(0, length), taken.slice(length, 2 * length));
	assert.deepEqual(make().batch(7, 3), steps.batch(7, 3));
});

test('rows that do not fit are skipped and counted, and a file with no usable rows is rejected', () => {
	const fits = { prompt: '1=', completions: ['1'], labels: [true] };
	const long = { prompt: '1'.repeat(40), completions: ['1'], labels: [true] };
	const other = { prompt: 'x=', completions: ['1'], labels: [true] };
	const steps = new LabeledSteps(text([fits, long, other]), { ...settings, heldOutShare: 1e-6 }, tokenizer, 30, 1);
	assert.deepEqual([steps.training.length, steps.leftOut], [1, 2]);
	assert.throws(() => new LabeledSteps(text([long]), settings, tokenizer, 30, 1), { reason: 'invalid' });
});

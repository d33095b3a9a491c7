import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { splitSteps as processSteps } from '../../../../src/core/reward/processReward.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';
import {
	completionSteps,
	describeRule,
	namedStepRules,
	splitSteps,
	stepRule,
} from '../../../../src/core/trace/splitSteps.ts';

const texts = (steps: readonly { text: string }[]) => steps.map(({ text }) => text);

describe('text steps', () => {
	const text = 'First, 3.5 is it. Then more.\n\nStep 2: go on\n 3) end';
	it('are split by a named rule', () => {
		assert.deepEqual(texts(splitSteps(text, 'lines')), ['First, 3.5 is it. Then more.', 'Step 2: go on', '3) end']);
		assert.deepEqual(texts(splitSteps(text, 'paragraphs')), ['First, 3.5 is it. Then more.', 'Step 2: go on\n 3) end']);
		assert.deepEqual(texts(splitSteps(text, 'sentences')), [
			'First, 3.5 is it.',
			'Then more.',
			'Step 2: go on',
			'3) end',
		]);
		assert.deepEqual(texts(splitSteps(text, 'numbered')), ['First, 3.5 is it. Then more.', 'Step 2: go on', '3) end']);
		assert.deepEqual(texts(splitSteps('先算。再加！好', 'sentences')), ['先算。', '再加！', '好']);
		assert.deepEqual(splitSteps('abcdef', 'tokens-2', ['a', 'bc', 'd', 'ef']), [
			{ start: 0, end: 3, text: 'abc' },
			{ start: 3, end: 6, text: 'def' },
		]);
		assert.throws(() => splitSteps('abc', 'tokens-2'), { reason: 'missing' });
	});

	it('have rules with ids that labels refer to', () => {
		assert.deepEqual([...namedStepRules, 'tokens-64'].map(stepRule), [...namedStepRules, 'tokens-64']);
		assert.deepEqual(
			['', 'line', 'tokens-0', 'tokens-', 'tokens-1e3', 'tokens-64 '].map(stepRule),
			Array(6).fill(null),
		);
		assert.deepEqual([describeRule('lines'), describeRule('tokens-64')], ['line', '64 tokens']);
	});

	it('match those scored by the process reward, in order, without overlaps, and omit only whitespace', () => {
		const random = Random.of(2, 'steps');
		const parts = ['a', '1.', ' ', '\n', '\n\n', 'Step 2: ', '。', '3.5', '. ', '\t', '😀', '2) b'];
		for (let i = 0; i < 1000; i++) {
			const sample = Array.from({ length: random.int(20) }, () => random.pick(parts)).join('');
			for (const rule of namedStepRules) {
				const steps = splitSteps(sample, rule);
				assert.deepEqual(texts(steps), processSteps(sample, rule, 5000), JSON.stringify([sample, rule]));
				let end = 0;
				for (const step of steps) {
					assert.equal(sample.slice(step.start, step.end), step.text);
					assert.equal(sample.slice(end, step.start).trim(), '');
					end = step.end;
				}
				assert.equal(sample.slice(end).trim(), '');
			}
		}
		assert.equal(splitSteps('a\n'.repeat(20_000), 'lines').length, 5000);
	});
});

describe('completion steps', () => {
	const tags = resolveTemplate('r1');
	it('consist of the thinking steps and then the answer, without tags', () => {
		const text = '<think>12*3=36\n36+1=37</think><answer>37</answer>';
		const steps = completionSteps(text, tags, 'lines');
		assert.deepEqual(
			steps.map(({ text: step, section }) => [section, step]),
			[
				['thinking', '12*3=36'],
				['thinking', '36+1=37'],
				['answer', '37'],
			],
		);
		for (const { start, end, text: step } of steps) assert.equal(text.slice(start, end), step);
		assert.deepEqual(texts(completionSteps('a\nb', tags, 'lines')), ['a', 'b'], 'the whole text if it has no tags');
		assert.deepEqual(texts(completionSteps('<think>a\nb', tags, 'lines')), ['a', 'b'], 'truncated thinking');
	});

	it('are split by tokens within the thinking', () => {
		const tokens = ['<think>', 'a', 'b', 'c', '</think>', '<answer>', '5', '</answer>', '<eos>'];
		assert.deepEqual(texts(completionSteps('<think>abc</think><answer>5</answer>', tags, 'tokens-2', tokens)), [
			'ab',
			'c',
			'5',
		]);
	});
});

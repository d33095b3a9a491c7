import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';
import { findBehaviors } from '../../../../src/core/trace/behaviors.ts';
import { parsePerturbation, perturbationKinds, perturbTrace, stepsOf } from '../../../../src/core/trace/perturb.ts';

const tags = resolveTemplate('r1');
const thinking = 'First, 12*3=36.\nWait, let me check: 36+1=37.\nHmm, yes.\nSo it is 37.';
const completion = `<think>${thinking}</think><answer>37</answer>`;
const change = (name: string, seed = 1, text = completion) =>
	perturbTrace(text, parsePerturbation(name), {
		tags,
		random: Random.of(seed, name),
		donors: ['Let y be 9.'],
		wrongAnswer: '38',
	});
const thinkOf = (text: string | null) => /<think>(.*)<\/think><answer>37<\/answer>$/s.exec(text ?? '')?.[1];
const sorted = (steps: readonly { text: string }[]) => steps.map(({ text }) => text).sort();

describe('trace perturbations', () => {
	it('replace a fraction of the digits, each with a different one', () => {
		for (const [share, expected] of [
			['1', 12],
			['0.5', 6],
			['0.01', 1],
		] as const) {
			const changed = thinkOf(change(`corrupt-digits:${share}`)) as string;
			assert.equal(changed.replace(/\d/g, '#'), thinking.replace(/\d/g, '#'));
			assert.equal([...changed].filter((character, i) => character !== thinking[i]).length, expected);
		}
	});

	it('remove words for reflection, verification and backtracking', () => {
		const changed = thinkOf(change('remove-keywords')) as string;
		assert.equal(changed, 'First, 12*3=36.\n36+1=37.\nyes.\nSo it is 37.');
		assert.deepEqual(
			findBehaviors(changed).map(({ behavior }) => behavior),
			['subgoal-setting'],
		);
		const half = thinkOf(change('remove-keywords:0.3')) as string;
		assert.equal(findBehaviors(half).length, 3);
	});

	it('end the thinking before the first such word, without the separator before it', () => {
		assert.equal(thinkOf(change('cut-at-keyword')), 'First, 12*3=36.');
		const tries = '<think>3+5=8;try again;3-5=-2;try again;5</think><answer>37</answer>';
		assert.equal(thinkOf(change('cut-at-keyword', 1, tries)), '3+5=8');
		assert.equal(thinkOf(change('cut-at-keyword', 1, tries.replace('3+5=8;', ''))), '');
		assert.equal(change('cut-at-keyword', 1, '<think>3+5=8</think><answer>wait, 37</answer>'), null);
	});

	it('shuffle, delete and insert steps', () => {
		const steps = stepsOf(thinking);
		assert.equal(steps.length, 4);
		const shuffled = stepsOf(thinkOf(change('shuffle-steps')) as string);
		assert.deepEqual(sorted(shuffled), sorted(steps));
		assert.ok(
			shuffled.every(({ text }, i) => text !== steps[i]?.text),
			'no step stays in place',
		);
		const two = stepsOf(thinkOf(change('shuffle-steps:0.5')) as string);
		assert.equal(two.filter(({ text }, i) => text !== steps[i]?.text).length, 2);
		assert.equal(stepsOf(thinkOf(change('delete-steps:0.5')) as string).length, 2);
		assert.equal(thinkOf(change('delete-steps')), '');
		const inserted = stepsOf(thinkOf(change('insert-steps:0.5')) as string).map(({ text }) => text);
		assert.equal(inserted.length, 6);
		assert.deepEqual(
			inserted.filter((text) => text !== 'Let y be 9.'),
			steps.map(({ text }) => text),
		);
	});

	it('replace the answer, also in the conclusion of the thinking', () => {
		assert.equal(
			change('wrong-answer'),
			`<think>${thinking.replace('So it is 37', 'So it is 38')}</think><answer>38</answer>`,
		);
		assert.match(
			change('wrong-answer', 1, '<think>137 and 37.5 and 37</think><answer>37</answer>') ?? '',
			/137 and 37\.5 and 38</,
		);
	});

	it('change nothing if there is nothing to perturb', () => {
		for (const kind of perturbationKinds) {
			assert.equal(change(kind, 1, '<think>'), null, kind);
			assert.equal(change(kind, 1, ''), null, kind);
		}
		assert.equal(change('corrupt-digits', 1, '<think>no digits</think><answer>37</answer>'), null);
		assert.equal(change('shuffle-steps', 1, '<think>one step</think><answer>37</answer>'), null);
		assert.equal(change('wrong-answer', 1, '<think>a</think>'), null);
	});

	it('are deterministic for a given seed, and do not change the tags or the answer', () => {
		const random = Random.of(4, 'perturb');
		const parts = ['Wait, ', '12', ' = ', '3', '\n', '. ', 'a', 'let me check', '\n\n', '😀'];
		for (let i = 0; i < 500; i++) {
			const inner = Array.from({ length: 1 + random.int(20) }, () => random.pick(parts)).join('');
			const text = `<think>${inner}</think><answer>37</answer>`;
			for (const kind of perturbationKinds) {
				const changed = change(kind, i, text);
				assert.equal(change(kind, i, text), changed);
				if (changed === null) continue;
				assert.notEqual(changed, text);
				assert.ok(changed.startsWith('<think>'));
				assert.ok(changed.endsWith(kind === 'wrong-answer' ? '<answer>38</answer>' : '<answer>37</answer>'));
			}
		}
	});

	it('are named by their type and optional fraction', () => {
		assert.deepEqual(parsePerturbation('shuffle-steps'), { kind: 'shuffle-steps', share: 1 });
		for (const text of [
			'',
			'shuffle',
			'shuffle-steps:',
			'shuffle-steps:0',
			'shuffle-steps:2',
			'shuffle-steps:x',
			'shuffle-steps:1:1',
		]) {
			assert.throws(() => parsePerturbation(text), { reason: 'invalid' }, text);
		}
	});
});

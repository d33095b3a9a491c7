import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exactMatchReward } from '../../../../src/core/reward/exactMatchReward.ts';
import { jsonSchemaReward } from '../../../../src/core/reward/jsonSchemaReward.ts';
import { multipleChoiceReward } from '../../../../src/core/reward/multipleChoiceReward.ts';
import { tagCountReward } from '../../../../src/core/reward/tagCountReward.ts';
import type { TraceTags } from '../../../../src/core/trace/trace.ts';
import { r1, sample, strangeCompletions, untagged, worked } from './rewardSamples.ts';

describe('exact-match', () => {
	const value = (answer: string, gold: unknown, options = {}, row = {}) =>
		exactMatchReward(sample(worked('', answer), { answer: gold, row }), { ignoreCase: false, ...options }, r1);

	test('normalizes whitespace and number formats, and nothing else', () => {
		assert.equal(value(' 1,000.50 ', '1000.5'), 1);
		assert.equal(value('New  York', 'New York'), 1);
		assert.equal(value('new york', 'New York'), 0);
		assert.equal(value('new york', 'New York', { ignoreCase: true }), 1);
		assert.equal(value('1/2', '0.5'), 0);
		assert.equal(value('7', 7), 1);
	});

	test('accepts any string in a list, and a custom column', () => {
		assert.equal(value('UK', ['United Kingdom', 'UK']), 1);
		assert.equal(value('b', 'a', { column: 'gold' }, { gold: 'b' }), 1);
	});

	test('is null without a gold answer, and 0 unless there is exactly one answer', () => {
		for (const gold of [null, undefined, '', ' ', [], {}, Number.NaN])
			assert.equal(value('', gold), null, String(gold));
		assert.equal(value('b', 'a', { column: 'toString' }), null);
		assert.equal(value('', 'a'), 0);
		const two = sample('<answer>a</answer><answer>a</answer>', { answer: 'a' });
		assert.equal(exactMatchReward(two, { ignoreCase: false }, r1), 0);
	});
});

describe('multiple-choice', () => {
	const row = { options: ['London', 'Paris', 'Rome', 'Berlin'] };
	const value = (answer: string, gold: unknown = 'B', data: object = row, options = {}) =>
		multipleChoiceReward(
			sample(worked('', answer), { answer: gold, row: data as Record<string, unknown> }),
			{ options: 'options', ...options },
			r1,
		);
	const spellings = [
		'B',
		'b',
		'(B)',
		'( b )',
		'[B]',
		'B.',
		'B)',
		'B:',
		'**B**',
		'**(B)**',
		'`B`',
		'$B$',
		'\\boxed{B}',
		'\\boxed{\\text{B}}',
		'\\text{(B)}',
		'$\\boxed{B}$.',
		'option b',
		'Option (B)',
		'choice B.',
		'Answer: B',
		'answer is B',
		'The answer is B.',
		'The correct answer is (B)',
		'the correct option is option B',
		'So, the final answer is **B**.',
		'B. Paris',
		'(B) Paris',
		'B: Paris.',
		'The answer is B. Paris',
		'Paris',
		'paris.',
		'**Paris**',
	];

	test('recognizes a letter in many notations', () => {
		for (const spelling of spellings) {
			assert.equal(value(spelling), 1, spelling);
			assert.equal(value(spelling, 'C'), 0, spelling);
		}
	});

	test('is 0 for several options, contradictions, and non-options', () => {
		for (const answer of [
			'A or B',
			'A, B',
			'B or C',
			'(A) (B)',
			'B. Rome',
			'B and Paris too',
			'not B',
			'B B',
			'AB',
			'E',
			'Z',
			'5',
			'',
			'A, B, C, D',
			'Madrid',
			'London Paris Rome Berlin',
		]) {
			assert.equal(value(answer), 0, answer);
		}
	});

	test('accepts only the letter if there are no option texts', () => {
		assert.equal(value('B. Paris', 'B', {}), 1);
		assert.equal(value('(B) because it is the capital', 'B', {}), 1);
		assert.equal(value('B. or C.', 'B', {}), 0);
		assert.equal(value('(B) or (C)', 'B', {}), 0);
		assert.equal(value('Paris', 'B', {}), 0);
	});

	test('reads a gold value as a letter, an option text, or an index', () => {
		assert.equal(value('B', '(b)'), 1);
		assert.equal(value('B', 'Paris'), 1);
		assert.equal(value('B', 1, row, { indexFrom: 0 }), 1);
		assert.equal(value('B', '2', row, { indexFrom: 1 }), 1);
		assert.equal(value('B', 'Paris', { options: { A: 'London', B: 'Paris' } }), 1);
		assert.equal(value('3', '3', { options: ['1', '2', '3'] }), 1);
		assert.equal(value('C', '3', { options: ['1', '2', '3'] }), 1);
	});

	test('is null, never 1, if the gold value matches no option', () => {
		for (const gold of [null, '', 'Madrid', 'E', 1, 4, {}, true]) assert.equal(value('B', gold), null, String(gold));
		assert.equal(value('B', 9, row, { indexFrom: 0 }), null);
		assert.equal(value('B', -1, row, { indexFrom: 0 }), null);
	});

	test('is 0 or 1 for any completion', () => {
		for (const completion of strangeCompletions('choices', 500)) {
			const given = sample(completion, { answer: 'B', row });
			assert.ok([0, 1].includes(multipleChoiceReward(given, { options: 'options' }, r1) as number));
		}
	});

	test('handles long answers quickly', () => {
		for (const text of ['\\boxed{'.repeat(200_000), 'the '.repeat(200_000), '('.repeat(500_000), 'B '.repeat(900)]) {
			assert.equal(value(text), 0);
		}
	});
});

describe('tag-count', () => {
	const value = (text: string, tags: TraceTags = r1) => tagCountReward(sample(text, {}, tags), tags);

	test('awards a share for each tag that occurs once', () => {
		assert.equal(value(worked('x', '7')), 1);
		assert.equal(value('<think>x</think>7'), 0.5);
		assert.equal(value('<think>x'), 0.25);
		assert.equal(value('7'), 0);
		// Order is checked by the strict format reward.
		assert.equal(value('</answer></think><answer><think>'), 1);
		assert.equal(value('<think><think>x</think><answer>7</answer>'), 0.75);
		assert.equal(value(worked('', '7').repeat(2)), 0);
	});

	test("counts the template's own tags, and does not apply without tags", () => {
		const own = { think: ['[[', ']]'] as [string, string], answer: null };
		assert.equal(value('[[x]]', own), 1);
		assert.equal(value('[[x', own), 0.5);
		assert.equal(value('x', untagged), null);
	});
});

describe('json-schema', () => {
	const options = { partial: 0.25, fence: false, schema: { type: 'object' } };
	/** A simple validator for tests that accepts objects. */
	const accepts = (_: object, value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
	const value = (answer: string, more = {}, row = {}) =>
		jsonSchemaReward(sample(worked('', answer), { row }), { ...options, ...more }, r1, accepts);

	test('is 1 for valid JSON, partial for JSON that does not match the schema, and 0 otherwise', () => {
		assert.equal(value('{"a": 1}'), 1);
		assert.equal(value('[1]'), 0.25);
		assert.equal(value('{a: 1}'), 0);
		assert.equal(value('Here it is: {"a": 1}'), 0);
		assert.equal(value(''), 0);
	});

	test('allows one code fence if enabled', () => {
		assert.equal(value('```json\n{"a": 1}\n```'), 0);
		assert.equal(value('```json\n{"a": 1}\n```', { fence: true }), 1);
		assert.equal(value('```\n{"a": 1}\n```', { fence: true }), 1);
		assert.equal(value('{"a": 1}', { fence: true }), 1);
		assert.equal(value('```json\n{"a": 1}\n```\n```json\n{}\n```', { fence: true }), 0);
	});

	test('does not apply to rows without a schema, and rejects an invalid one', () => {
		const own = { schema: undefined, column: 'schema' };
		assert.equal(value('{}', own), null);
		assert.equal(value('{}', own, { schema: null }), null);
		assert.equal(value('{}', own, { schema: '{"type": "object"}' }), 1);
		assert.throws(() => value('{}', own, { schema: '{' }), SyntaxError);
		assert.throws(() => value('{}', own, { schema: [] }), /not contain a JSON Schema/);
	});
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
	caseReward,
	describeExpectation,
	meetsExpectation,
	parseCases,
} from '../../../../../src/core/reward/verification/labeledCase.ts';

describe('labeled cases', () => {
	it('are read one per line, with blank lines and comments allowed', () => {
		const { cases, faults } = parseCases(
			[
				'\uFEFF// What brevity must say.',
				'{"prompt": "2+2=", "completion": "<answer>4</answer>", "row": {"answer": "4"}, "expect": 1}',
				'',
				'# a range, a name, and which function',
				'{"completion": "", "expect": {"min": 0, "max": 0.5}, "name": "empty", "reward": "brevity", "answer": null}\r',
				'  {"completion": "x", "expect": null, "truncated": true}  ',
			].join('\n'),
		);
		assert.deepEqual(faults, []);
		assert.deepEqual(cases, [
			{
				prompt: '2+2=',
				completion: '<answer>4</answer>',
				row: { answer: '4' },
				expect: 1,
				truncated: false,
				line: 2,
				label: 'case 1',
			},
			{
				prompt: '',
				completion: '',
				row: {},
				expect: { min: 0, max: 0.5 },
				name: 'empty',
				reward: 'brevity',
				answer: null,
				truncated: false,
				line: 5,
				label: 'empty',
			},
			{ prompt: '', completion: 'x', row: {}, expect: null, truncated: true, line: 6, label: 'case 3' },
		]);
	});

	it('keep the valid lines of a file with errors, which are reported', () => {
		const good = '{"completion": "x", "expect": 1}';
		const { cases, faults } = parseCases(
			[
				'invalid JSON',
				good,
				'[]',
				'{"expect": 1}',
				'{"completion": "x"}',
				'{"completion": "x", "expect": "1"}',
				'{"completion": "x", "expect": {}}',
				'{"completion": "x", "expect": {"min": 2, "max": 1}}',
				'{"completion": "x", "expect": 1e999}',
				'{"completion": 5, "expect": 1}',
				'{"completion": "x", "expect": 1, "row": []}',
				'{"completion": "x", "expect": 1, "expcet": 1}',
				good,
			].join('\n'),
		);
		assert.deepEqual(
			cases.map(({ line, label }) => [line, label]),
			[
				[2, 'case 2'],
				[13, 'case 13'],
			],
		);
		assert.deepEqual(
			faults.map(({ line, message }) => `${line} ${message}`),
			[
				'1 is not valid JSON',
				'3 is not a labeled case',
				'4 is missing a "completion" string',
				'5 has an invalid "expect"',
				'6 has an invalid "expect"',
				'7 has an "expect" range that matches no value or every value',
				'8 has an "expect" range that matches no value or every value',
				'9 has an "expect" range that matches no value or every value',
				'10 is missing a "completion" string',
				'11 has an unknown or invalid "row"',
				'12 has an unknown or invalid "expcet"',
			],
		);
		for (const { action } of faults) assert.match(action, /\.$/);
	});

	it('are written as documented', () => {
		const text = readFileSync(join(import.meta.dirname, '../../../../../docs/verification.md'), 'utf8');
		const example = /```jsonl\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
		const { cases, faults } = parseCases(example);
		assert.deepEqual(faults, []);
		assert.deepEqual(
			cases.map(({ expect }) => expect),
			[{ min: 0.5 }, 0, null],
		);
		const documented = [...text.matchAll(/^\| (`[a-z`, ]+`) \|/gm)].flatMap(([, keys]) =>
			(keys as string).match(/[a-z]+/g),
		);
		const action = parseCases('{"completion": "x", "expect": 1, "other": 1}').faults[0]?.action ?? '';
		assert.deepEqual(documented.sort(), (action.replace('Allowed keys: ', '').match(/[a-z]+/g) ?? []).sort());
	});

	it('match a value within 1e-9, the bounds of a range, and only null for null', () => {
		assert.ok(meetsExpectation(0.3, 0.1 + 0.2));
		assert.ok(!meetsExpectation(0.3001, 0.3));
		assert.ok(!meetsExpectation(null, 0));
		assert.ok(meetsExpectation(null, null));
		assert.ok(!meetsExpectation(0, null));
		assert.ok(meetsExpectation(0.5, { min: 0.5 }));
		assert.ok(meetsExpectation(0.5, { max: 0.5 }));
		assert.ok(!meetsExpectation(0.51, { max: 0.5 }));
		assert.ok(!meetsExpectation(-1, { min: 0, max: 1 }));
		assert.ok(!meetsExpectation(null, { min: 0 }));
		assert.deepEqual([1, null, { min: 0.5 }, { max: 1 }, { min: 0, max: 1 }].map(describeExpectation), [
			'1',
			'null',
			'at least 0.5',
			'at most 1',
			'between 0 and 1',
		]);
	});

	it('refer to the function with the same name as the file, or otherwise to the first one', () => {
		assert.equal(caseReward('brevity.reward.py', ['helper', 'brevity']), 'brevity');
		assert.equal(caseReward('short-answer.reward.ts', ['other', 'short_answer']), 'short_answer');
		assert.equal(caseReward('x.reward.ts', ['a', 'b']), 'a');
		assert.equal(caseReward('x.reward.ts', []), null);
	});
});

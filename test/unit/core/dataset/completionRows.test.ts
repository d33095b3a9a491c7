import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../../../../src/base/failure.ts';
import { parseCompletionRows } from '../../../../src/core/dataset/completionRows.ts';
import { resolveTemplate } from '../../../../src/core/text/template.ts';

const columns = { prompt: 'q', completion: 'c', answer: 'a', solution: 's' };
const template = resolveTemplate('r1');
const parse = (...values: unknown[]) =>
	parseCompletionRows(values.map((value) => JSON.stringify(value)).join('\n'), 'rows.jsonl', columns, template);

test('a completion is used as is, or built from a solution and an answer', () => {
	const rows = parse(
		{ q: '1+1=', c: 'whatever <answer>2</answer>', a: 2, s: 'unread', more: true },
		{ q: '1+2=', s: '2+1', a: '3' },
		{ q: '1+3=', c: null, s: '3+1', a: '4' },
		{ q: '1+4=', c: '5' },
	);
	assert.deepEqual(
		rows.map(({ prompt, completion, answer }) => [prompt, completion, answer]),
		[
			['1+1=', 'whatever <answer>2</answer>', '2'],
			['1+2=', '<think>2+1</think><answer>3</answer>', '3'],
			['1+3=', '<think>3+1</think><answer>4</answer>', '4'],
			['1+4=', '5', null],
		],
	);
	assert.equal(rows[0]?.row.more, true);
});

test('an invalid line is reported', () => {
	const refused = (pattern: RegExp, ...values: unknown[]) =>
		assert.throws(
			() => parse(...values),
			(error: Failure) => {
				assert.equal(error.reason, 'invalid');
				assert.match(error.message, pattern);
				return true;
			},
		);
	const good = { q: '1', c: '2' };
	refused(/line 2, is not a JSON object/, good, [1]);
	refused(/line 1, has no column "q"/, { c: '2' });
	refused(/line 1, has an empty "q"/, { q: ' ', c: '2' });
	refused(/line 2, has no column "c"/, good, { q: '1', a: '2' });
	refused(/line 1, has a "c" that is not a string/, { q: '1', c: [{ role: 'assistant' }] });
	refused(/line 1, has an empty "c"/, { q: '1', c: '' });
	refused(/line 1, has no "a"/, { q: '1', s: '2' });
	refused(/line 1, has an "a" that cannot be compared/, { q: '1', c: '2', a: {} });
	refused(/reserved symbol <eos>/, { q: '1', c: '2<eos>' });
	refused(/has no rows/);
});

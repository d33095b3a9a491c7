import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../../../src/protocol/queryMessages.ts';
import { summaryOf } from '../../../../webview/query/answerSummary.ts';

test('the summary of a search shows the searched bytes only if they are known', () => {
	const of = (bytes: number) => {
		const question = {
			kind: 'search',
			query: { pattern: 'a', regex: false, caseSensitive: true },
			filter: {},
		} as const;
		const end = { hits: 0, complete: true, bytes, millis: 1200, limits: [] };
		return summaryOf({ kind: 'hits', question, hits: [], end } satisfies Answer, false);
	};
	assert.equal(of(5_000_000), '0 rollouts, 5 MB in 1.2 s');
	assert.equal(of(0), '0 rollouts, in 1.2 s');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageOf } from '../../../src/pipeline/stageMeter.ts';

const totals = (tokens: number, cost: number | null, currency: string | null) => ({
	...{ requests: 2, promptTokens: 7, retries: 0 },
	...{ tokens, cost, currency },
});

test('the usage of a stage adds attempts and policies, by currency, and leaves unknown prices out', () => {
	assert.deepEqual(usageOf(null, []), { requests: 0, tokens: 0, costs: [] });
	const first = usageOf(null, [totals(100, null, null), totals(10, 0.5, 'USD'), totals(1, 0, 'EUR')]);
	assert.deepEqual(first, {
		requests: 6,
		tokens: 111,
		costs: [
			{ currency: 'USD', amount: 0.5 },
			{ currency: 'EUR', amount: 0 },
		],
	});
	const resumed = usageOf(first, [totals(9, 0.25, 'USD')]);
	assert.deepEqual([resumed.requests, resumed.tokens, resumed.costs[0]], [8, 120, { currency: 'USD', amount: 0.75 }]);
	assert.deepEqual(first.costs[0], { currency: 'USD', amount: 0.5 }, 'the earlier record is not changed');
});

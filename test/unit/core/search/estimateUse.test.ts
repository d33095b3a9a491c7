import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateUse } from '../../../../src/core/search/estimateUse.ts';
import type { GenerateRequest } from '../../../../src/core/search/policy.ts';
import { strategyOf, strategyParams } from '../../../../src/core/search/strategies.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { drawn, FunctionPolicy, FunctionScorer, generation, problem, ticking, valueOfText } from './scripted.ts';

/** Every completion has four steps of 10 tokens. */
const [steps, stepTokens] = [4, 10];
const play = (request: GenerateRequest, i: number) => {
	const at = request.prefix === '' ? 0 : request.prefix.split('\n').length - 1;
	const name = `${drawn(request, i, 1000)} ${i}`;
	if (request.stop.length === 0) return generation(`rest ${name}`, { tokens: (steps - at) * stepTokens });
	const more = at === steps - 1 ? {} : { finish: 'stop' as const, stopText: '\n' };
	return generation(`step ${name}`, { tokens: stepTokens, ...more });
};

async function used(strategy: string, params: Record<string, unknown>): Promise<number> {
	const result = await runSearch({
		...{ strategy, params, problem, concurrency: 1 },
		policy: new FunctionPolicy(play),
		guide: new FunctionScorer(({ completion }) => valueOfText(completion)),
		tags: { think: null, answer: null },
		sampling: { maxTokens: 200, maxStepTokens: 50 },
		now: ticking(),
	});
	return result.totals.tokens;
}

const estimate = (strategy: string, params: object, budget = {}) => {
	const whole = strategyParams(strategyOf(strategy), params);
	return estimateUse(strategy, whole, { tokens: steps * stepTokens, steps }, budget);
};

const compared: readonly (readonly [string, Record<string, unknown>])[] = [
	['best-of-n', { n: 10 }],
	['self-consistency', { n: 7 }],
	['beam', { width: 3, expansions: 4 }],
	['dvts', { width: 3, expansions: 4 }],
	['mcts', { simulations: 40, evaluation: 'rollout' }],
	['mcts', { simulations: 20, expansions: 2, evaluation: 'rollout' }],
	['mcts', { simulations: 64, evaluation: 'value' }],
	['step-completion', { solutions: 3, completions: 5 }],
];

test('a search uses between half and twice as many tokens as estimated', async () => {
	for (const [strategy, params] of compared) {
		const [expected, real] = [estimate(strategy, params)?.tokens ?? 0, await used(strategy, params)];
		const ratio = real / expected;
		assert.ok(ratio > 0.5 && ratio < 2, `${strategy}: ${real} used, ${expected} expected`);
	}
	assert.equal(await used('best-of-n', { n: 10 }), estimate('best-of-n', { n: 10 })?.tokens);
});

test('a token budget caps the estimate, and usage that depends on replies is unknown', () => {
	assert.deepEqual(estimate('best-of-n', { n: 10 }, { tokens: 100 }), { tokens: 100, limited: true });
	assert.deepEqual(estimate('best-of-n', { n: 10 }, { tokens: 1000 }), { tokens: 400, limited: false });
	assert.equal(estimate('least-to-most', {}), null);
});

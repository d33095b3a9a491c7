import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadLatexParser } from '../../../../src/core/math/latexParser.ts';
import { AnswerClasses } from '../../../../src/core/search/answerClasses.ts';
import { beginSearch } from '../../../../src/core/search/searchRun.ts';
import { strategies, strategyOf, strategyParams } from '../../../../src/core/search/strategies.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { FunctionPolicy, generation, problem } from './scripted.ts';

const now = () => 0;

test('requests are split into batches for any number of completions, and a stop takes effect between batches', async () => {
	const policy = new FunctionPolicy((_, i) => generation(`<answer>${i}</answer>`));
	const handle = beginSearch({
		strategy: 'self-consistency',
		params: { n: 100_000 },
		problem,
		policy,
		concurrency: 2,
		now,
		onEvent: (event) => {
			if (event.t === 'node' && event.id === 1000) handle.stop();
		},
	});
	const { outcome, totals } = await handle.result;
	assert.equal(outcome.stop, 'stopped');
	assert.ok(totals.nodes < 2000, `${totals.nodes} nodes were generated`);
	assert.ok(Math.max(...policy.requests.map(({ n }) => n)) <= 256);
});

test('the batches together contain everything requested, with different seeds', async () => {
	const policy = new FunctionPolicy((_, i) => generation(`<answer>${i % 7}</answer>`));
	const { totals } = await runSearch({ strategy: 'self-consistency', params: { n: 1000 }, problem, policy, now });
	assert.equal(totals.nodes, 1000);
	assert.equal(
		policy.requests.reduce((sum, { n }) => sum + n, 0),
		1000,
	);
	assert.equal(new Set(policy.requests.map(({ seed }) => seed)).size, policy.requests.length);
});

test('every parameter that multiplies the amount of work has an upper limit', () => {
	for (const strategy of strategies) {
		const { entries } = strategy.params as unknown as { entries: Record<string, unknown> };
		for (const name of Object.keys(entries)) {
			const accepts = (value: number) => {
				try {
					strategyParams(strategy, { [name]: value });
					return true;
				} catch {
					return false;
				}
			};
			// Integer parameters are counts; a parameter that also accepts 2.5 is a weight.
			if (!accepts(3) || accepts(2.5)) continue;
			assert.ok(!accepts(1e9), `${strategy.name}: ${name}`);
		}
	}
	assert.throws(() => strategyParams(strategyOf('best-of-n'), { n: 1e9 }), /n must be at most 100000/);
});

test('the work of grouping answers is not quadratic in their number', async () => {
	let compared = 0;
	const classes = new AnswerClasses((a, b) => {
		compared++;
		return a === b;
	});
	for (let i = 0; i < 3000; i++) assert.equal(classes.of(`x_{${i}}`), i);
	assert.ok(compared <= 64 * 3000, `${compared} comparisons`);
	await loadLatexParser();
	const numbers = new AnswerClasses();
	for (let i = 0; i < 20_000; i++) assert.equal(numbers.of(String(i)), i);
	assert.equal(numbers.of('012'), 12);
	assert.equal(numbers.of('\\frac{1}{2}'), 20_000);
	assert.equal(numbers.of('0.5'), 20_000);
	assert.equal(numbers.of('1,000'), 1000);
});

test('answers are compared as text when time is up', async () => {
	await loadLatexParser();
	const classes = new AnswerClasses();
	assert.equal(classes.of('\\frac{1}{2}', true), 0);
	assert.equal(classes.of('0.5', true), 1);
	assert.equal(classes.of('0.50', true), 1);
});

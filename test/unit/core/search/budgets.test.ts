import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import type { GenerateRequest } from '../../../../src/core/search/policy.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import type { StopReason, TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { drawn, FunctionPolicy, FunctionScorer, generation, problem, ticking, valueOfText } from './scripted.ts';

/** Generates steps of 1 to 12 tokens that respect `maxTokens`; every completion ends at its fourth step. */
const play = (request: GenerateRequest, i: number) => {
	const wanted = 1 + drawn(request, i, 12);
	const tokens = Math.min(wanted, request.maxTokens);
	const name = drawn(request, i, 1000);
	const cut = tokens < wanted;
	if (request.stop.length === 0)
		return generation(`rest ${name}`, { finish: cut ? 'length' : 'end', tokens, cost: tokens / 100 });
	const last = request.prefix.split('\n').length === 4;
	const more = cut ? { finish: 'length' as const } : last ? {} : { finish: 'stop' as const, stopText: '\n' };
	return generation(`step ${name}`, { tokens, cost: tokens / 100, ...more });
};
/** Like `play`, but responses arrive out of order. */
class SlowPolicy extends FunctionPolicy {
	readonly #random = Random.of('slow');
	underWay = 0;
	max = 0;
	override async generate(requests: readonly GenerateRequest[]) {
		this.underWay += requests.length;
		this.max = Math.max(this.max, this.underWay);
		for (let i = this.#random.int(30); i > 0; i--) await null;
		this.underWay -= requests.length;
		return super.generate(requests);
	}
}

const strategies: readonly (readonly [string, Record<string, unknown>])[] = [
	['best-of-n', { n: 100 }],
	['best-of-n', { n: 100, weighted: true }],
	['self-consistency', { n: 100 }],
	['beam', { width: 6, expansions: 6 }],
	['dvts', { width: 6, expansions: 6 }],
	['mcts', { simulations: 500 }],
	['mcts', { simulations: 500, evaluation: 'rollout', selection: 'uct' }],
];

const run = (strategy: string, params: Record<string, unknown>, more: Partial<SearchOptions> = {}) =>
	runSearch({
		strategy,
		params,
		problem,
		policy: new FunctionPolicy(play),
		guide: new FunctionScorer(({ completion }) => valueOfText(completion)),
		tags: { think: null, answer: null },
		sampling: { maxTokens: 200, maxStepTokens: 12 },
		now: ticking(),
		...more,
	});

test('a budget is respected exactly and fully used, with 1 and 16 concurrent requests', async () => {
	for (const concurrency of [1, 16]) {
		for (const [strategy, params] of strategies) {
			const what = `${strategy} at ${concurrency}`;
			const nodes = await run(strategy, params, { concurrency, budget: { nodes: 37 }, policy: new SlowPolicy(play) });
			assert.deepEqual([nodes.totals.nodes, nodes.outcome.stop], [37, 'nodes'], what);

			const tokens = await run(strategy, params, {
				concurrency,
				budget: { tokens: 151 },
				policy: new SlowPolicy(play),
			});
			assert.deepEqual([tokens.totals.tokens, tokens.outcome.stop], [151, 'tokens'], what);
			assert.equal(
				tokens.tree.nodes.reduce((sum, node) => sum + (node.tokens ?? 0), 0),
				151,
				what,
			);
			if (strategy !== 'mcts') continue;
			const { totals, outcome, tree } = await run(strategy, params, {
				concurrency,
				budget: { simulations: 23 },
				policy: new SlowPolicy(play),
			});
			assert.deepEqual([totals.simulations, outcome.stop, tree.node(0)?.visits], [23, 'simulations', 23], what);
		}
	}
});

test('a zero budget ends the search before any request', async () => {
	for (const [strategy, params] of strategies) {
		for (const reason of ['nodes', 'tokens', 'seconds', 'cost'] as const) {
			const policy = new FunctionPolicy(play);
			const { outcome, totals } = await run(strategy, params, { policy, budget: { [reason]: 0 } });
			const came = [outcome.stop, outcome.best, outcome.answer, totals.nodes];
			assert.deepEqual(came, [reason, null, null, 0], `${strategy} ${reason}`);
			assert.equal(policy.calls.length, 0);
		}
	}
	const { outcome } = await run('mcts', {}, { budget: { simulations: 0 } });
	assert.equal(outcome.stop, 'simulations');
	// When continuing, known results cost no tokens, but they must not be simulated over and over.
	const events: TreeEvent[] = [];
	const onEvent = (event: TreeEvent) => void events.push(event);
	const { totals } = await run('mcts', {}, { onEvent });
	const more = await run('mcts', {}, { resume: { events, action: 'more' }, budget: { tokens: 0 } });
	assert.deepEqual([more.outcome.stop, more.totals.simulations], ['tokens', totals.simulations]);
});

test('a time budget uses the given clock, and a cost budget ends the search when it is reached', async () => {
	let now = 0;
	const policy = new FunctionPolicy((request, i) => {
		now += 100;
		return play(request, i);
	});
	const { outcome, totals } = await run(
		'mcts',
		{ simulations: 500 },
		{ concurrency: 1, policy, now: () => now, budget: { seconds: 3 } },
	);
	assert.equal(outcome.stop, 'seconds');
	assert.ok(totals.seconds >= 3 && totals.seconds < 4, `${totals.seconds}`);
	const cost = await run('mcts', { simulations: 500 }, { concurrency: 1, budget: { cost: 2 } });
	assert.equal(cost.outcome.stop, 'cost');
	assert.ok((cost.totals.cost as number) >= 2 && (cost.totals.cost as number) < 2.5, `${cost.totals.cost}`);
});

test('a search cut off by its budget can continue with a new one', async () => {
	for (const [strategy, params] of strategies) {
		const events: TreeEvent[] = [];
		const onEvent = (event: TreeEvent) => void events.push(event);
		const first = await run(strategy, params, { budget: { tokens: 60 }, onEvent });
		const next = await run(strategy, params, {
			budget: { tokens: 70 },
			onEvent,
			resume: { events: [...events], action: 'more' },
		});
		assert.equal(next.outcome.stop, 'tokens', strategy);
		assert.deepEqual([first.totals.tokens, next.totals.tokens], [60, 130], strategy);
		const stops = events.flatMap((event): StopReason[] => (event.t === 'end' ? [event.stop] : []));
		assert.deepEqual(stops, ['tokens', 'tokens']);
		assert.ok(
			events.every((event, i) => i === 0 || event.at >= (events[i - 1] as TreeEvent).at),
			'time never goes backward',
		);
	}
});

test('with concurrency 1, everything follows from the seed; with 16, there are at most 16 concurrent requests', async () => {
	for (const [strategy, params] of strategies) {
		const log = async (seed: number) => {
			const events: TreeEvent[] = [];
			await run(strategy, params, {
				seed,
				concurrency: 1,
				budget: { tokens: 400 },
				onEvent: (event) => events.push(event),
			});
			return JSON.stringify(events);
		};
		assert.equal(await log(1), await log(1), strategy);
		assert.notEqual(await log(1), await log(2), strategy);
		const policy = new SlowPolicy(play);
		await run(strategy, params, { concurrency: 16, policy });
		assert.ok(policy.max <= 16, `${strategy}: ${policy.max}`);
	}
});

test('simultaneous requests are batched for the policy, and texts for the scorer', async () => {
	const policy = new FunctionPolicy(play);
	const guide = new FunctionScorer(({ completion }) => valueOfText(completion));
	await run('beam', { width: 6, expansions: 2 }, { concurrency: 16, policy, guide });
	assert.deepEqual(
		policy.calls.map((call) => call.length),
		[1, 6, 6, 6],
	);
	assert.equal(guide.calls.length, 4);
});

/** Generates completions of 5 to 14 tokens, occasionally 60, that continue wherever they were cut. */
const short = (request: GenerateRequest, i: number) => {
	const name = /^\d+/.exec(request.prefix)?.[0] ?? String(1000 + drawn(request, i, 1000));
	const length = Number(name) % 9 === 0 ? 60 : 5 + (Number(name) % 10);
	const whole = `${name}${'x'.repeat(length - 4)}`;
	const rest = whole.slice(request.prefix.length, request.prefix.length + request.maxTokens);
	const ends = request.prefix.length + rest.length === whole.length;
	return generation(rest, { tokens: rest.length, finish: ends ? 'end' : 'length' });
};

test('a small token budget is shared: many requests run concurrently, and those cut off by their share continue', async () => {
	const calls = async (prefix: boolean) => {
		const policy = new FunctionPolicy(short, { prefix });
		const { totals, tree } = await run(
			'best-of-n',
			{ n: 200 },
			{ concurrency: 16, policy, sampling: { maxTokens: 200 }, budget: { tokens: 900 } },
		);
		assert.equal(totals.tokens, 900);
		// Every completion is complete except those truncated when the budget ran out.
		const cut = tree.nodes.slice(1).filter(({ final }) => !final);
		assert.ok(cut.length <= (prefix ? 16 : 1), `${cut.length}`);
		for (const { text, final } of tree.nodes.slice(1)) {
			const length = Number(text.slice(0, 4)) % 9 === 0 ? 60 : 5 + (Number(text.slice(0, 4)) % 10);
			if (final) assert.equal(text.length, length);
		}
		assert.ok(tree.nodes.some(({ tokens }) => (tokens ?? 0) > 32));
		return policy.calls.length;
	};
	const [shared, alone] = [await calls(true), await calls(false)];
	assert.ok(shared * 3 < alone, `${shared} calls instead of ${alone}`);
});

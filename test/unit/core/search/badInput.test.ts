import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import type { Generated, GenerateRequest, Generation, Policy } from '../../../../src/core/search/policy.ts';
import type { Scorer } from '../../../../src/core/search/scorer.ts';
import { beginSearch, type SearchOptions } from '../../../../src/core/search/searchRun.ts';
import { SearchTree } from '../../../../src/core/search/searchTree.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { drawn, FunctionPolicy, FunctionScorer, generation, problem, ticking, valueOfText } from './scripted.ts';

const searches: readonly (readonly [string, Record<string, unknown>])[] = [
	['best-of-n', { n: 12 }],
	['self-consistency', { n: 12 }],
	['beam', { width: 3, expansions: 3, depth: 6 }],
	['dvts', { width: 3, expansions: 3, depth: 6 }],
	['mcts', { simulations: 60, depth: 6 }],
	['mcts', { simulations: 60, depth: 6, evaluation: 'rollout' }],
];

const guide = new FunctionScorer(({ completion }) => valueOfText(completion));
const base = (name: string, params: Record<string, unknown>, policy: Policy, more: Partial<SearchOptions> = {}) =>
	({ strategy: name, params, problem, policy, guide, now: ticking(), concurrency: 4, ...more }) satisfies SearchOptions;

/** Runs every strategy. In every case, the log must end with `end` and reproduce the returned tree. */
async function runAll(
	policy: () => Policy,
	look: (result: Awaited<ReturnType<typeof runSearch>>, name: string, events: TreeEvent[]) => void,
	more: Partial<SearchOptions> = {},
): Promise<void> {
	for (const [name, params] of searches) {
		for (const concurrency of [1, 4]) {
			const events: TreeEvent[] = [];
			const result = await runSearch(
				base(name, params, policy(), { concurrency, onEvent: (event) => void events.push(event), ...more }),
			);
			assert.equal(events.at(-1)?.t, 'end', name);
			assert.equal(events.filter(({ t }) => t === 'end').length, 1);
			const tree = new SearchTree();
			for (const event of events) tree.apply(event);
			assert.equal(tree.nodes.length, result.tree.nodes.length);
			look(result, name, events);
		}
	}
}

const good = (request: GenerateRequest, i: number): Generation =>
	request.stop.length > 0 && request.prefix.split('\n').length < 4
		? generation(`step ${drawn(request, i, 1000)}`, { finish: 'stop', stopText: '\n' })
		: generation(`<answer>${drawn(request, i, 5)}</answer>`);
const faults = (events: readonly TreeEvent[]) => events.filter(({ t }) => t === 'fault').length;

test('a policy that returns nothing ends the search as failed', async () => {
	for (const nothing of [[], new Failure('unavailable', 'The server is gone.', 'Start it.')] as Generated[]) {
		await runAll(
			() => new FunctionPolicy(() => nothing),
			({ outcome, message, totals }, name, events) => {
				assert.deepEqual([outcome.stop, totals.nodes], ['policy', 0], name);
				assert.match(
					message ?? '',
					nothing instanceof Failure ? /server is gone.*Start it/ : /returned no generations/,
				);
				assert.ok(faults(events) > 0);
			},
		);
	}
});

test('a policy that fails occasionally only loses the failed requests', async () => {
	await runAll(
		() => {
			let asked = 0;
			return new FunctionPolicy((request, i) =>
				i === 0 && asked++ % 3 === 1 ? new Failure('timeout', 'Too slow.') : good(request, i),
			);
		},
		({ outcome }, name) => assert.ok(['complete', 'exhausted'].includes(outcome.stop), `${name}: ${outcome.stop}`),
	);
});

test('empty texts, refusals and repeated texts are kept unchanged', async () => {
	await runAll(
		() => new FunctionPolicy(() => generation('')),
		({ outcome, tree }, name) => {
			assert.equal(outcome.stop, 'complete', name);
			assert.deepEqual([outcome.answer, tree.nodes.slice(1).every(({ final }) => final)], [null, true]);
		},
	);
	await runAll(
		() => new FunctionPolicy(() => generation('I cannot help with that.', { finish: 'refusal' })),
		({ outcome, tree }) => {
			assert.equal(outcome.answer, null);
			assert.ok(tree.nodes.slice(1).every(({ finish }) => finish === 'refusal'));
		},
	);
	await runAll(
		() =>
			new FunctionPolicy((request) =>
				generation('again', request.stop.length > 0 ? { finish: 'stop', stopText: '\n' } : { finish: 'length' }),
			),
		({ outcome, tree }, name) => {
			assert.equal(outcome.stop, 'complete', name);
			assert.ok(tree.nodes.every(({ depth }) => depth <= 6));
		},
	);
});

test('garbage instead of generations is skipped, and invalid numbers are corrected', async () => {
	const rubbish = [
		null,
		7,
		'text',
		{},
		{ text: 5 },
		{ text: 'half', finish: 'maybe', tokens: Number.NaN, promptTokens: 'x', logprob: Infinity, detail: { text: 3 } },
	];
	await runAll(
		() => ({
			...new FunctionPolicy(good),
			name: 'rubbish',
			capabilities: new FunctionPolicy(good).capabilities,
			generate: async (requests) => requests.map(() => rubbish as unknown as Generated),
		}),
		({ outcome, tree, totals }, name, events) => {
			assert.equal(outcome.stop, 'complete', name);
			for (const node of tree.nodes.slice(1))
				assert.deepEqual([node.text, node.tokens, node.logprob], ['half', 1, null]);
			assert.ok(Number.isFinite(totals.tokens));
			assert.ok(!JSON.stringify(events).includes('null,null,null'));
		},
	);
	for (const answers of [[], null, 'x', [null, null]]) {
		await runAll(
			() => ({
				name: 'rubbish',
				capabilities: new FunctionPolicy(good).capabilities,
				generate: async () => answers as never,
			}),
			({ outcome }, name) => assert.equal(outcome.stop, 'policy', name),
		);
	}
});

test('a policy that throws midway ends the search, which keeps its results and can continue', async () => {
	for (const [name, params] of searches) {
		for (const after of [0, 1, 2, 5]) {
			let calls = 0;
			const failing = new FunctionPolicy(good);
			const { generate } = failing;
			failing.generate = async (requests) => {
				if (calls++ >= after) throw new Error('connection reset');
				return generate.call(failing, requests);
			};
			const events: TreeEvent[] = [];
			const onEvent = (event: TreeEvent) => void events.push(event);
			const first = await runSearch(base(name, params, failing, { onEvent }));
			if (calls <= after) continue;
			assert.equal(first.outcome.stop, 'policy', `${name} after ${after}`);
			assert.match(first.message ?? '', /Policy scripted failed: connection reset/);
			const next = await runSearch(
				base(name, params, new FunctionPolicy(good), { resume: { events, action: 'more' } }),
			);
			assert.equal(next.outcome.stop, 'complete');
			assert.ok(next.outcome.answer !== null);
			assert.ok(next.tree.nodes.length >= first.tree.nodes.length);
		}
	}
});

test('a scorer that throws or returns too few values ends the search, and non-numeric values are ignored', async () => {
	const scorer = (score: Scorer['score']): Scorer => ({ name: 'odd', scope: 'step', oracle: false, score });
	const throwing = scorer(async () => {
		throw new Error('out of memory');
	});
	const short = scorer(async () => []);
	for (const odd of [throwing, short]) {
		await runAll(
			() => new FunctionPolicy(good),
			({ outcome, message, tree }, name) => {
				if (name === 'self-consistency') return;
				assert.equal(outcome.stop, 'scorer', name);
				assert.match(message ?? '', /Scorer odd (failed: out of memory|returned 0 values)/);
				assert.ok(tree.nodes.length > 1, 'existing nodes are kept');
			},
			{ guide: odd },
		);
	}
	const nan = scorer(async (items) =>
		items.map((_, i) => [Number.NaN, Number.POSITIVE_INFINITY, null, undefined as never][i % 4] as number),
	);
	await runAll(
		() => new FunctionPolicy(good),
		({ outcome, tree }, name, events) => {
			assert.equal(outcome.stop, 'complete', name);
			if (name !== 'self-consistency') assert.ok(faults(events) > 0, name);
			assert.ok(tree.nodes.every(({ score, total }) => score === null && Number.isFinite(total)));
		},
		{ guide: nan },
	);
});

test('running out of time while a judge is slow keeps the votes so far', async () => {
	const judge: Scorer = { name: 'slow', scope: 'final', oracle: false, score: () => new Promise(() => undefined) };
	const policy = new FunctionPolicy((_, i) => generation(`<answer>${[4, 5, 5][i % 3]}</answer>`));
	const events: TreeEvent[] = [];
	const search = beginSearch(
		base('best-of-n', { n: 3, weighted: true }, policy, {
			judge,
			onEvent: (event) => {
				events.push(event);
				// All completions have been generated and the judge is running.
				if (events.length === 5) setImmediate(() => search.stop('seconds'));
			},
		}),
	);
	const { outcome } = await search.result;
	assert.equal(outcome.stop, 'seconds');
	assert.equal(outcome.answer, '4', 'the first answer, because there are no values');
	assert.equal(events.filter(({ t }) => t === 'merge').length, 1);
});

test('a user can stop a search at any time, even while the policy is not responding', async () => {
	for (const [name, params] of searches) {
		for (const after of [0, 1, 3]) {
			let calls = 0;
			const policy = new FunctionPolicy(good);
			const { generate } = policy;
			let reached: () => void = () => undefined;
			const hanging = new Promise<void>((resolve) => {
				reached = resolve;
			});
			policy.generate = async (requests) => {
				if (calls++ < after) return generate.call(policy, requests);
				reached();
				return new Promise(() => undefined);
			};
			const events: TreeEvent[] = [];
			const search = beginSearch(base(name, params, policy, { onEvent: (event) => void events.push(event) }));
			await Promise.race([hanging, search.result]);
			search.stop();
			const { outcome, tree } = await search.result;
			if (calls > after) assert.equal(outcome.stop, 'stopped', name);
			const length = events.length;
			search.stop();
			assert.deepEqual([events.length, events.at(-1)?.t, tree.events], [length, 'end', length]);
		}
		const signal = { aborted: false };
		let asked = 0;
		const policy = new FunctionPolicy((request, i) => {
			signal.aborted = ++asked > 5;
			return good(request, i);
		});
		const { outcome } = await runSearch(base(name, params, policy, { signal, concurrency: 1 }));
		assert.ok(['stopped', 'complete'].includes(outcome.stop), `${name}: ${outcome.stop}`);
		const never = await runSearch(base(name, params, new FunctionPolicy(good), { signal: { aborted: true } }));
		assert.deepEqual([never.outcome.stop, never.totals.nodes], ['stopped', 0]);
	}
});

test('if writing the log fails, the search rejects and makes no further requests', async () => {
	const policy = new FunctionPolicy(good);
	let events = 0;
	const onEvent = () => {
		if (++events > 8) throw new Failure('full', 'The disk is full.');
	};
	await assert.rejects(runSearch(base('mcts', { simulations: 1000 }, policy, { onEvent })), /disk is full/);
	const calls = policy.calls.length;
	for (let i = 0; i < 100; i++) await null;
	assert.equal(policy.calls.length, calls);
});

test('arbitrary answers and texts cause no harm', async () => {
	const odd = [
		'\u0000',
		'\\frac{1}{',
		'a'.repeat(5000),
		'<answer>',
		'</answer>',
		'\ud800',
		'{{{{',
		'$$',
		'∞',
		'1/0',
		'<think>',
	];
	await runAll(
		() => new FunctionPolicy((request, i) => generation(`<answer>${odd[drawn(request, i, odd.length)]}</answer>`)),
		({ outcome }, name) => assert.equal(outcome.stop, 'complete', name),
	);
});

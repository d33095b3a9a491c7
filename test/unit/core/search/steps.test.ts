import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { Failure } from '../../../../src/base/failure.ts';
import type { Generation, TokenDetail } from '../../../../src/core/search/policy.ts';
import type { GenerateOptions, Search, StepSplit } from '../../../../src/core/search/search.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import { stepRuleOf } from '../../../../src/core/search/stepRule.ts';
import type { Strategy } from '../../../../src/core/search/strategy.ts';
import type { TreeNode } from '../../../../src/core/search/treeNode.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { FunctionPolicy, generation, problem, ticking } from './scripted.ts';

/** Builds a strategy from a test's function. */
const doing = (run: (search: Search) => Promise<unknown>): Strategy<object> => ({
	name: 'test',
	title: 'Test',
	description: '',
	source: '',
	structure: 'tree',
	params: v.strictObject({}),
	needs: {},
	async run(search) {
		await run(search);
		return { stop: 'complete' };
	},
});

const search = (
	run: (search: Search) => Promise<unknown>,
	options: Partial<SearchOptions> & Pick<SearchOptions, 'policy'>,
) => runSearch({ strategy: doing(run), problem, now: ticking(), ...options });

/** Continues from a text step by step until it is final. */
const chain =
	(options: Partial<GenerateOptions> = {}) =>
	async (search: Search) => {
		let [node] = await search.generate(search.root, { unit: 'step', ...options });
		while (node !== undefined && !node.final && node.depth < 50)
			[node] = await search.generate(node.id, { unit: 'step', ...options });
	};

/** Returns a policy that generates one fixed text, with or without support for stop strings. */
const byHeart = (text: string, stops = true) =>
	new FunctionPolicy(({ prefix, stop, maxTokens }) => {
		assert.ok(text.startsWith(prefix), `not a prefix of the text: ${JSON.stringify(prefix)}`);
		const rest = text.slice(prefix.length);
		const places = stops ? stop.map((one) => [rest.indexOf(one), one] as const).filter(([at]) => at >= 0) : [];
		places.sort(([a], [b]) => a - b);
		const first = places[0];
		if (first !== undefined && first[0] + first[1].length <= maxTokens) {
			return generation(rest.slice(0, first[0]), {
				finish: 'stop',
				stopText: first[1],
				tokens: first[0] + first[1].length,
			});
		}
		return rest.length > maxTokens
			? generation(rest.slice(0, maxTokens), { finish: 'length', tokens: maxTokens })
			: generation(rest, { tokens: rest.length });
	});

const text = '<think>First.\nIt is 3.5 here. So what?\n\n\nThen more</think>\n<answer>7</answer>';

test('each rule splits a completion into steps, whether or not the policy supports stop strings', async () => {
	const steps: [StepSplit, string[]][] = [
		['lines', ['<think>First.\n', 'It is 3.5 here. So what?\n', '\n\nThen more</think>\n', '<answer>7</answer>']],
		['paragraphs', ['<think>First.\nIt is 3.5 here. So what?\n\n', '\nThen more</think>\n<answer>7</answer>']],
		[
			'sentences',
			['<think>First.\n', 'It is 3.5 here. ', 'So what?\n', '\n\nThen more</think>\n', '<answer>7</answer>'],
		],
		[{ text: '</think>' }, ['<think>First.\nIt is 3.5 here. So what?\n\n\nThen more</think>', '\n<answer>7</answer>']],
		['tokens-40', [text.slice(0, 40), text.slice(40, 80), text.slice(80)].filter((part) => part !== '')],
		['completion', [text]],
	];
	for (const [split, expected] of steps) {
		for (const stops of [true, false]) {
			const { tree } = await search(chain(), { policy: byHeart(text, stops), split });
			const nodes = tree.nodes.slice(1);
			assert.deepEqual(
				nodes.map((node) => node.text),
				expected,
				`${JSON.stringify(split)} ${stops}`,
			);
			assert.equal(tree.textOf(nodes.length), text);
			const last = nodes.at(-1) as TreeNode;
			assert.deepEqual([last.final, last.answer, last.role], [true, '7', 'answer']);
			assert.ok(nodes.slice(0, -1).every((node) => !node.final && node.answer === null && node.role === 'thought'));
		}
	}
	assert.throws(() => stepRuleOf('verses' as StepSplit), /Unknown step split "verses"/);
	assert.throws(() => stepRuleOf('tokens-0'), /Unknown step split/);
});

test('a step of only whitespace does not count and is extended', async () => {
	const policy = byHeart('one\n\n \ntwo');
	const { tree } = await search(chain(), { policy });
	assert.deepEqual(
		tree.nodes.slice(1).map((node) => node.text),
		['one\n', '\n \ntwo'],
	);
	// A policy that generates only blank lines must terminate, too.
	const blank = await search(chain(), {
		policy: new FunctionPolicy(() => generation('', { finish: 'stop', stopText: '\n', tokens: 1 })),
		sampling: { maxTokens: 40 },
	});
	assert.equal(blank.outcome.stop, 'complete');
	assert.equal(blank.totals.tokens, 40);
});

test('a step of only tags is joined with the next, whether or not the policy supports stop strings', async () => {
	const whole = '<think>\nFirst.\n</think>\n\n<answer>\n7\n</answer>';
	for (const stops of [true, false]) {
		for (const split of ['lines', { text: '\n' }] as const) {
			const { tree } = await search(chain(), { policy: byHeart(whole, stops), split });
			assert.deepEqual(
				tree.nodes.slice(1).map(({ text, final }) => [text, final]),
				[
					['<think>\nFirst.\n', false],
					['</think>\n\n<answer>\n7\n</answer>', true],
				],
				`${stops} ${JSON.stringify(split)}`,
			);
			assert.equal(tree.nodes.at(-1)?.answer, '7');
		}
	}
	// Without think and answer tags in the template, tags are ordinary text.
	const own = await search(chain(), { policy: byHeart('<think>\nFirst.'), tags: { think: null, answer: null } });
	assert.equal(own.tree.node(1)?.text, '<think>\n');
	// Continuations of empty siblings are requested together.
	const policy = byHeart(whole);
	await search((s) => s.generate(0, { unit: 'step', n: 4 }), { policy });
	assert.deepEqual(
		policy.calls.map((call) => call.length),
		[1, 4],
	);
});

test('a completion with an answer is final, even if the policy would continue', async () => {
	const { tree } = await search(chain(), { policy: byHeart('so\n<answer>7</answer>\nAnd another thing\n') });
	assert.deepEqual(
		tree.nodes.slice(1).map(({ text, final }) => [text, final]),
		[
			['so\n', false],
			['<answer>7</answer>\n', true],
		],
	);
});

test('a completion that reaches its token limit or the context limit is final without an answer', async () => {
	const long = byHeart('x\n'.repeat(100));
	const own = await search(chain(), { policy: long, sampling: { maxTokens: 7 } });
	const last = own.tree.nodes.at(-1) as TreeNode;
	assert.deepEqual([last.final, last.finish, last.answer], [true, 'length', null]);
	assert.equal(own.totals.tokens, 7);
	const full = new FunctionPolicy(({ prefix }) =>
		prefix.length > 10
			? generation('', { finish: 'length', tokens: 0 })
			: generation('step', { finish: 'stop', stopText: '\n' }),
	);
	const context = await search(chain(), { policy: full });
	assert.deepEqual([context.tree.nodes.at(-1)?.final, context.tree.nodes.at(-1)?.finish], [true, 'length']);
});

test('text generated beyond the step is discarded with its tokens and their probabilities', async () => {
	const detail: TokenDetail = { text: ['one', '\n', 'two'], logprob: [-1, -2, -4], entropy: [0.5, 1.5, 9] };
	const policy = new FunctionPolicy(() => generation('one\ntwo', { tokens: 3, logprob: -7, detail }));
	const { tree } = await search((s) => s.generate(0, { unit: 'step' }), { policy, sampling: { tokens: 1 } });
	const node = tree.node(1) as TreeNode;
	assert.deepEqual([node.text, node.tokens, node.logprob, node.entropy, node.final], ['one\n', 2, -3, 1, false]);
});

test('generations are split at tokens into chains of nodes, and each node has its own tokens', async () => {
	const detail: TokenDetail = { text: ['a', 'b', 'c', 'd'], logprob: [-1, -2, -3, -4] };
	const policy = new FunctionPolicy(() => generation('abcd', { tokens: 5, logprob: -10, detail }));
	let last: readonly TreeNode[] = [];
	const { tree } = await search(
		async (s) => {
			last = await s.generate(0, { unit: 'completion', cut: () => [1, 3, 3, 9] });
			assert.deepEqual(s.tokensOf(2)?.text, ['b', 'c']);
			assert.equal(s.textOf(3), 'abcd');
		},
		{ policy },
	);
	assert.deepEqual(
		tree.nodes.slice(1).map(({ text, tokens, logprob, parents, final }) => [text, tokens, logprob, parents, final]),
		[
			['a', 1, -1, [0], false],
			['bc', 2, -5, [1], false],
			['d', 2, -4, [2], true],
		],
	);
	assert.deepEqual(
		last.map(({ id }) => id),
		[3],
	);
	// Nodes in a chain count toward the budget, so a chain is split only as far as the budget allows.
	const few = await search((s) => s.generate(0, { unit: 'completion', cut: () => [1, 2, 3] }), {
		policy,
		budget: { nodes: 2 },
	});
	assert.deepEqual(
		few.tree.nodes.slice(1).map((node) => node.text),
		['a', 'bcd'],
	);
});

test('independent generations start over; others continue the text', async () => {
	const policy = new FunctionPolicy(({ prefix }) => generation(`${prefix}+`));
	await search(
		async (s) => {
			const [draft] = await s.generate(0, { unit: 'completion', role: 'draft' });
			const [revision] = await s.generate((draft as TreeNode).id, {
				unit: 'completion',
				fresh: true,
				role: 'revision',
			});
			assert.equal(s.textOf((revision as TreeNode).id), '+');
			const [fresh] = await s.generate((draft as TreeNode).id, { unit: 'completion', fresh: true });
			assert.equal(s.textOf((fresh as TreeNode).id), '+');
			const both = s.add({ parents: [1, 2], text: 'both', role: 'aggregate' });
			assert.equal(s.textOf(both.id), 'both');
			const more = s.add({ parents: [both.id], text: ' more' });
			assert.equal(s.textOf(more.id), 'both more');
			assert.equal(s.tree.textOf(more.id), 'both more');
		},
		{ policy },
	);
});

test('a policy that cannot continue from a prefix is rejected before any request', async () => {
	const policy = new FunctionPolicy(() => generation('step', { finish: 'stop', stopText: '\n' }), { prefix: false });
	const guide = { name: 'guide', scope: 'step', oracle: false, score: async () => [1] } as const;
	for (const strategy of ['beam', 'dvts', 'mcts']) {
		await assert.rejects(
			runSearch({ strategy, problem, policy, guide, now: ticking() }),
			(error: Failure) => error.reason === 'unsupported' && /cannot continue a given prefix/.test(error.message),
		);
	}
	assert.equal(policy.calls.length, 0);
	const whole = await runSearch({
		strategy: 'mcts',
		split: 'completion',
		params: { simulations: 4 },
		problem,
		policy: new FunctionPolicy(() => generation('<answer>1</answer>'), { prefix: false }),
		guide: { ...guide, score: async (items) => items.map(() => 1) },
		now: ticking(),
	});
	assert.equal(whole.outcome.answer, '1');
	const late = await search(chain(), { policy });
	assert.deepEqual([late.outcome.stop, late.totals.nodes], ['policy', 1]);
	assert.match(late.message ?? '', /cannot continue/);
});

test('siblings have priors based on their per-token probability, which sum to 1', async () => {
	const given: Partial<Generation>[] = [
		{ logprob: -2, tokens: 2 },
		{ logprob: -2, tokens: 1 },
		{ logprob: -2, tokens: 2 },
	];
	const texts = ['a', 'b', 'a'];
	const priors = async (known: boolean) => {
		const policy = new FunctionPolicy((_, i) =>
			generation(texts[i] as string, { ...given[i], ...(known ? {} : { logprob: null }) }),
		);
		const { tree } = await search((s) => s.generate(0, { n: 3, unit: 'completion' }), { policy });
		return tree.nodes.slice(1).map(({ prior }) => prior);
	};
	const [x, y] = [Math.exp(-1), Math.exp(-2)];
	assert.deepEqual(await priors(true), [x / (x + y), y / (x + y), 0]);
	assert.deepEqual(await priors(false), [2 / 3, 1 / 3, 0]);
});

test('tokens of a requested text are counted, and each request has its own seed', async () => {
	const policy = new FunctionPolicy(({ messages }, i) => generation(`${messages[0]?.content} ${i}`, { tokens: 3 }));
	const { totals } = await search(
		async (s) => {
			assert.deepEqual(await s.ask([{ role: 'user', content: 'vote' }], { n: 2 }), ['vote 0', 'vote 1']);
			await s.ask([{ role: 'user', content: 'vote' }]);
			await s.ask([{ role: 'user', content: 'value' }]);
		},
		{ policy },
	);
	assert.deepEqual([totals.tokens, totals.nodes], [12, 0]);
	assert.equal(new Set(policy.requests.map(({ seed }) => seed)).size, 3);
});

test('a search that cannot start reports why and how to fix it', async () => {
	const policy = new FunctionPolicy(() => generation('x'));
	const fails = (options: Partial<SearchOptions>, message: RegExp) =>
		assert.rejects(runSearch({ strategy: 'best-of-n', problem, policy, now: ticking(), ...options }), (error) => {
			assert.ok(error instanceof Failure);
			assert.match(error.toString(), message);
			return true;
		});
	await fails({ strategy: 'worst-of-n' }, /Unknown strategy "worst-of-n"\. Choose one of: best-of-n, .*mcts/);
	await fails({ params: { k: 3 } }, /no parameter "k"\. Parameters: n, weighted, temperature\./);
	await fails({ params: { n: 0 } }, /Invalid parameters for best-of-n: n must be at least 1\./);
	await fails({}, /no scorer is set\. Choose a judge/);
	await fails({ strategy: 'beam' }, /requires a guide that scores steps.* Choose a guide/);
});

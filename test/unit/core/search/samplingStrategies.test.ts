import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { FunctionPolicy, FunctionScorer, generation, problem, ticking } from './scripted.ts';

/** Returns a policy that generates these completions in order, each with a reward. */
function samples(list: readonly (readonly [answer: string | null, reward: number])[]) {
	const text = (i: number) => {
		const [answer] = list[i % list.length] as readonly [string | null, number];
		return `<think>way ${i}</think>${answer === null ? '' : `<answer>${answer}</answer>`}`;
	};
	const policy = new FunctionPolicy((_, i) => generation(text(i)));
	const judge = new FunctionScorer(({ completion }) => {
		const i = Number(/way (\d+)/.exec(completion)?.[1]);
		return (list[i % list.length] as readonly [string | null, number])[1];
	}, 'final');
	return { policy, judge };
}

const run = (
	list: Parameters<typeof samples>[0],
	strategy: string,
	params: object,
	more: Partial<SearchOptions> = {},
) => runSearch({ strategy, params: { n: list.length, ...params }, problem, ...samples(list), now: ticking(), ...more });

const list = [
	['7', 0.9],
	['5', 0.4],
	['5.0', 0.4],
	['\\frac{10}{2}', 0.3],
	[null, 5],
	['8', 0.7],
	['8', 0.35],
] as const;

test('best-of-N picks the completion with the highest reward; when weighted, the answer with the highest total reward', async () => {
	const plain = await run(
		list.filter(([answer]) => answer !== null),
		'best-of-n',
		{},
	);
	assert.deepEqual([plain.outcome.answer, plain.outcome.value, plain.outcome.best], ['7', 0.9, [0, 1]]);
	// By hand: 7: 0.9; 5: 0.4 + 0.4 + 0.3 = 1.1; 8: 0.7 + 0.35 = 1.05. Completions without an answer have no vote.
	const weighted = await run(list, 'best-of-n', { weighted: true });
	assert.equal(weighted.outcome.answer, '5');
	assert.ok(Math.abs((weighted.outcome.value as number) - 1.1) < 1e-12);
	assert.deepEqual(weighted.outcome.best, [0, 2], 'the best completion with that answer');
});

test('self-consistency picks the most frequent answer, using the equivalence of the accuracy reward', async () => {
	const { outcome, tree } = await run(list, 'self-consistency', {}, { judge: null });
	assert.equal(outcome.answer, '5');
	assert.equal(outcome.value, 3 / 6);
	assert.deepEqual(
		tree.nodes.map(({ mergedInto }) => mergedInto),
		[null, null, null, 2, 2, null, null, 6],
	);
});

test('the first of tied answers is picked, or the first completion if there are no answers', async () => {
	const even = await run(
		[
			['1', 0],
			['2', 0],
			['2', 0],
			['1', 0],
		],
		'self-consistency',
		{},
	);
	assert.equal(even.outcome.answer, '1');
	const none = await run(
		[
			[null, 0.1],
			[null, 0.3],
		],
		'self-consistency',
		{},
	);
	assert.deepEqual([none.outcome.answer, none.outcome.best], [null, [0, 1]]);
});

test('the end event records whether the answer matches the gold answer', async () => {
	for (const [answer, correct] of [
		['#### 5', true],
		['6', false],
		[null, null],
	] as const) {
		const events: TreeEvent[] = [];
		await run(
			list,
			'self-consistency',
			{},
			{ problem: { ...problem, answer }, onEvent: (event) => events.push(event) },
		);
		const end = events.at(-1);
		assert.equal(end?.t === 'end' ? end.correct : undefined, correct, `${answer}`);
	}
});

test('continuing samples n more completions, or those missing from a truncated log', async () => {
	const events: TreeEvent[] = [];
	const first = await run(list, 'best-of-n', {}, { onEvent: (event) => events.push(event) });
	assert.equal(first.totals.nodes, 7);
	const more = await run(list, 'best-of-n', {}, { resume: { events, action: 'more' } });
	assert.equal(more.totals.nodes, 14);
	const lacking = await run(list, 'best-of-n', {}, { resume: { events: events.slice(0, 5), action: 'more' } });
	assert.equal(lacking.totals.nodes, 7);
	// It continues with the next seeds, so it generates new completions.
	const seeds = async (from: readonly TreeEvent[]) => {
		const { policy, judge } = samples(list);
		await runSearch({
			strategy: 'best-of-n',
			params: { n: 7 },
			problem,
			policy,
			judge,
			now: ticking(),
			resume: { events: from, action: 'more' },
		});
		return policy.requests.map(({ seed, n }) => [seed, n]);
	};
	assert.notDeepEqual(await seeds(events), await seeds(events.slice(0, 2)));
	assert.deepEqual(await seeds(events), await seeds(events));
});

test('a completion cut off by a budget is continued', async () => {
	const events: TreeEvent[] = [];
	const text = 'one two three four <answer>5</answer>';
	const policy = new FunctionPolicy(({ prefix, maxTokens }) => {
		const rest = text.slice(prefix.length);
		const cut = rest.length > maxTokens;
		return generation(rest.slice(0, maxTokens), {
			tokens: Math.min(maxTokens, rest.length),
			finish: cut ? 'length' : 'end',
		});
	});
	const options = { strategy: 'self-consistency', params: { n: 2 }, problem, policy, now: ticking() };
	const first = await runSearch({ ...options, budget: { tokens: 45 }, onEvent: (event) => events.push(event) });
	assert.deepEqual([first.outcome.stop, first.tree.nodes.map(({ final }) => final)], ['tokens', [false, true, false]]);
	const next = await runSearch({ ...options, resume: { events, action: 'more' } });
	assert.equal(next.outcome.stop, 'complete');
	assert.equal(next.tree.textOf(3), text);
	assert.equal(next.tree.node(3)?.answer, '5');
	assert.equal(next.totals.nodes, 3);
});

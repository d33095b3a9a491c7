import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Replay } from '../../../../src/core/search/replay.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { drawn, FunctionPolicy, FunctionScorer, generation, problem, ticking, valueOfText } from './scripted.ts';

/** Runs a search and appends its events to a log. */
async function into(events: TreeEvent[], options: Partial<SearchOptions> & Pick<SearchOptions, 'strategy' | 'policy'>) {
	const resume = events.length === 0 ? {} : { resume: { events: [...events], action: 'more' as const } };
	return runSearch({
		problem,
		guide: new FunctionScorer(({ completion }) => valueOfText(completion)),
		concurrency: 1,
		now: ticking(),
		...resume,
		...options,
		onEvent: (event) => events.push(event),
	});
}

/** Returns a policy with two answers in many different texts. */
const twoAnswers = () =>
	new FunctionPolicy((request, i) => generation(`${drawn(request, i, 1000)} <answer>${drawn(request, i, 2)}</answer>`));

test('merging completions by vote does not exclude them: later simulations still visit all of them', async () => {
	const events: TreeEvent[] = [];
	const search = { strategy: 'mcts', policy: twoAnswers(), params: { simulations: 40, expansions: 6, choose: 'vote' } };
	const first = await into(events, search);
	const merged = first.tree.nodes.filter(({ mergedInto }) => mergedInto !== null);
	assert.equal(merged.length, 4, 'all but one of each answer');
	const second = await into(events, { ...search, policy: twoAnswers() });
	assert.equal(second.tree.nodes.length, first.tree.nodes.length, 'no new nodes were generated');
	const candidates = events.findLast((event) => event.t === 'select')?.candidates;
	assert.equal(candidates?.length, 6);
});

test('a step that ended the completion and an identical one that did not are distinct', async () => {
	const policy = new FunctionPolicy((request, i) =>
		request.prefix === ''
			? generation('It is 7.', i === 0 ? {} : { finish: 'stop', stopText: '\n' })
			: generation('<answer>7</answer>'),
	);
	const { tree } = await into([], { strategy: 'beam', policy, params: { width: 2, expansions: 2 } });
	assert.deepEqual(
		tree.nodes.slice(1, 3).map(({ final, pruned }) => [final, pruned]),
		[
			[true, null],
			[false, null],
		],
	);
	assert.ok(tree.nodes.some(({ depth, answer }) => depth === 2 && answer === '7'));
});

test('completions that continue from a pruned thought are not results, but independent ones are', async () => {
	const events: TreeEvent[] = [];
	const steps = () =>
		new FunctionPolicy(({ prefix }, i) =>
			prefix === '' ? generation(`way ${i}`, { finish: 'stop', stopText: '\n' }) : generation('<answer>1</answer>'),
		);
	const search = { strategy: 'mcts', params: { simulations: 12, expansions: 2, choose: 'value' } };
	const first = await into(events, { ...search, policy: steps() });
	const way = first.outcome.best?.[1] as number;
	events.push({ t: 'prune', at: 1e3, id: way, reason: 'a person' });
	const { outcome } = await into(events, { ...search, policy: steps() });
	assert.ok(outcome.best !== null && !outcome.best.includes(way), `${outcome.best}`);
});

test('a completion without a value is scored only once', async () => {
	const judge = new FunctionScorer(() => null, 'final');
	await into([], { strategy: 'mcts', policy: twoAnswers(), judge, guide: null, params: { simulations: 30 } });
	const asked = judge.calls.flat().map(({ completion }) => completion);
	assert.equal(new Set(asked).size, asked.length);
});

test('continuing with another backup rule uses its values from that point in the log onward', async () => {
	const events: TreeEvent[] = [];
	await into(events, { strategy: 'mcts', policy: twoAnswers(), params: { simulations: 20 } });
	const before = events.length;
	const { tree } = await into(events, {
		strategy: 'mcts',
		policy: twoAnswers(),
		params: { simulations: 40, backup: 'max' },
	});
	assert.equal(tree.backup, 'max');
	assert.equal(tree.q(0), tree.node(0)?.greatest);
	const replay = new Replay(events);
	const backups = [events.length, before, events.length].map((moment) => replay.treeAt(moment).backup);
	assert.deepEqual(backups, ['max', 'mean', 'max']);
});

/** Returns a policy whose steps have few distinct texts, some of which end the completion. */
const steps = () =>
	new FunctionPolicy((request, i) => {
		const answer = `<answer>${drawn(request, i, 3)}</answer>`;
		if (request.prefix.split('\n').length > 3 || drawn(request, i, 7) === 0) return generation(answer);
		const text = `step ${drawn(request, i, 3)}`;
		if (request.stop.length === 0) return generation(`${text}\n${answer}`);
		return generation(text, { finish: 'stop', stopText: '\n' });
	});

test('a search killed after sampling was complete does not sample again, wherever its log is truncated', async () => {
	const searches = {
		'best-of-n': { n: 6 },
		'self-consistency': { n: 6 },
		beam: { width: 2, expansions: 3 },
		dvts: { width: 2, expansions: 2 },
		mcts: { simulations: 25, expansions: 3 },
	};
	for (const [strategy, params] of Object.entries(searches)) {
		const whole: TreeEvent[] = [];
		const { tree } = await into(whole, { strategy, params, policy: steps() });
		const last = whole.findLastIndex(({ t }) => t === 'node' || t === 'visit');
		const end = whole.findIndex(({ t }) => t === 'end');
		assert.ok(end > last + 1, strategy);
		for (let cut = last + 1; cut < end; cut++) {
			const events = whole.slice(0, cut);
			const again = await into(events, { strategy, params, policy: steps() });
			assert.equal(again.outcome.stop, 'complete', strategy);
			assert.deepEqual(
				again.tree.nodes.map(({ text }) => text),
				tree.nodes.map(({ text }) => text),
				`${strategy}, cut after ${cut} of ${end} events`,
			);
		}
	}
});

test('a search killed while sampling ends with the same number of completions', async () => {
	for (const strategy of ['best-of-n', 'self-consistency']) {
		const whole: TreeEvent[] = [];
		await into(whole, { strategy, params: { n: 6 }, policy: steps() });
		for (let cut = 2; cut < whole.length - 1; cut++) {
			const { tree } = await into(whole.slice(0, cut), { strategy, params: { n: 6 }, policy: steps() });
			assert.equal(tree.nodes.filter(({ final }) => final).length, 6, `${strategy}, cut after ${cut}`);
		}
	}
});

test('a beam search killed within a step samples only what its beams lack, and merges equal steps', async () => {
	const params = { width: 2, expansions: 3 };
	const whole: TreeEvent[] = [];
	await into(whole, { strategy: 'beam', params, policy: steps() });
	for (let cut = 2; cut < whole.length - 1; cut++) {
		const { tree, outcome } = await into(whole.slice(0, cut), { strategy: 'beam', params, policy: steps() });
		assert.equal(outcome.stop, 'complete');
		for (const { id, children } of tree.nodes) {
			if (children.length === 0) continue;
			assert.equal(children.length, id === 0 ? 6 : 3, `node ${id}, cut after ${cut}`);
			const open = children.map((child) => tree.node(child)).filter((node) => node?.mergedInto === null);
			const said = open.map((node) => `${node?.final} ${node?.text}`);
			assert.equal(new Set(said).size, said.length, `node ${id}, cut after ${cut}`);
		}
	}
});

test('continuing a finished search doubles its size', async () => {
	const events: TreeEvent[] = [];
	const search = { strategy: 'self-consistency', params: { n: 6 } };
	await into(events, { ...search, policy: steps() });
	const { tree } = await into(events, { ...search, policy: steps() });
	assert.equal(tree.nodes.length, 13);
});

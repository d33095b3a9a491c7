import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { Random } from '../../../../src/base/random.ts';
import { Replay } from '../../../../src/core/search/replay.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import { SearchTree } from '../../../../src/core/search/searchTree.ts';
import { type AnyStrategy, strategyOf } from '../../../../src/core/search/strategies.ts';
import { type TreeEvent, treeEventSchema } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { drawn, FunctionPolicy, FunctionScorer, generation, problem, ticking, valueOfText } from './scripted.ts';

const policy = () =>
	new FunctionPolicy((request, i) => {
		const text = `step ${drawn(request, i, 3)}`;
		const detail = { text: [...text], logprob: [...text].map(() => -0.1) };
		if (request.prefix.split('\n').length > 3) return generation(`<answer>${drawn(request, i, 3)}</answer>`);
		return request.stop.length === 0
			? generation(`${text}\n<answer>${drawn(request, i, 3)}</answer>`)
			: generation(text, { finish: 'stop', stopText: '\n', detail });
	});

const searches: readonly (readonly [string, Record<string, unknown>])[] = [
	['best-of-n', { n: 6, weighted: true }],
	['self-consistency', { n: 6 }],
	['beam', { width: 2, expansions: 3, lookahead: 1 }],
	['dvts', { width: 2, expansions: 2 }],
	['mcts', { simulations: 25, expansions: 3, backup: 'max' }],
	['mcts', { simulations: 15, expansions: 2, evaluation: 'rollout', selection: 'uct' }],
];

const options = (strategy: string | AnyStrategy, params: Record<string, unknown>): SearchOptions => ({
	strategy,
	params,
	problem,
	policy: policy(),
	guide: new FunctionScorer(({ completion }) => valueOfText(completion)),
	now: ticking(),
	concurrency: 4,
});

const stateOf = (tree: SearchTree): string =>
	JSON.stringify([
		tree.nodes.map((node) => ({ ...node, scores: [...node.scores], q: tree.q(node.id), text: tree.textOf(node.id) })),
		tree.roots,
		tree.events,
		tree.skipped,
		tree.outcome,
		tree.backup,
		tree.start,
		tree.nodes.map(({ id }) => tree.notesOf(id)),
	]);

test("the tree rebuilt from the log equals the search's tree after each line, for every strategy", async () => {
	for (const [name, params] of searches) {
		const strategy = strategyOf(name);
		let live: SearchTree | null = null;
		const read = new SearchTree();
		let lines = 0;
		const watched: AnyStrategy = {
			...strategy,
			run(search, given) {
				live = search.tree;
				return strategy.run(search, given);
			},
		};
		const onEvent = (event: TreeEvent) => {
			// As a reader receives it: decoded from a line of text.
			read.apply(v.parse(treeEventSchema, JSON.parse(JSON.stringify(event))));
			if (live !== null) assert.equal(stateOf(read), stateOf(live), `${name}, line ${lines}`);
			lines++;
		};
		const { tree, outcome } = await runSearch({ ...options(watched, params), onEvent });
		assert.equal(tree.skipped, 0);
		assert.equal(read.events, lines);
		assert.deepEqual(read.outcome, outcome);
	}
});

async function logOf(name: string, params: Record<string, unknown>): Promise<TreeEvent[]> {
	const events: TreeEvent[] = [];
	await runSearch({ ...options(name, params), onEvent: (event) => events.push(event) });
	return events;
}

const fresh = (events: readonly TreeEvent[]): SearchTree => {
	const tree = new SearchTree();
	for (const event of events) tree.apply(event);
	return tree;
};

test('positions can be replayed in any order while the log grows', async () => {
	for (const [name, params] of searches) {
		const events = await logOf(name, params);
		const more = { ...options(name, params), resume: { events: [...events], action: 'more' } } as const;
		await runSearch({ ...more, onEvent: (event) => events.push(event) });
		// Insert invalid events, user actions and agent events at random positions.
		const random = Random.of('moments', name);
		const odd: TreeEvent[] = [
			{ t: 'prune', at: 1, id: 1, reason: 'a person' },
			{ t: 'prune', at: 1, id: 1, reason: 'again' },
			{ t: 'restore', at: 1, id: 1 },
			{ t: 'restore', at: 1, id: 999 },
			{ t: 'critique', at: 1, id: 1, missing: ['a'], superfluous: [], addressed: [] },
			{ t: 'tool', at: 1, id: 1, name: 'calculator', arguments: {} },
			{ t: 'visit', at: 1, path: [0, 1, 0], values: [1, 2, 3], times: 2 },
			{ t: 'visit', at: 1, path: [0, 999], values: [1, 2], times: 1 },
			{ t: 'score', at: 1, id: 1, scorer: 'other', value: null },
			{ t: 'merge', at: 1, id: 2, into: 1 },
			events[0] as TreeEvent,
			events[2] as TreeEvent,
		];
		for (const event of odd) events.splice(random.between(6, events.length), 0, event);
		const replay = new Replay(events.slice(0, 30));
		for (let i = 0; i < 120; i++) {
			if (replay.length < events.length) replay.append(events[replay.length] as TreeEvent);
			const n = random.int(replay.length + 1);
			assert.equal(stateOf(replay.treeAt(n)), stateOf(fresh(events.slice(0, n))), `${name}, event ${n}`);
		}
		assert.equal(replay.treeAt(1e9).events, replay.length);
		assert.equal(replay.treeAt(-5).events, 0);
		// A copy is unaffected by later replays.
		const kept = replay.treeAt(50).copy();
		const before = stateOf(kept);
		replay.treeAt(replay.length);
		assert.equal(stateOf(kept), before);
	}
});

test('a log truncated anywhere can be continued, for every strategy', async () => {
	for (const [name, params] of searches) {
		const events = await logOf(name, params);
		for (let cut = 2; cut <= events.length; cut++) {
			const given = events.slice(0, cut);
			const written: TreeEvent[] = [];
			const { tree, outcome } = await runSearch({
				...options(name, params),
				onEvent: (event) => written.push(event),
				resume: { events: given, action: 'more' },
			});
			assert.equal(outcome.stop, 'complete', `${name} cut at ${cut}`);
			assert.notEqual(outcome.best, null);
			assert.equal(written[0]?.t, 'resume');
			assert.equal(written.at(-1)?.t, 'end');
			assert.equal(stateOf(fresh([...given, ...written])), stateOf(tree));
			assert.equal(tree.skipped, 0);
		}
	}
});

test('a log without a start event is rejected, and invalid events are skipped', async () => {
	const events = await logOf('mcts', { simulations: 10 });
	for (const few of [[], events.slice(0, 1), events.slice(3)]) {
		await assert.rejects(
			runSearch({ ...options('mcts', {}), resume: { events: few, action: 'more' } }),
			/The search cannot be continued: its log has no start event/,
		);
	}
	const node = (id: number, parents: number[]): TreeEvent => ({
		t: 'node',
		at: 0,
		id,
		parents,
		text: 'loop',
		role: 'thought',
		final: false,
		answer: null,
		by: 'policy',
	});
	const nodes = fresh(events).nodes.length;
	const nonsense: TreeEvent[] = [
		node(nodes, [nodes]),
		node(nodes, [nodes + 1]),
		node(3, [0]),
		{ t: 'merge', at: 0, id: 2, into: 2 },
		{ t: 'score', at: 0, id: 9999, scorer: 'x', value: 1 },
		{ t: 'visit', at: 0, path: [0, 9999], values: [1, 1], times: 1 },
		{ t: 'visit', at: 0, path: [0], values: [], times: 1 },
		{ t: 'select', at: 0, path: [9999] },
		{
			t: 'end',
			at: 0,
			best: [9999],
			answer: null,
			value: null,
			stop: 'complete',
			tokens: 1,
			promptTokens: null,
			simulations: 0,
			cost: null,
			seconds: 0,
			correct: null,
		},
	];
	const { tree, outcome } = await runSearch({
		...options('mcts', { simulations: 10 }),
		resume: { events: [...events.slice(0, 40), ...nonsense, ...events.slice(40)], action: 'more' },
	});
	assert.equal(outcome.stop, 'complete');
	assert.equal(tree.skipped, 7);
	assert.deepEqual(tree.pathTo(9999), []);
});

test('a user edits a step, forces a token, or branches, and the strategy continues from there', async () => {
	for (const [name, params] of searches.slice(2)) {
		const events = await logOf(name, params);
		const tree = fresh(events);
		const step = tree.nodes.find((node) => node.depth === 1 && node.text.startsWith('step'))?.id as number;
		const go = async (resume: Omit<NonNullable<SearchOptions['resume']>, 'events'>) => {
			const result = await runSearch({ ...options(name, params), resume: { events, ...resume } });
			const own = result.tree.nodes[tree.nodes.length];
			return { ...result, own };
		};
		const edited = await go({ action: 'edit', node: step, text: 'I know\n' });
		assert.deepEqual([edited.own?.by, edited.own?.text, edited.own?.parents], ['person', 'I know\n', [0]]);
		assert.ok(edited.outcome.best?.includes(edited.own?.id as number), `${name}: ${edited.outcome.best}`);
		assert.match(edited.tree.textOf(edited.outcome.best?.at(-1) as number), /^I know\nstep/);

		const whole = await go({ action: 'edit', node: step, text: '<answer>1</answer>' });
		assert.deepEqual([whole.own?.final, whole.outcome.answer, whole.outcome.stop], [true, '1', 'complete']);
		assert.equal(whole.tree.nodes.length, tree.nodes.length + 1);

		const forced = await go({ action: 'force', node: step, token: 4, text: '?' });
		assert.equal(forced.own?.text, 'step?');
		assert.ok(forced.outcome.best?.includes(forced.own?.id as number));

		const branched = await go({ action: 'branch', node: step });
		assert.equal(branched.tree.node(step)?.pruned, null);
		assert.ok(branched.outcome.best?.includes(step), `${name}: ${branched.outcome.best}`);
		for (const { id } of branched.tree.nodes.slice(tree.nodes.length))
			assert.ok(branched.tree.pathTo(id).includes(step));

		await assert.rejects(go({ action: 'edit', node: 0, text: 'x' }), /problem node/);
		await assert.rejects(go({ action: 'edit', node: step, text: '' }), /has no text/);
		await assert.rejects(go({ action: 'force', node: step, token: 99, text: 'x' }), /no token 99/);
		await assert.rejects(
			go({ action: 'branch', node: 9999 }),
			/Cannot continue from node 9999: the search has no such node/,
		);
		const final = tree.nodes.findIndex((node) => node.final);
		await assert.rejects(go({ action: 'branch', node: final }), /Cannot continue from node \d+: it is final/);
		await assert.rejects(
			go({ action: 'force', node: final, token: 0, text: 'x' }),
			/tokens of node \d+ were not recorded/,
		);
	}
});

test('identical requests in different parts of a search use different seeds; a truncated log continues with its own seeds', async () => {
	const seeds: number[] = [];
	const asking: AnyStrategy = {
		...strategyOf('best-of-n'),
		needs: {},
		async run(search) {
			await search.ask([{ role: 'user', content: 'Divide it.' }]);
			await search.generate(search.root, { unit: 'completion', fresh: true });
			return { stop: 'complete' };
		},
	};
	const asked = async (resume?: SearchOptions['resume']): Promise<TreeEvent[]> => {
		const own = policy();
		const events: TreeEvent[] = [...((resume?.events as TreeEvent[]) ?? [])];
		await runSearch({
			...options(asking, {}),
			policy: own,
			onEvent: (event) => events.push(event),
			...(resume === undefined ? {} : { resume }),
		});
		seeds.push(...own.requests.map(({ seed }) => seed));
		return events;
	};
	const first = await asked();
	const node = first.findIndex(({ t }) => t === 'node') + 1;
	const more = await asked({ events: first, action: 'more' });
	await asked({ events: more, action: 'more' });
	assert.equal(new Set(seeds).size, 6, `${seeds}`);
	seeds.length = 0;
	await asked();
	await asked({ events: first.slice(0, node), action: 'more' });
	assert.deepEqual(seeds.slice(2), seeds.slice(0, 2));
	seeds.length = 0;
	// Continue repeatedly below a single node.
	const open = first.map((event) => (event.t === 'node' && event.id > 0 ? { ...event, final: false } : event));
	const once = await asked({ events: open, action: 'branch', node: 1 });
	await asked({ events: once, action: 'branch', node: 1 });
	assert.equal(new Set(seeds).size, 4, `${seeds}`);
});

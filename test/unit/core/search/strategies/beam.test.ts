import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SearchOptions } from '../../../../../src/core/search/searchRun.ts';
import { aggregate } from '../../../../../src/core/search/stepValues.ts';
import type { TreeNode } from '../../../../../src/core/search/treeNode.ts';
import type { TreeEvent } from '../../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../../support/runSearch.ts';
import { type Game, gamePolicy, placeOf, randomGame } from '../mctsReference.ts';
import { drawn, FunctionPolicy, FunctionScorer, generation, problem, ticking, valueOfText } from '../scripted.ts';

const play = (game: Game, strategy: string, params: Record<string, unknown>, more: Partial<SearchOptions> = {}) =>
	runSearch({
		strategy,
		params,
		problem,
		policy: gamePolicy(game),
		guide: new FunctionScorer(({ completion }) => placeOf(game, completion).value),
		tags: { think: null, answer: null },
		concurrency: 1,
		now: ticking(),
		...more,
	});

/** Returns a policy with two first steps, p and q, and a guide with the given values for steps. */
function twoSteps(values: Readonly<Record<string, number>>, ends: readonly string[]) {
	const policy = new FunctionPolicy((request, i) =>
		request.prefix === ''
			? generation(['p', 'q'][i % 2] as string, { finish: 'stop', stopText: '\n' })
			: generation(`${request.prefix.trim()}${ends[i % ends.length]}`),
	);
	const guide = new FunctionScorer(({ completion }) => values[completion.trim().split('\n').at(-1) as string] ?? 0);
	return { problem, policy, guide, tags: { think: null, answer: null }, concurrency: 1, now: ticking() };
}

/** Yields every path to a leaf of the game, with its values. */
function* ways(
	game: Game,
	texts: string[] = [],
	values: number[] = [],
): Generator<{ texts: string[]; values: number[] }> {
	if (game.children.length === 0) yield { texts, values };
	for (const child of game.children) yield* ways(child, [...texts, child.text], [...values, child.value]);
}

test('a sufficiently wide beam finds the same result as exhaustive search', async () => {
	for (let seed = 0; seed < 20; seed++) {
		const game = randomGame(seed);
		const all = [...ways(game)];
		const { tree, outcome } = await play(game, 'beam', { width: 1000, expansions: 4 });
		const finals = tree.nodes.filter(({ final, mergedInto }) => final && mergedInto === null);
		assert.equal(finals.length, all.length, 'every leaf was reached');
		const best = all.reduce((a, b) => ((b.values.at(-1) as number) > (a.values.at(-1) as number) ? b : a));
		assert.deepEqual(
			outcome.best?.slice(1).map((id) => tree.node(id)?.text.trim()),
			best.texts,
		);
		assert.equal(outcome.value, best.values.at(-1));
	}
});

test('the best next steps across all beams continue, for each aggregation', async () => {
	for (const aggregation of ['last', 'min', 'prod', 'mean'] as const) {
		for (let seed = 20; seed < 25; seed++) {
			const game = randomGame(seed);
			const { tree } = await play(game, 'beam', { width: 2, expansions: 4, aggregation });
			// Computed independently, level by level.
			let beams: { game: Game; texts: string[]; values: number[] }[] = [{ game, texts: [], values: [] }];
			const kept = new Set<string>();
			while (beams.length > 0) {
				const next = beams.flatMap((beam) =>
					beam.game.children.map((child) => ({
						game: child,
						texts: [...beam.texts, child.text],
						values: [...beam.values, child.value],
					})),
				);
				next.sort((a, b) => aggregate(b.values, aggregation) - aggregate(a.values, aggregation));
				for (const beam of next.slice(0, 2)) kept.add(beam.texts.join('/'));
				beams = next.slice(0, 2).filter((beam) => beam.game.children.length > 0);
			}
			const open = tree.nodes.filter(({ id, pruned, mergedInto }) => id > 0 && pruned === null && mergedInto === null);
			const found = open.map(({ id }) => tree.textOf(id).split('\n').filter(Boolean).join('/'));
			assert.deepEqual(new Set(found), kept, `${aggregation} ${seed}`);
		}
	}
	assert.equal(aggregate([0.5, 0.25, 1], 'prod'), 0.125);
	assert.equal(aggregate([0.5, 0.25, 1], 'min'), 0.25);
	assert.equal(aggregate([0.5, 0.25, 0.75], 'mean'), 0.5);
	assert.equal(aggregate([0.5, 0.25, 1], 'last'), 1);
});

test('lookahead scores a step by what follows it', async () => {
	const texts = new FunctionPolicy((request, i) => {
		if (request.prefix === '') return generation(['fair', 'foul'][i % 2] as string, { finish: 'stop', stopText: '\n' });
		return generation(request.prefix.startsWith('fair') ? 'a dead end' : 'the treasure');
	});
	const guide = new FunctionScorer(({ completion }) => {
		if (completion.includes('treasure')) return 1;
		return completion.includes('dead end') ? 0 : completion.startsWith('fair') ? 0.9 : 0.1;
	});
	const run = (lookahead: number) =>
		runSearch({
			strategy: 'beam',
			params: { width: 1, expansions: 2, lookahead },
			problem,
			policy: texts,
			guide,
			tags: { think: null, answer: null },
			now: ticking(),
		});
	assert.equal((await run(0)).outcome.value, 0);
	const ahead = await run(1);
	assert.equal(ahead.outcome.value, 1);
	const greedy = texts.requests.filter(({ temperature }) => temperature === 0);
	assert.equal(greedy.length, 2);
	assert.ok(ahead.tree.nodes.some(({ label }) => label === 'lookahead'));
});

test('diversity keeps a step with different content over a better one with the same content', async () => {
	const steps = ['add the two numbers', 'add the two numbers now', 'multiply everything'];
	const policy = new FunctionPolicy((_, i) => generation(steps[i % 3] as string));
	const guide = new FunctionScorer(({ completion }) => [0.9, 0.85, 0.5][steps.indexOf(completion)] as number);
	const kept = async (diversity: number) => {
		const { tree } = await runSearch({
			strategy: 'beam',
			params: { width: 2, expansions: 3, diversity },
			problem,
			policy,
			guide,
			now: ticking(),
		});
		return tree.nodes.filter(({ final, pruned, mergedInto }) => final && pruned === null && mergedInto === null);
	};
	assert.deepEqual(
		(await kept(0)).map(({ text }) => text),
		steps.slice(0, 2),
	);
	assert.deepEqual(
		(await kept(0.5)).map(({ text }) => text),
		[steps[0], steps[2]],
	);
});

test('verifier tree search continues with the best step in each subtree, regardless of the others', async () => {
	// The second subtree has the best steps except at the start; a beam of two would crowd out the first subtree.
	const policy = new FunctionPolicy((request, i) => {
		const level = request.prefix.split('\n').length;
		const text = `${request.prefix === '' ? 'abcd'[i] : ''}${level}${'xy'[i % 2]}`;
		return level < 3 ? generation(text, { finish: 'stop', stopText: '\n' }) : generation(text);
	});
	const guide = new FunctionScorer(
		({ completion }) => (/^[cd]/.test(completion) ? 0.9 : 0.2) + valueOfText(completion) / 10,
	);
	const { tree, totals } = await runSearch({
		strategy: 'dvts',
		params: { width: 2, expansions: 2 },
		problem,
		policy,
		guide,
		now: ticking(),
		concurrency: 4,
	});
	const finals = tree.nodes.filter(({ final, pruned }) => final && pruned === null);
	assert.deepEqual(finals.map(({ id }) => /^[ab]/.test(tree.textOf(id))).sort(), [false, true]);
	for (const { id } of finals) {
		for (const step of tree.pathTo(id).slice(1)) {
			const { parents, depth } = tree.node(step) as TreeNode;
			const place = (one: number) => (tree.node(parents[0] as number) as TreeNode).children.indexOf(one);
			const rivals = (tree.node(parents[0] as number) as TreeNode).children.filter(
				(other) => depth > 1 || Math.floor(place(other) / 2) === Math.floor(place(step) / 2),
			);
			const value = (one: number) => (tree.node(one) as TreeNode).scores.get('value') as number;
			assert.equal(value(step), Math.max(...rivals.map(value)));
		}
	}
	assert.equal(totals.nodes, 4 + 2 * 2 * 2);
});

test('the last allowed step extends to the end of the completion', async () => {
	const policy = new FunctionPolicy((request, i) =>
		request.stop.length > 0
			? generation(`step ${drawn(request, i, 100)}`, { finish: 'stop', stopText: '\n' })
			: generation(`rest ${drawn(request, i, 100)}`),
	);
	for (const strategy of ['beam', 'dvts']) {
		const { tree } = await runSearch({
			strategy,
			params: { width: 2, expansions: 2, depth: 3 },
			problem,
			policy,
			guide: new FunctionScorer(({ completion }) => valueOfText(completion)),
			now: ticking(),
		});
		const finals = tree.nodes.filter(({ final }) => final);
		assert.ok(finals.length > 0);
		for (const { depth, text } of finals) assert.deepEqual([depth, text.slice(0, 4)], [3, 'rest']);
	}
});

test('beams and subtrees continue from a log truncated anywhere, with the same result', async () => {
	const game = randomGame(11);
	for (const strategy of ['beam', 'dvts']) {
		const params = { width: 2, expansions: 4 };
		const events: TreeEvent[] = [];
		const whole = await play(game, strategy, params, { onEvent: (event) => events.push(event) });
		const open = (tree: typeof whole.tree) =>
			tree.nodes.filter(({ final, pruned, mergedInto }) => final && pruned === null && mergedInto === null);
		const texts = (tree: typeof whole.tree) => new Set(open(tree).map(({ id }) => tree.textOf(id)));
		for (let cut = 2; cut < events.length - 1; cut++) {
			const next = await play(game, strategy, params, { resume: { events: events.slice(0, cut), action: 'more' } });
			assert.equal(next.outcome.stop, 'complete');
			// If the log ends within a step, only missing nodes may be lost; if it ends between steps, nothing is lost.
			assert.ok(open(next.tree).length > 0, `${strategy} cut at ${cut}`);
			const last = events[cut - 1] as TreeEvent;
			if (last.t === 'prune' && events[cut]?.t === 'node') assert.deepEqual(texts(next.tree), texts(whole.tree));
		}
	}
});

test('the selected completion has the highest value under the aggregation, as in search-and-learn', async () => {
	// search-and-learn applies `aggregate_scores` and `np.argmax` to the scores of all steps.
	const values = { p: 0.3, pz: 0.9, q: 0.8, qz: 0.7 };
	const formulas: Readonly<Record<string, (scores: readonly number[]) => number>> = {
		last: (scores) => scores.at(-1) as number,
		min: (scores) => Math.min(...scores),
		prod: (scores) => scores.reduce((a, b) => a * b, 1),
		mean: (scores) => scores.reduce((a, b) => a + b, 0) / scores.length,
	};
	for (const strategy of ['beam', 'dvts']) {
		for (const [aggregation, formula] of Object.entries(formulas)) {
			for (const choose of ['value', 'vote']) {
				const { outcome, tree } = await runSearch({
					...twoSteps(values, ['z']),
					strategy,
					params: { width: 2, expansions: 1, aggregation, choose },
				});
				const [p, q] = [formula([values.p, values.pz]), formula([values.q, values.qz])] as [number, number];
				const last = tree.textOf(outcome.best?.at(-1) as number).trim();
				assert.equal(last, p > q ? 'p\npz' : 'q\nqz', `${strategy} ${aggregation} ${choose}`);
				assert.equal(outcome.value, Math.max(p, q), `${strategy} ${aggregation} ${choose}`);
			}
		}
	}
});

test("with a judge in addition to the guide, the judge's values decide, regardless of aggregation", async () => {
	const judge = new FunctionScorer(({ completion }) => (completion.includes('qz') ? 0.2 : 0.6), 'final', 'judge');
	const { outcome } = await runSearch({
		...twoSteps({ p: 0.3, pz: 0.9, q: 0.8, qz: 0.7 }, ['z']),
		judge,
		strategy: 'beam',
		params: { width: 2, expansions: 1, aggregation: 'min' },
	});
	assert.equal(outcome.value, 0.6);
});

test('a pruned completion does not return through an identical one, and a kept one is not counted twice', async () => {
	// The guide prefers A to B; the judge, which only sees the remaining ones, would pick B.
	const texts = { A: 0.9, C: 0.8, B: 0.1 } as const;
	const judged = { A: 0.4, C: 0.5, B: 1 } as const;
	type Text = keyof typeof texts;
	const run = (strategy: string, sampled: readonly Text[], choose: string) =>
		runSearch({
			strategy,
			params: { width: strategy === 'beam' ? 2 : 1, expansions: sampled.length, choose },
			problem,
			policy: new FunctionPolicy((_, i) => generation(sampled[i % sampled.length] as string)),
			guide: new FunctionScorer(({ completion }) => texts[completion as Text]),
			judge: new FunctionScorer(({ completion }) => judged[completion as Text], 'final', 'judge'),
			tags: { think: null, answer: null },
			concurrency: 1,
			now: ticking(),
		});
	for (const choose of ['value', 'vote']) {
		const result = async (strategy: string, sampled: readonly Text[]) => {
			const { outcome, tree } = await run(strategy, sampled, choose);
			return [tree.textOf(outcome.best?.at(-1) as number), outcome.value];
		};
		assert.deepEqual(await result('beam', ['A', 'B', 'C', 'B']), ['C', 0.5], choose);
		assert.deepEqual(await result('beam', ['A', 'B', 'C', 'A']), ['C', 0.5], `kept twice, ${choose}`);
		assert.deepEqual(await result('dvts', ['A', 'B', 'C', 'B']), ['A', 0.4], choose);
	}
});

test('a single completion needs no scorer', async () => {
	const one = (params: Record<string, unknown>) =>
		runSearch({
			strategy: 'best-of-n',
			params,
			problem,
			policy: new FunctionPolicy(() => generation('the only one')),
			tags: { think: null, answer: null },
			now: ticking(),
		});
	for (const weighted of [false, true]) {
		const { outcome } = await one({ n: 1, weighted });
		assert.deepEqual([outcome.best, outcome.value], [[0, 1], null]);
	}
	await assert.rejects(one({ n: 2 }), /no scorer is set/);
});

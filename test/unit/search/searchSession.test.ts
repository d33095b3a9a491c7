import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import type { SearchTree } from '../../../src/core/search/searchTree.ts';
import { isBeingSearched, readSearchSummary } from '../../../src/runs/searchLog.ts';
import { pruneNode } from '../../../src/search/pruneNode.ts';
import { continueSearch, startSearch } from '../../../src/search/searchSession.ts';
import { readTreeLog } from '../../../src/search/treeLogFile.ts';
import { adder, contextFor, folderFor, linesOf, problem, scriptIn, specOf } from './searchFixtures.ts';

const slow = { ...adder, rules: adder.rules.map((rule) => ({ ...rule, delayMs: 30_000 })) };

/** Describes the shape of a tree by the texts, values and visits of its nodes. */
const shapeOf = ({ nodes }: SearchTree) =>
	nodes.map(({ id, parents, text, final, answer, pruned, visits, total, score, by }) => ({
		...{ id, parents, text, final, answer, pruned, visits, total, score, by },
	}));

describe('a search with a log', () => {
	it('logs its nodes, values and result, and whether the answer is correct', async (context) => {
		const folder = await folderFor(context);
		const log = join(folder, 'searches', 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'mcts',
			guide: { use: 'mean-logprob' },
			budget: { simulations: 12 },
		});
		const session = await startSearch({ spec, problem, log, context: contextFor(context, folder) });
		const { outcome, totals, tree } = await session.result;
		assert.equal(session.correct, outcome.answer === '42');
		const read = await readTreeLog(log);
		assert.equal(read.unreadable, 0);
		assert.deepEqual(shapeOf(read.tree), shapeOf(tree));
		assert.deepEqual(read.tree.outcome, outcome);
		const lines = await linesOf(log);
		assert.deepEqual([lines[0]?.t, lines[1]?.t, lines.at(-1)?.t], ['start', 'node', 'end']);
		assert.equal(lines.at(-1)?.correct, session.correct);
		assert.equal(lines.filter(({ t }) => t === 'visit').length, 12);
		const summary = await readSearchSummary(log);
		assert.equal(summary?.nodes, tree.nodeCount);
		assert.equal(session.progress.nodes, tree.nodeCount);
		assert.equal(totals.nodes, tree.nodeCount);
		assert.equal(summary?.end?.stop, 'simulations');
		assert.equal(await isBeingSearched(log), false);
	});

	it('does not start where a log exists, and leaves none behind if it fails to start', async (context) => {
		const folder = await folderFor(context);
		const search = contextFor(context, folder);
		const log = join(folder, 'a.jsonl');
		const file = await scriptIn(folder);
		const begin = (spec: Parameters<typeof specOf>[0]) =>
			startSearch({ spec: specOf(spec), problem, log, context: search });
		const policy = { kind: 'scripted', file } as const;
		await assert.rejects(begin({ policy, strategy: 'nothing' }), {
			reason: 'invalid',
			message: /Unknown strategy "nothing"/,
		});
		await assert.rejects(begin({ policy, strategy: 'best-of-n', params: { n: 0 } }), { reason: 'invalid' });
		await assert.rejects(
			begin({ policy: { kind: 'scripted', file: join(folder, 'none.json') }, strategy: 'best-of-n' }),
			{
				reason: 'missing',
			},
		);
		await assert.rejects(readFile(log), { code: 'ENOENT' });
		// A search without a required scorer fails at the start and releases its lock.
		await assert.rejects(
			begin({ policy, strategy: 'beam' }).then(({ result }) => result),
			{ reason: 'invalid' },
		);
		await (await begin({ policy, strategy: 'self-consistency', params: { n: 2 } })).result;
		await assert.rejects(begin({ policy, strategy: 'self-consistency' }), { reason: 'exists' });
	});

	it('ends immediately when stopped and logs the end; two processes cannot write to one log', async (context) => {
		const folder = await folderFor(context);
		const search = contextFor(context, folder);
		const log = join(folder, 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder, slow) },
			strategy: 'self-consistency',
		});
		const session = await startSearch({ spec, problem, log, context: search });
		assert.equal(await isBeingSearched(log), true);
		await assert.rejects(continueSearch({ log, budget: {}, action: { action: 'more' }, context: search }), {
			reason: 'busy',
		});
		await assert.rejects(pruneNode(log, 0, false), { reason: 'busy' });
		await session.stop();
		assert.equal((await session.result).outcome.stop, 'stopped');
		assert.equal((await linesOf(log)).at(-1)?.stop, 'stopped');
		assert.equal(await isBeingSearched(log), false);
	});

	it('can be stopped and keeps logging even if it makes no requests', async (context) => {
		const folder = await folderFor(context);
		const log = join(folder, 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'mcts',
			params: { simulations: 1e6 },
			guide: { use: 'reward', reward: 'format' },
		});
		const stop = new AbortController();
		const search = contextFor(context, folder);
		const session = await startSearch({ spec, problem, log, context: search, signal: stop.signal });
		// All completions in the script are soon known, and simulations continue without further requests.
		while (session.progress.simulations < 2000) await new Promise((resolve) => setTimeout(resolve, 20));
		stop.abort();
		const { outcome } = await session.result;
		assert.equal(outcome.stop, 'stopped');
	});

	it('ends when its time limit is reached, whatever the policy is doing', async (context) => {
		const folder = await folderFor(context);
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder, slow) },
			strategy: 'self-consistency',
			budget: { seconds: 0.2 },
		});
		const log = join(folder, 'a.jsonl');
		const session = await startSearch({ spec, problem, log, context: contextFor(context, folder) });
		assert.equal((await session.result).outcome.stop, 'seconds');
	});

	it('scores existing candidates when its time limit is reached, so the result is the best of them', async (context) => {
		const folder = await folderFor(context);
		const [fast, late] = ['<think></think><answer>42</answer>', '<think></think><answer>43</answer>'];
		const script = {
			...adder,
			rules: [
				{ say: fast, times: 1 },
				{ say: late, delayMs: 60_000 },
			],
		};
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder, script) },
			strategy: 'sequential-revision',
			params: { result: 'scorer' },
			guide: { use: 'reward', reward: 'accuracy', gold: true },
			budget: { seconds: 2 },
		});
		const log = join(folder, 'a.jsonl');
		const session = await startSearch({ spec, problem, log, context: contextFor(context, folder) });
		const { outcome } = await session.result;
		assert.deepEqual([outcome.stop, outcome.answer, outcome.value], ['seconds', '42', 1]);
	});

	it('keeps the values of a guide and a judge with the same name separate', async (context) => {
		const folder = await folderFor(context);
		const reward = async (name: string, value: number) => {
			const file = join(folder, `${name}.reward.ts`);
			await writeFile(file, `export const own = () => ${value};\n`);
			return { use: 'reward' as const, reward: { file, name: 'own' } };
		};
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'best-of-n',
			params: { n: 2 },
			guide: await reward('guide', 0.25),
			judge: await reward('judge', 0.75),
		});
		const log = join(folder, 'a.jsonl');
		const session = await startSearch({ spec, problem, log, context: contextFor(context, folder) });
		assert.equal((await session.result).outcome.value, 0.75);
		const { start } = (await readTreeLog(log)).tree;
		assert.deepEqual(
			start?.scorers.map(({ name }) => name),
			['own', 'own (judge)'],
		);
	});

	it('reports the remaining budget at the end, counting additional requests', async (context) => {
		const folder = await folderFor(context);
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'self-refine',
			params: { rounds: 1, stop: 'never' },
			budget: { tokens: 1000 },
		});
		const log = join(folder, 'a.jsonl');
		const session = await startSearch({ spec, problem, log, context: contextFor(context, folder) });
		const { totals, tree } = await session.result;
		const ofNodes = tree.nodes.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
		assert.ok(totals.tokens > ofNodes);
		assert.deepEqual([session.left.tokens, session.progress.tokens], [1000 - totals.tokens, totals.tokens]);
	});

	it('can be extended, or continued below a node, after text from the user, or after a forced token', async (context) => {
		const folder = await folderFor(context);
		const search = contextFor(context, folder);
		const log = join(folder, 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'mcts',
			guide: { use: 'mean-logprob' },
			sampling: { tokens: 2 },
			budget: { simulations: 4 },
		});
		await (await startSearch({ spec, problem, log, context: search })).result;
		const before = (await readTreeLog(log)).tree;
		const step = before.nodes.find(({ depth, final }) => depth === 1 && !final);
		assert.ok(step);
		const go = async (action: Parameters<typeof continueSearch>[0]['action']) => {
			const session = await continueSearch({ log, budget: { simulations: 3 }, action, context: search });
			return (await session.result).tree;
		};
		const more = await go({ action: 'more' });
		assert.equal(more.nodes[0]?.visits, 7);
		const branched = await go({ action: 'branch', node: step.id });
		for (const node of branched.nodes.slice(more.nodes.length)) assert.ok(branched.pathTo(node.id).includes(step.id));
		const edited = await go({ action: 'edit', node: step.id, text: '<think>17 + 25 = 30 + 12\n' });
		const written = edited.nodes[branched.nodes.length];
		assert.deepEqual([written?.by, written?.text, written?.parents], ['person', '<think>17 + 25 = 30 + 12\n', [0]]);
		const forced = await go({ action: 'force', node: step.id, token: 1, text: '9' });
		const made = forced.nodes[edited.nodes.length];
		assert.ok(
			made?.by === 'person' && made.text.endsWith('9') && step.text.startsWith(made.text.slice(0, -1)),
			made?.text,
		);
		assert.deepEqual(shapeOf((await readTreeLog(log)).tree), shapeOf(forced));
		const resumes = (await linesOf(log)).filter(({ t }) => t === 'resume').map(({ action }) => action);
		assert.deepEqual(resumes, ['more', 'branch', 'edit', 'force']);
		await assert.rejects(
			continueSearch({ log, budget: {}, action: { action: 'branch', node: 99_999 }, context: search }).then(
				({ result }) => result,
			),
			{ reason: 'invalid' },
		);
	});

	it('continues for the requested number of simulations, regardless of its per-round parameters', async (context) => {
		const folder = await folderFor(context);
		const search = contextFor(context, folder);
		const log = join(folder, 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'mcts',
			params: { simulations: 3 },
			guide: { use: 'mean-logprob' },
		});
		await (await startSearch({ spec, problem, log, context: search })).result;
		const session = await continueSearch({
			...{ log, context: search },
			budget: { simulations: 9 },
			action: { action: 'more' },
		});
		assert.equal((await session.result).tree.nodes[0]?.visits, 12);
	});

	it('prunes and restores nodes in a log, once each, and explains what cannot be pruned', async (context) => {
		const folder = await folderFor(context);
		const log = join(folder, 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'self-consistency',
			params: { n: 3 },
		});
		await (await startSearch({ spec, problem, log, context: contextFor(context, folder) })).result;
		await pruneNode(log, 1, false);
		await pruneNode(log, 1, false);
		assert.equal((await readTreeLog(log)).tree.node(1)?.pruned, 'a person');
		await pruneNode(log, 1, true);
		assert.equal((await readTreeLog(log)).tree.node(1)?.pruned, null);
		assert.deepEqual(
			(await linesOf(log)).slice(-2).map(({ t }) => t),
			['prune', 'restore'],
		);
		await assert.rejects(pruneNode(log, 0, false), { reason: 'invalid' });
		await assert.rejects(pruneNode(log, 77, false), { reason: 'invalid' });
		assert.equal((await readSearchSummary(log))?.end?.stop, 'complete');
	});

	it('can be continued wherever its log was truncated: complete lines are kept, and partial ones set aside', async (context) => {
		const folder = await folderFor(context);
		const search = contextFor(context, folder);
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder) },
			strategy: 'mcts',
			guide: { use: 'mean-logprob' },
			budget: { simulations: 3 },
		});
		const log = join(folder, 'a.jsonl');
		await (await startSearch({ spec, problem, log, context: search })).result;
		const whole = await readFile(log);
		const starts = [...whole.keys()].filter((at) => at === 0 || whole[at - 1] === 0x0a);
		// Test every byte for some lines of each type, and a sample for all others.
		const kinds = new Map<string, number>();
		for (const at of starts) kinds.set(/^\{"t":"(\w+)"/.exec(whole.toString('utf8', at, at + 30))?.[1] ?? '', at);
		const cuts = new Set<number>();
		const random = Random.of('cuts');
		for (const [kind, at] of kinds) {
			const end = whole.indexOf(0x0a, at);
			if (kind === 'start') continue;
			for (let cut = at; cut <= end + 1; cut++)
				if (cut - at < 3 || end - cut < 3 || random.next() < 0.04) cuts.add(cut);
		}
		const events = (await readTreeLog(log)).events;
		for (const cut of cuts) {
			const path = join(folder, `cut-${cut}.jsonl`);
			await writeFile(path, whole.subarray(0, cut));
			const session = await continueSearch({
				log: path,
				budget: { simulations: 1 },
				action: { action: 'more' },
				context: search,
			});
			await session.result;
			const read = await readTreeLog(path);
			assert.equal(read.unreadable, 0, `cut at ${cut}: ${JSON.stringify(read.faults)}`);
			const kept = whole
				.subarray(0, cut)
				.toString('utf8')
				.split('\n')
				.filter((line, i, all) => i < all.length - 1 || isWhole(line)).length;
			assert.deepEqual(read.events.slice(0, kept), events.slice(0, kept), `cut at ${cut}`);
			assert.equal(read.events[kept]?.t, 'resume');
			assert.equal((await linesOf(path)).at(-1)?.t, 'end');
		}
		// Without its start line, the file is not a log.
		const path = join(folder, 'nothing.jsonl');
		await writeFile(path, whole.subarray(0, 40));
		await assert.rejects(continueSearch({ log: path, budget: {}, action: { action: 'more' }, context: search }), {
			reason: 'invalid',
		});
		assert.deepEqual(await readFile(path), whole.subarray(0, 40));
	});

	it('keeps its tree if the policy fails permanently, and can continue with another one', async (context) => {
		const folder = await folderFor(context);
		const search = contextFor(context, folder);
		const [say] = adder.rules;
		const failing = {
			...adder,
			rules: [{ ...say, times: 2 }, { fail: { reason: 'unavailable' as const, message: 'The server is gone.' } }],
		};
		const log = join(folder, 'a.jsonl');
		const spec = specOf({
			policy: { kind: 'scripted', file: await scriptIn(folder, failing) },
			strategy: 'sequential-revision',
			params: { revisions: 4 },
		});
		const first = await (await startSearch({ spec, problem, log, context: search })).result;
		assert.ok(first.tree.nodes.length > 1);
		const other = { ...spec, policy: { kind: 'scripted' as const, file: await scriptIn(folder, adder, 'other.json') } };
		const session = await continueSearch({ log, spec: other, budget: {}, action: { action: 'more' }, context: search });
		const { outcome } = await session.result;
		assert.notEqual(outcome.stop, 'policy');
		const { tree } = await readTreeLog(log);
		assert.deepEqual(shapeOf(tree).slice(0, first.tree.nodes.length), shapeOf(first.tree));
	});
});

function isWhole(line: string): boolean {
	try {
		JSON.parse(line);
		return true;
	} catch {
		return false;
	}
}

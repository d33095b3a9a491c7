import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { decodeOrThrow, type Schema } from '../../../../src/protocol/decode.ts';
import {
	type ComparisonResult,
	type ComparisonSpec,
	type ComparisonSpecInput,
	comparisonSpecSchema,
} from '../../../../src/protocol/strategyComparison.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { comparisonResults, readComparedProblems, readComparison } from '../../../../src/runs/comparisonFolder.ts';
import { isOwnSearch } from '../../../../src/runs/searchSeal.ts';
import { compareStrategies } from '../../../../src/search/compare/compareStrategies.ts';
import { PolicyPool } from '../../../../src/search/policyPool.ts';
import { readTreeLog } from '../../../../src/search/treeLogFile.ts';
import { guessing, weakGuesser } from '../episodes/weakGuesser.ts';
import { contextFor, folderFor } from '../searchFixtures.ts';

const mcts = { selection: 'uct', c: 0.1, expansions: 2, backup: 'max', choose: 'value', target: 1 } as const;

/** Compares strategies of the weak policy in a folder with `guess.env.ts`. */
async function placeFor(context: TestContext, environment = guessing) {
	const folder = await folderFor(context);
	// All rows have the same prompt.
	const rows = Array.from({ length: 8 }, (_, i) => ({
		prompt: 'Guess:',
		number: 20 + 120 * i,
		...(i === 0 ? { note: 'a' } : {}),
	}));
	await writeFile(join(folder, 'rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
	await writeFile(join(folder, 'guess.env.ts'), `// @dataset rows.jsonl\n${environment}`);
	const pool = new PolicyPool(0, async () => weakGuesser());
	context.after(() => pool.dispose());
	const compare = (name: string, more: Partial<ComparisonSpecInput>) => {
		const given: ComparisonSpecInput = {
			policy: { kind: 'scripted', file: 'weak.json' },
			problems: { from: 'environment' },
			environment: { file: 'guess.env.ts', maxTurns: 8 },
			samples: 4,
			bandSamples: 0,
			concurrency: 1,
			strategies: [],
			...more,
		};
		const spec = decodeOrThrow(comparisonSpecSchema as Schema<ComparisonSpec>, given, 'The comparison');
		const own = { ...contextFor(context, folder), pool };
		return compareStrategies({ spec, folder: join(folder, name), context: own });
	};
	return { folder, compare };
}

async function resultsIn(folder: string): Promise<ComparisonResult[]> {
	const results: ComparisonResult[] = [];
	for await (const result of comparisonResults(folder)) if (result !== null) results.push(result);
	return results;
}

describe('a strategy comparison over episodes', () => {
	test('the reward decides; best-of-n, MCTS and beam search are paired with single episodes on the same rows', async (context) => {
		const { folder, compare } = await placeFor(context);
		const strategies: ComparisonSpecInput['strategies'] = [
			{ strategy: 'best-of-n', points: [{ params: { n: 2 } }, { params: { n: 4 } }] },
			{ strategy: 'mcts', params: { ...mcts, simulations: 1000 }, points: [{ budget: { nodes: 100 } }] },
			{ strategy: 'self-consistency', params: { n: 4 } },
			{ strategy: 'beam', guide: { use: 'majority' }, params: { width: 1, expansions: 1 } },
		];
		await assert.rejects(compare('beam', { strategies }), /requires a guide that scores steps/);
		const summary = await compare('whole', { strategies: strategies.slice(0, 3) });
		assert.deepEqual([summary.state, summary.environment, summary.problems], ['ended', 'guess.env.ts', 8]);
		const [single, two, four, tree, voted] = summary.points;
		// Rewards select the best episode, so it is found whenever there is one.
		assert.ok(two?.shared && two.oracle && four?.oracle && four.accuracy?.mean === four.any);
		assert.equal(summary.curves.at(-1)?.measure, 'pass', 'without answers, there is no majority');
		assert.equal(four?.accuracy?.mean, summary.curves.find(({ band }) => band === null)?.points.at(-1)?.mean);
		const numbers = JSON.stringify(
			[single, two, four, tree].map((point) => [point?.accuracy, point?.gain, point?.nodes]),
		);
		context.diagnostic(numbers);
		assert.ok((tree?.accuracy?.mean ?? 0) > (four?.accuracy?.mean ?? 1), numbers);
		const gained = (tree?.accuracy?.mean ?? 0) - (single?.accuracy?.mean ?? 0);
		assert.ok(Math.abs((tree?.gain?.mean ?? 1) - gained) < 1e-9 && (tree?.gain?.low ?? 1) < gained);
		assert.deepEqual([tree?.shared, tree?.oracle], [false, true]);
		// No episode states an answer, so voting selects none and is as good as a single episode.
		assert.ok(Math.abs(voted?.gain?.mean ?? 1) < 1e-9 && voted?.oracle === false);
		assert.ok((single?.tokens ?? 0) > 10, 'the tokens of all turns count');

		const file = await readComparison(join(folder, 'whole'));
		assert.ok(file !== null && file.seal !== undefined);
		const sealed = { id: String(file.created), spec: file.spec, seal: file.seal };
		const other = { ...file.spec, environment: { file: '/elsewhere.env.ts' } };
		assert.deepEqual([await isOwnSearch(sealed), await isOwnSearch({ ...sealed, spec: other })], [true, false]);
		const problems = await readComparedProblems(join(folder, 'whole'));
		assert.deepEqual(problems[1], {
			key: '{"prompt":"Guess:","number":140,"note":null}',
			...{ prompt: 'Guess:', answer: null, row: { prompt: 'Guess:', number: 140, note: null } },
		});
		const results = await resultsIn(join(folder, 'whole'));
		assert.ok(results.every(({ correct, reward }) => correct === (reward === 1 ? 1 : 0)));
		const sampled = results.find(({ point, problem }) => point === 'samples' && problem === 3);
		const log = await readTreeLog(join(folder, 'whole', 'trees', 'samples', '3.jsonl'));
		const ends = log.events.filter(
			(event): event is Extract<TreeEvent, { t: 'node' }> => event.t === 'node' && event.final,
		);
		assert.deepEqual(
			sampled?.samples?.map(({ correct, scores, final }) => [correct, scores, final]),
			ends.map(({ reward = null }) => [reward === 1 ? 1 : 0, [reward], true]),
		);
		assert.equal(
			sampled?.samples?.reduce((sum, { tokens }) => sum + tokens, 0),
			sampled?.tokens,
		);
		const again = await compare('whole', { strategies: strategies.slice(0, 3) });
		assert.deepEqual(
			again.points.map(({ accuracy }) => accuracy),
			summary.points.map(({ accuracy }) => accuracy),
		);
	});

	test('a beam search over turns is guided by a scorer for turns', async (context) => {
		const { compare } = await placeFor(context);
		const { points } = await compare('beam', {
			problems: { from: 'environment', limit: 3 },
			strategies: [{ strategy: 'beam', guide: { use: 'mean-logprob' }, params: { width: 2, expansions: 2 } }],
		});
		assert.deepEqual([points[1]?.problems, points[1]?.oracle, points[1]?.stops], [3, false, { complete: 3 }]);
	});

	test('rows whose episodes fail are retried and not counted; those without a reward are not scored', async (context) => {
		const { compare } = await placeFor(
			context,
			guessing
				.replace('this.number = number;', "if (number === 20) throw new Error('no level'); this.number = number;")
				.replace('if (this.done) throw', 'if (this.number === 140) process.exit(3); if (this.done) throw')
				.replace('return this.done ? 1', 'if (this.number === 260) return null as never; return this.done ? 1'),
		);
		const summary = await compare('bad', {
			problems: { from: 'file', path: 'rows.jsonl', limit: 4 },
			samples: 2,
			strategies: [{ strategy: 'best-of-n', params: { n: 2 }, points: [{ budget: { nodes: 30 } }] }],
		});
		assert.deepEqual([summary.state, summary.failed, summary.total], ['ended', 4, 8]);
		assert.deepEqual(
			summary.points.map(({ problems, failed, unjudged }) => [problems, failed, unjudged]),
			[
				[1, 2, 1],
				[1, 2, 1],
			],
		);
		const reasons = summary.failures.map(({ message }) => message).join('\n');
		assert.match(reasons, /no level/);
		assert.match(reasons, /All episodes failed: exited: /);
	});

	test('is rejected before a folder is created if it lacks a reward, rows or an environment', async (context) => {
		const { folder, compare } = await placeFor(context);
		const strategies = [{ strategy: 'best-of-n' }];
		await writeFile(join(folder, 'mute.env.ts'), guessing.replace('getReward', 'private hidden'));
		await assert.rejects(compare('x', { strategies, environment: { file: 'mute.env.ts' } }), /has no get_reward/);
		await writeFile(join(folder, 'bare.env.ts'), guessing);
		await assert.rejects(compare('y', { strategies, environment: { file: 'bare.env.ts' } }), /no dataset comment/);
		await assert.rejects(compare('z', { strategies, environment: undefined }), /has no environment/);
		await assert.rejects(compare('w', { strategies: [{ strategy: 'self-refine' }] }), { reason: 'unsupported' });
	});
});

/** A call to every read-only tool of the MCP server on the folder that `makeMcpFolder` creates. */
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { makeBatch } from '../unit/webview/rollouts/rolloutsFixture.ts';
import { mcpRecipe, mcpRows, mcpSearch, mcpTree } from './mcpFolder.ts';

export type Answer = Record<string, unknown>;

export interface McpCall {
	readonly arguments: Answer;
	/** Rows per page, for tools with pages. The client requests all pages. */
	readonly limit?: number;
	check(answer: Answer & { readonly items: readonly Answer[]; readonly pages?: number }): void;
}

const step3 = makeBatch({ step: 3, groups: 3, size: 4, skill: 0.25 + (0.6 * 3) / 4 });
const group1 = step3.filter(({ group }) => group === 1);
const place = { run: 'sums', step: 3, group: 1 };
const invalidRecipe = '{"name": "x", "dataset": {"task": "addition"}}';

/** A call to every tool, with the expected parts of its answer, based on the files that it reads. */
export const mcpCalls: Readonly<Record<string, McpCall>> = {
	list_runs: {
		arguments: {},
		limit: 2,
		check: ({ items, pages }) => {
			assert.deepEqual(items.map(({ run }) => run).toSorted(), ['other', 'sums', 'trl']);
			assert.equal(pages, 2);
		},
	},
	describe_run: {
		arguments: { run: 'sums' },
		check: (answer) => assert.deepEqual(answer.rollout_steps, { count: 4, first: 1, last: 4 }),
	},
	diagnose_run: { arguments: { run: 'trl' }, check: ({ result }) => assert.equal(result, 'alerts') },
	read_metrics: {
		arguments: { run: 'trl', names: ['reward'], as: 'table', points: 30 },
		limit: 20,
		check: ({ items, pages }) => assert.deepEqual([items.length, pages], [30, 2]),
	},
	query: {
		arguments: {
			sql: "select index from rollouts where run = 'sums' order by step, group_id, index",
			runs: ['sums'],
		},
		limit: 20,
		check: ({ items, pages }) => {
			const indexes = Array.from({ length: 4 * 3 * 4 }, (_, i) => [i % 4]);
			assert.deepEqual([items, pages], [indexes, 3]);
		},
	},
	search_text: {
		arguments: { pattern: 'Let me check that again', runs: ['sums'], from_step: 3, to_step: 3 },
		limit: 2,
		check: ({ items, pages }) => {
			const holding = step3.filter(({ completion }) => String(completion).includes('Let me check that again'));
			const places = holding.map(({ group, index }) => [group, index]);
			assert.deepEqual(
				items.map(({ group, completion }) => [group, completion]),
				places,
			);
			assert.equal(pages, Math.ceil(places.length / 2));
		},
	},
	read_step: {
		arguments: { run: 'sums', step: 3 },
		limit: 2,
		check: ({ items, pages }) => assert.deepEqual([items.length, pages], [3, 2]),
	},
	read_group: {
		arguments: place,
		limit: 3,
		check: ({ items, pages }) => {
			const texts = items.map(({ text }) => (text as { quoted_text: string }).quoted_text);
			assert.deepEqual(
				texts,
				group1.map(({ completion }) => completion),
			);
			assert.equal(pages, 2);
		},
	},
	read_completion: {
		arguments: { ...place, completion: 2, first_token: 2, last_token: 5 },
		check: ({ token_range }) => {
			const { quoted_text } = token_range as { quoted_text: string[] };
			assert.deepEqual(quoted_text, group1[2]?.tokens?.text.slice(2, 6));
		},
	},
	compare_runs: {
		arguments: { runs: ['sums', 'other'] },
		check: ({ runs }) => {
			const compared = runs as { run: string; address: string; metrics: Record<string, { address: string }> }[];
			assert.deepEqual(
				compared.map(({ run, address, metrics }) => [run, address, metrics.reward?.address]),
				['sums', 'other'].map((run) => [run, `rl://${run}`, `rl://${run}/metric/reward`]),
			);
		},
	},
	list_evaluations: {
		arguments: { run: 'sums' },
		limit: 5,
		check: ({ items }) =>
			assert.deepEqual(
				items.map(({ accuracy, evaluation }) => accuracy ?? evaluation),
				[0.75, 'held-out-step-2', 'held-out-step-4'],
			),
	},
	read_evaluation: {
		arguments: { run: 'sums', name: 'heldout', step: 2 },
		limit: 3,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ correct }) => correct),
				[true, false, true, true],
			);
			assert.equal(pages, 2);
		},
	},
	list_pipelines: {
		arguments: {},
		limit: 1,
		check: ({ items, pages }) => {
			const shown = items.map(({ pipeline, status, stages, finished_stages }) => [
				...[pipeline, status, stages, finished_stages],
			]);
			assert.deepEqual(
				shown,
				['nightly-1', 'nightly-2'].map((name) => [name, 'stopped', 2, 1]),
			);
			assert.equal(pages, 2);
		},
	},
	read_pipeline: {
		arguments: { pipeline: 'nightly-2' },
		limit: 1,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ stage, status, run = null, address = null }) => [stage, status, run, address]),
				[
					['cold', 'finished', null, null],
					['rl', 'waiting', null, null],
				],
			);
			assert.equal(pages, 2);
		},
	},
	list_searches: {
		arguments: {},
		limit: 1,
		check: ({ items, pages }) => {
			assert.deepEqual(items.map(({ run }) => run ?? null).toSorted(), [null, 'sums'].toSorted());
			assert.equal(pages, 2);
		},
	},
	read_tree: {
		arguments: { run: 'sums', search: mcpSearch },
		limit: 10,
		check: ({ items, pages }) => {
			const texts = mcpTree.flatMap((event) => (event.t === 'node' ? [event.text] : []));
			assert.deepEqual(
				items.map(({ text }) => (text as { quoted_text: string }).quoted_text),
				texts,
			);
			assert.equal(pages, Math.ceil(texts.length / 10));
		},
	},
	read_tree_node: {
		arguments: { search: `searches/${mcpSearch}`, node: 5 },
		check: ({ text, address }) => {
			const event = mcpTree.find((one) => one.t === 'node' && one.id === 5);
			assert.equal((text as { quoted_text: string }).quoted_text, event?.t === 'node' ? event.text : '');
			assert.equal(address, `rl:///search/searches%2F${mcpSearch}/node/5`);
		},
	},
	read_recipe: {
		arguments: { path: 'small.recipe.json' },
		limit: 2,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ line, text }) => [line, (text as { quoted_text: string }).quoted_text]),
				mcpRecipe.split('\n').map((text, i) => [i + 1, text]),
			);
			assert.equal(pages, 3);
		},
	},
	compare_evaluations: {
		arguments: {
			first: { run: 'sums', name: 'heldout', step: 2 },
			second: { run: 'sums', evaluation: 'held-out-step-4' },
		},
		// The two evaluations share no prompts.
		check: ({ test, better, first }) => {
			assert.deepEqual([test, better], ['none', null]);
			assert.equal((first as Answer).address, 'rl://sums/evaluation/heldout?step=2');
		},
	},
	explain_recipe_key: {
		arguments: { key: 'kl_coef' },
		limit: 1,
		check: ({ items, pages }) => {
			assert.deepEqual(items.map(({ path }) => path).slice(0, 3), [
				'stages[ppo].kl_coef',
				'stages[grpo].beta',
				'stages[rloo].beta',
			]);
			assert.equal(pages, items.length);
		},
	},
	profile_dataset: {
		arguments: { path: 'profiled.jsonl' },
		check: ({ rows, distinct_rows, exact_duplicates }) => {
			assert.deepEqual([rows, distinct_rows], [3, 2]);
			assert.match(JSON.stringify(exact_duplicates), /rl:\/\/\/dataset\/profiled\.jsonl\/row\/0/);
		},
	},
	list_environments: {
		arguments: {},
		limit: 1,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ environment, kind }) => [basename(environment as string), kind]),
				[
					['idle.env.ts', 'file'],
					['remote', 'openenv'],
				],
			);
			assert.equal(pages, 2);
		},
	},
	check_citations: {
		arguments: {
			text: 'Reward is 0.99 (rl://sums/step/1/group/0/completion/77) and [75%](rl://sums/evaluation/heldout?step=2).',
		},
		limit: 1,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ status }) => status),
				['unresolved', 'ok'],
			);
			assert.equal(pages, 2);
		},
	},
	check_recipe: { arguments: { text: invalidRecipe }, check: ({ valid }) => assert.equal(valid, false) },
	read_dataset: {
		arguments: { path: 'train.jsonl' },
		limit: 10,
		check: ({ items, pages }) => {
			assert.deepEqual([items.length, pages], [mcpRows + 1, 3]);
			assert.equal(items[3]?.address, 'rl:///dataset/train.jsonl/row/3');
			assert.match(JSON.stringify(items[3]?.values), /3\+1=/);
		},
	},
};

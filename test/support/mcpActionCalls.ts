/** Calls to the MCP server's tools that run code, in the folder that `makeMcpFolder` creates. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tinyRecipe } from '../unit/cli/cliFixtures.ts';
import { guessingScript } from '../unit/episodes/guessingScript.ts';
import type { McpCall } from './mcpCalls.ts';

const reward = (wrong: number) => `// @dataset train.jsonl
export const stated = ({ trace, answer }) => (trace.answer === null ? null : trace.answer.trim() === answer ? 1 : ${wrong});
`;
const rows = Array.from({ length: 12 }, (_, i) => ({ prompt: `${i}+1=`, answer: `${i + 1}` }));
const many = Array.from({ length: 400 }, (_, i) => ({ prompt: `${i}+1=`, answer: `${i + 1}` }));
const cases = [
	{ completion: '<answer>2</answer>', row: { answer: '2' }, expect: 1 },
	{ completion: '<answer>3</answer>', row: { answer: '2' }, expect: 1, name: 'mistaken' },
];
const guess = (value: number) => ({ name: 'guess', arguments: { value } });
const numbers = [3, 9, 14].map((number) => ({ number, calls: [guess(number)] }));
const labeled = [
	{ name: 'found at once', row: { number: 4 }, calls: [guess(4)], expect: { reward: 1, done: true } },
	{ name: 'mistaken', row: { number: 4 }, calls: [guess(2)], expect: { reward: 1 } },
];
const jsonl = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Writes rewards, an environment and recipes in `work`, and a reward and an environment next to it. */
export async function writeActionFiles(folder: string): Promise<void> {
	const work = join(folder, 'work');
	const stages = [{ type: 'sft', steps: 1_000_000, learning_rate: 0.003, batch_size: 4 }];
	const named = [
		{ ...stages[0], name: 'cold' },
		{ name: 'measure', type: 'evaluate', from: 'cold', problems: 4 },
	];
	const files = {
		'many.jsonl': jsonl(many),
		'long.recipe.json': JSON.stringify({ ...tinyRecipe, name: 'long', stages }),
		'story.recipe.json': JSON.stringify({ ...tinyRecipe, name: 'story', stages: named }),
		'train.jsonl': jsonl(rows),
		'stated.reward.ts': reward(0),
		'lenient.reward.ts': reward(0.5),
		'stated.cases.jsonl': jsonl(cases),
		'guess.env.ts': guessingScript,
		'guess.episodes.jsonl': jsonl(labeled),
		'numbers.jsonl': jsonl(numbers),
		'../outside.reward.ts': reward(0),
		'../outside.env.ts': guessingScript,
	};
	for (const [name, text] of Object.entries(files)) await writeFile(join(work, name), text);
}

const episodes = { environment: 'guess.env.ts', dataset: 'numbers.jsonl' };

export const mcpActionCalls: Readonly<Record<string, McpCall>> = {
	verify_reward: {
		arguments: { file: 'stated.reward.ts', on: 'cases' },
		limit: 1,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ passed, value }) => [passed, value]),
				[
					[false, 0],
					[true, 1],
				],
			);
			assert.equal(pages, 2);
		},
	},
	audit_reward: {
		arguments: { file: 'lenient.reward.ts', rows: 10 },
		check: ({ audits, items, total }) => {
			assert.ok(((audits as { probes: unknown[] }[])[0]?.probes.length ?? 0) > 5);
			assert.equal(items.length, total);
		},
	},
	compare_rewards: {
		arguments: { file: 'stated.reward.ts', other: 'lenient.reward.ts', run: 'sums' },
		// Each page compares all rollouts again, so there are only two.
		limit: 15,
		check: ({ items, pages }) => {
			for (const { before, after } of items) assert.deepEqual([before, after], [0, 0.5]);
			assert.equal(new Set(items.map(({ address }) => address)).size, items.length);
			assert.deepEqual([items.length, pages], [24, 2]);
		},
	},
	verify_environment: {
		arguments: episodes,
		check: ({ passed, tests, policies, labeled_episodes, items }) => {
			assert.deepEqual(
				(tests as { outcome: string }[]).map(({ outcome }) => outcome),
				['passed', 'passed', 'passed'],
			);
			const [gold] = policies as { policy: string; mean: number }[];
			assert.deepEqual([gold?.policy, gold?.mean], ['gold', 1]);
			const { played, failed } = labeled_episodes as { played: number; failed: number };
			assert.deepEqual([passed, played, failed], [false, 2, 1]);
			assert.ok(items.some(({ kind, level }) => kind === 'labeled' && level === 'error'));
		},
	},
	run_episodes: {
		arguments: episodes,
		limit: 2,
		check: ({ items, pages }) => {
			assert.deepEqual(
				items.map(({ row, reward, stop }) => [row, reward, stop]),
				[0, 1, 2].map((row) => [row, 1, 'policy']),
			);
			assert.equal(pages, 2);
		},
	},
};

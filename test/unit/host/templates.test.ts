import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { resolveTemplate } from '../../../src/core/text/template.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import { createBuiltIn } from '../../../src/rewards/builtIns.ts';

const starter = join(import.meta.dirname, '../../../media/templates/starter');
const text = readFileSync(join(starter, 'starter.recipe.json'), 'utf8');

test('what the starter recipe says of its rewards is so', async () => {
	const parsed = parseRecipe(text);
	assert.ok(parsed.ok, JSON.stringify(parsed));
	const { rewards } = parsed.recipe;
	assert.deepEqual(rewards, [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }]);
	const { think, answer } = resolveTemplate('r1');
	const pair = (tag: readonly [string, string] | null): [string, string] | null => tag && [...tag];
	const tags = { think: pair(think), answer: pair(answer) };
	const { signal } = new AbortController();
	const scoresOf = async (completion: string) => {
		const row = { prompt: '2*7+31', completion, answer: '45', row: {}, truncated: false };
		const scores: (number | null | undefined)[] = [];
		for (const name of ['accuracy', 'format']) {
			const reward = await createBuiltIn({ use: name, name }, { tags, task: null, folder: '' });
			scores.push(await reward.score({ ...row, trace: parseTrace(completion, tags) }, signal));
		}
		return scores;
	};
	assert.deepEqual(await scoresOf('<think>2*7=14 14+31=45</think><answer>45</answer>'), [1, 1]);
	for (const same of [' 45 ', '45.0', '+45', '90/2', 'forty-five']) {
		assert.deepEqual(await scoresOf(`<think>x</think><answer>${same}</answer>`), [1, 1], same);
	}
	for (const other of ['46', '4 5', '45.1', 'forty-six']) {
		assert.deepEqual(await scoresOf(`<think>x</think><answer>${other}</answer>`), [0, 1], other);
	}
	assert.deepEqual(await scoresOf('<think>x</think><answer></answer>'), [0, 0]);
	assert.deepEqual(await scoresOf('<think>x</think>so <answer>45</answer>'), [1, 0]);
	assert.deepEqual(await scoresOf('<answer>45</answer>'), [1, 0]);
	assert.deepEqual(await scoresOf('<think>x</think><answer>45</answer><answer>45</answer>'), [0, 0]);
});

test('the starter dataset is what its recipe says', () => {
	const rows = readFileSync(join(starter, 'data/train.jsonl'), 'utf8').trim().split('\n');
	for (const row of rows) {
		const { prompt, answer, solution } = JSON.parse(row) as Record<string, string>;
		assert.ok(prompt && answer && solution?.endsWith(`=${answer}`), row);
	}
});

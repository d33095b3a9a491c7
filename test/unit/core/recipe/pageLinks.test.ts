import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { docPages, pageLinks } from '../../../../src/core/recipe/pageLinks.ts';
import { root } from '../../../scripts/paths.ts';

const linked = (text: string) =>
	pageLinks(text).map(({ offset, length, page }) => [text.slice(offset, offset + length), page]);

it('links keys and values to pages, depending on the type of their stage', () => {
	const recipe = `{
		// "loss_type" in a comment.
		"rewards": [{ "use": "accuracy" }, { "use": "majority" }, { "use": "iou" }],
		"dataset": { "task": "signs" },
		"stages": [
			{ "type": "sft", "steps": 5 },
			{ "type": "grpo", "loss_type": "gmpo", "delta": 2, "pass_k": 3, "max_staleness": 4, "curriculum": { "target": 0.5 } },
			{ "loop": "round", "stages": [{ "loss_type": "ipo", "type": "dpo" }] },
			{ "type": "distill", "method": "sdft" }, { "type": "process-reward-model", "active": { "by": "surprise" } },
		]
	}`;
	assert.deepEqual(linked(recipe), [
		['"majority"', 'no-labels'],
		['"iou"', 'visual'],
		['"signs"', 'think'],
		['"grpo"', 'losses'],
		['"loss_type"', 'losses'],
		['"delta"', 'losses'],
		['"pass_k"', 'losses'],
		['"max_staleness"', 'off-policy'],
		['"curriculum"', 'curriculum'],
		['"loss_type"', 'preferences'],
		['"dpo"', 'preferences'],
		['"distill"', 'distillation'],
		['"active"', 'curriculum'],
	]);
});

it('handles text that is not a recipe', () => {
	for (const text of [
		'',
		'{',
		'[]',
		'1',
		'x',
		'{"stages": [{"type": ',
		'{"type": "__proto__", "loss_type": 1}',
		'{"use": {}}',
	]) {
		assert.deepEqual(linked(text), [], text);
	}
	assert.deepEqual(linked('{"type": "grpo", "loss_type'), [
		['"grpo"', 'losses'],
		['"loss_type', 'losses'],
	]);
});

it('knows the titles of the pages', () => {
	for (const [page, title] of Object.entries(docPages)) {
		assert.ok(readFileSync(join(root, 'docs', `${page}.md`), 'utf8').startsWith(`# ${title}\n`), page);
	}
});

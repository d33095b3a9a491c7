import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { docPageAt, docPages } from '../../../../src/core/recipe/docPage.ts';
import { root } from '../../../scripts/paths.ts';

const recipe = `{
	// A comment.
	"dataset": { "task": "addition", "proposed": 0.3 },
	"rewards": [{ "use": "accuracy" }, { "use": "majority" }],
	"stages": [
		{ "type": "grpo", "steps": 5, "loss_type": "gmpo", "max_staleness": 4, "curriculum": { "target": 0.5 } },
		{ "loop": "round", "stages": [{ "type": "dpo", "loss_type": "ipo", "steps": 7 }] },
		{ "type": "distill", "method": "sdft" }, { "type": "process-reward-model", "active": { "by": "surprise" } },
	]
}`;
const at = (text: string, from = 0) => docPageAt(recipe, recipe.indexOf(text, from) + 2);

it('finds the page about a key, a value or a key around it, by the type of the stage', () => {
	assert.equal(at('"loss_type"'), 'losses');
	assert.equal(at('"gmpo"'), 'losses');
	assert.equal(at('"grpo"'), 'losses');
	assert.equal(at('"loss_type": "ipo"'), 'preferences');
	assert.equal(at('"max_staleness"'), 'off-policy');
	assert.equal(at('"target"'), 'curriculum');
	assert.equal(at('"surprise"'), 'curriculum');
	assert.equal(at('"sdft"'), 'distillation');
	assert.equal(at('"majority"'), 'no-labels');
	assert.equal(at('"proposed"'), 'no-labels');
	for (const other of ['"steps": 5', '"steps": 7', '"accuracy"', '"task"', 'comment']) assert.equal(at(other), null);
});

it('survives text that is no recipe', () => {
	for (const text of [
		'',
		'{',
		'[]',
		'{"stages": [{"type": ',
		'{"type": "__proto__", "loss_type": 1}',
		'x',
		'{"use": {}}',
	]) {
		for (let offset = 0; offset <= text.length; offset++) assert.equal(docPageAt(text, offset), null);
	}
});

it('knows the titles of the pages', () => {
	for (const [page, title] of Object.entries(docPages)) {
		assert.ok(readFileSync(join(root, 'docs', `${page}.md`), 'utf8').startsWith(`# ${title}\n`), page);
	}
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyEdits, parse } from 'jsonc-parser';
import { fixEdits } from '../../../../src/core/recipe/fixEdits.ts';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';

const good = {
	name: 'sums',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, heads: 2, width: 16, context: 64 },
	rewards: [{ use: 'accuracy' }],
	stages: [{ type: 'grpo', steps: 2, learning_rate: 0.001, num_generations: 4, max_completion_length: 16 }],
};

/** Applies fixes until a recipe has no errors. @returns the titles of the fixes, and the recipe */
function mend(recipe: unknown): [titles: string[], recipe: unknown] {
	let text = JSON.stringify(recipe, null, '\t');
	const titles: string[] = [];
	for (let i = 0; i < 10; i++) {
		const parsed = parseRecipe(text);
		if (parsed.ok) return [titles, parse(text)];
		const fix = parsed.faults.find((fault) => fault.fix !== undefined)?.fix;
		assert.ok(fix, parsed.faults.map(({ message }) => message).join('\n'));
		titles.push(fix.title);
		text = applyEdits(text, fixEdits(text, fix.change));
	}
	throw new Error(`Not mended: ${text}`);
}

const [stage] = good.stages;
const { name: _, ...nameless } = good;

test('errors with one likely correction have a fix that corrects them', () => {
	const cases: [recipe: unknown, titles: string[]][] = [
		[{ ...good, stages: [{ ...stage, stepz: 2, steps: undefined }] }, ['Change to "steps"']],
		[{ ...good, stages: [{ ...stage, type: 'gpro' }] }, ['Change to "grpo"']],
		[{ ...good, stages: [{ ...stage, steps: '2' }] }, ['Change to 2']],
		[{ ...good, stages: [{ ...stage, learning_rate: undefined }] }, ['Add "learning_rate"']],
		[{ ...good, rewards: { use: 'accuracy' } }, ['Change to [{"use":"accuracy"}]']],
		[{ ...good, engine: 'pytroch', zzz: 1 }, ['Change to "pytorch"', 'Remove "zzz"']],
		[{ ...good, stages: [{ ...stage, loss_type: 'dr-grpo' }] }, ['Change to "dr_grpo"']],
		[{ ...nameless }, ['Add "name"']],
	];
	for (const [recipe, titles] of cases.slice(0, 5)) {
		const [found, mended] = mend(recipe);
		assert.deepEqual(found, titles);
		if (!titles[0]?.startsWith('Add')) assert.deepEqual(mended, good);
	}
	assert.deepEqual(mend(cases[6]?.[0])[0], cases[6]?.[1]);
	for (const index of [5, 7]) {
		const [recipe, titles] = cases[index] as [unknown, string[]];
		const parsed = parseRecipe(JSON.stringify(recipe));
		assert.ok(!parsed.ok);
		assert.deepEqual(parsed.faults.flatMap(({ fix }) => (fix === undefined ? [] : [fix.title])).sort(), titles.sort());
	}
});

test('fixes keep comments and the rest of the text, and do nothing if their location is gone', () => {
	const text = '{\n  // the recipe\n  "nmae": "a", // its name\n  "x": 1\n}\n';
	const renamed = applyEdits(text, fixEdits(text, { kind: 'rename', path: ['nmae'], key: 'name' }));
	assert.equal(renamed, text.replace('nmae', 'name'));
	const added = applyEdits(text, fixEdits(text, { kind: 'set', path: ['engine'], value: 'pytorch' }));
	assert.match(added, /"x": 1,\n {2}"engine": "pytorch"\n\}/);
	assert.deepEqual(fixEdits(text, { kind: 'rename', path: ['gone'], key: 'b' }), []);
	assert.deepEqual(fixEdits(text, { kind: 'remove', path: ['gone', 'far'] }), []);
	assert.deepEqual(fixEdits(text, { kind: 'set', path: ['gone', 'far'], value: 1 }), []);
	assert.deepEqual(fixEdits('', { kind: 'remove', path: ['x'] }), []);
});

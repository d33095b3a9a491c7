import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { explainKey, recipeKeyPaths } from '../../../../src/core/recipe/explainKey.ts';
import { root } from '../../../scripts/paths.ts';

const only = (name: string) => {
	const found = explainKey(name);
	assert.equal(found.length, 1, `${name}: ${found.map(({ path }) => path).join(', ')}`);
	return found[0];
};

describe('explanations of recipe keys', () => {
	it('find a key by name in every stage that has it, and by path in a single stage', () => {
		const stages = explainKey('num_generations').map(({ path }) => path);
		assert.ok(stages.includes('stages[grpo].num_generations'));
		assert.ok(stages.includes('stages[rloo].num_generations'));
		for (const name of ['grpo.num_generations', 'stages[1].grpo.num_generations', 'stages.grpo.num_generations']) {
			assert.equal(only(name)?.path, 'stages[grpo].num_generations');
		}
		assert.equal(only('pytorch.lora.r')?.path, 'pytorch.lora.r');
	});

	it('state values, defaults, live changes and engines', () => {
		const busy = only('whenBusy');
		assert.deepEqual([busy?.values, busy?.default, busy?.required], ['"queue" or "share"', '"queue"', false]);
		const rate = only('grpo.learning_rate');
		assert.deepEqual([rate?.values, rate?.required, rate?.live], ['number, 0 to 10', true, true]);
		assert.match(explainKey('workers')[0]?.unsupported.pytorch ?? '', /processes/);
		assert.equal(only('model.feedForward')?.default, '4 x width');
	});

	it("find a key by another trainer's name for it", () => {
		assert.equal(only('grpo.lr')?.path, 'stages[grpo].learning_rate');
		assert.deepEqual(explainKey('no_such_key'), []);
		assert.deepEqual(explainKey(''), []);
	});

	it('cover every key in the documented tables', () => {
		const names = new Set(recipeKeyPaths().map((path) => path.split('.').at(-1)));
		const tables = readFileSync(join(root, 'docs/recipe.md'), 'utf8');
		const documented = [...tables.matchAll(/^\| `([A-Za-z_]+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$/gm)].map(
			([, key]) => key,
		);
		assert.ok(documented.length > 100);
		const literal = ['use', 'type'];
		assert.deepEqual(
			documented.filter((key) => !names.has(key) && !literal.includes(key as string)),
			[],
		);
	});
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { decodeResolvedRecipe, resolveRecipe } from '../../../../src/core/recipe/resolve.ts';
import { builtInRewardNames } from '../../../../src/protocol/recipeKeys/builtInRewards.ts';

const recipeWith = (rewards: unknown, more: object = {}) =>
	JSON.stringify({
		name: 'r',
		dataset: { task: 'addition' },
		model: { layers: 1, width: 8, heads: 1 },
		stages: [{ type: 'grpo', steps: 1, learning_rate: 0.1 }],
		rewards,
		...more,
	});
const machine = { cores: 2, resolvePath: (path: string) => `/project/${path}` };

function resolvedRewards(rewards: unknown) {
	const parsed = parseRecipe(recipeWith(rewards));
	assert.ok(parsed.ok, JSON.stringify(parsed));
	return resolveRecipe(parsed.recipe, machine);
}

/** Returns errors in rewards as "path: message". */
function faultsOf(rewards: unknown, more: object = {}): string[] {
	const parsed = parseRecipe(recipeWith(rewards, more));
	return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
}

describe('built-in rewards in a recipe', () => {
	it('are resolved with a name, a weight, every default, and absolute paths', () => {
		const { rewards } = resolvedRewards([
			{ use: 'soft-overlong', maxLength: 100, cacheLength: 20 },
			{ use: 'process', name: 'steps', weight: 0.5, model: 'prm', tokenizer: 'prm/t.json' },
			{ use: 'judge', url: 'http://127.0.0.1:8000/v1', model: 'm', cache: 'verdicts.jsonl' },
		]);
		assert.deepEqual(rewards[0], {
			use: 'soft-overlong',
			name: 'soft-overlong',
			weight: 1,
			maxLength: 100,
			cacheLength: 20,
			unit: 'tokens',
			of: 'completion',
		});
		assert.deepEqual(rewards[1], {
			use: 'process',
			name: 'steps',
			weight: 0.5,
			model: '/project/prm',
			tokenizer: '/project/prm/t.json',
			api: 'steps',
			steps: 'paragraphs',
			aggregate: 'min',
			separator: '\n\n',
			activation: 'none',
			maxSteps: 256,
			maxTokens: 4096,
			concurrency: 8,
			timeoutSeconds: 60,
			retries: 4,
		});
		const judge = rewards[2] as unknown as Record<string, unknown>;
		assert.equal(judge.cache, '/project/verdicts.jsonl');
		assert.equal(judge.temperature, 0);
	});

	it('round-trip through recipe.json', () => {
		const recipe = resolvedRewards([
			{ use: 'accuracy' },
			{ use: 'length-target', name: 'short', target: 10, weight: -0.5 },
			{ use: 'length-target', name: 'long', target: 100, range: 5 },
			{ use: 'json-schema', schema: { type: 'object', properties: { a: { type: 'number' } } } },
			{ use: 'reflection', behaviours: ['verification'] },
		]);
		assert.deepEqual(decodeResolvedRecipe(JSON.parse(JSON.stringify(recipe))), recipe);
	});

	it('require a name and a weight in recipe.json', () => {
		const recipe = JSON.parse(JSON.stringify(resolvedRewards([{ use: 'format' }])));
		recipe.rewards = [{ use: 'format' }];
		assert.throws(() => decodeResolvedRecipe(recipe), /recipe\.json is not valid at rewards\[0\]/);
	});

	const faults: [what: string, rewards: unknown, pattern: RegExp, more?: object][] = [
		[
			'a misspelled name',
			[{ use: 'acuracy' }],
			/^rewards\[0\]\.use: Entry 1 of "rewards" must be the name of a built-in reward, not "acuracy": did you mean "accuracy"\?$/,
		],
		['an underscore', [{ use: 'tag_count' }], /did you mean "tag-count"\?/],
		['an unknown name', [{ use: 'xyz' }], /not "xyz": choose one of accuracy, format, exact-match, .*environment\./],
		['a name that is not a string', [{ use: 7 }], /not 7: choose one of accuracy/],
		[
			'a misspelled "use"',
			[{ ues: 'accuracy' }],
			/^rewards\[0\]\.ues: "ues" is not a valid key: did you mean "use"\?$/,
		],
		['a misspelled "file"', [{ fil: 'a.reward.ts' }], /^rewards\[0\]\.fil: "fil" .* did you mean "file"\?$/],
		[
			'neither "use" nor "file"',
			[{ weight: 1 }],
			/^rewards\[0\]: Entry 1 of "rewards" must be \{"use", .* or \{"file"/,
		],
		[
			'a string instead of an object',
			['accuracy'],
			/^rewards\[0\]: Entry 1 of "rewards" must be .*, not "accuracy"\.$/,
		],
		[
			'an option of another reward',
			[{ use: 'format', maxLength: 3 }],
			/^rewards\[0\]\.maxLength: "maxLength" is not a valid key: .*valid keys: use, name, weight\)/,
		],
		[
			'a misspelled option',
			[{ use: 'soft-overlong', maxLenght: 3, cacheLength: 1 }],
			/^rewards\[0\]\.maxLenght: .* did you mean "maxLength"\?$/,
		],
		[
			'a missing option',
			[{ use: 'soft-overlong', maxLength: 3 }],
			/^rewards\[0\]: Entry 1 of "rewards" is missing "cacheLength"\. Add it/,
		],
		['an option out of range', [{ use: 'repetition', maxPenalty: 1 }], /"maxPenalty" must be at most 0, not 1/],
		[
			'an address with a password',
			[{ use: 'judge', url: 'http://a:b@c/v1', model: 'm' }],
			/^rewards\[0\]\.url: "url" must be an http.* without a user name/,
		],
		[
			'a scale with one number',
			[{ use: 'judge', url: 'http://c', model: 'm', scale: [1] }],
			/^rewards\[0\]\.scale: "scale" must be \[low, high\]/,
		],
		['an unknown behavior', [{ use: 'reflection', behaviours: ['thinking'] }], /^rewards\[0\]\.behaviours/],
		[
			'a name that is not a valid column name',
			[{ use: 'format', name: '../x' }],
			/^rewards\[0\]\.name: "name" must be up to 64 letters/,
		],
		[
			'a duplicate name',
			[{ use: 'format' }, { use: 'accuracy', name: 'format' }],
			/^rewards\[1\]: The reward "format" is listed twice: give one of them another "name"/,
		],
		[
			'a soft range longer than the maximum length',
			[{ use: 'soft-overlong', maxLength: 3, cacheLength: 4 }],
			/^rewards\[0\]\.cacheLength: .* greater than "maxLength" 3/,
		],
		['no target', [{ use: 'length-target' }], /^rewards\[0\]: .* Add "target" or "column"/],
		['a target of 0 without a range', [{ use: 'length-target', target: 0 }], /^rewards\[0\]\.target: .* Add "range"/],
		['no schema', [{ use: 'json-schema' }], /^rewards\[0\]: .* Add "schema" or "column"/],
		[
			'a descending scale',
			[{ use: 'judge', url: 'http://c', model: 'm', scale: [1, 0] }],
			/^rewards\[0\]\.scale: .* must be in ascending order/,
		],
		[
			'a prompt without the response',
			[{ use: 'judge', url: 'http://c', model: 'm', prompt: 'Good?' }],
			/^rewards\[0\]\.prompt: .*\{response\}/,
		],
		['no model', [{ use: 'process' }], /^rewards\[0\]: .* Add either "model" or "url"/],
		[
			'both a model and a URL',
			[{ use: 'process', model: 'm', url: 'http://c' }],
			/^rewards\[0\]: .* Add either "model" or "url"/,
		],
		[
			'a pooling API without a model name',
			[{ use: 'process', url: 'http://c', api: 'pooling' }],
			/^rewards\[0\]\.api: .* "modelName"/,
		],
		[
			'a tag count for a template without tags',
			[{ use: 'tag-count' }],
			/"tag-count" requires tags/,
			{ template: 'plain' },
		],
	];
	for (const [what, rewards, pattern, more] of faults) {
		it(`are rejected with ${what}`, () => {
			const found = faultsOf(rewards, more);
			assert.ok(
				found.some((fault) => pattern.test(fault)),
				found.join('\n') || 'no errors',
			);
			assert.equal(found.length, 1, found.join('\n'));
		});
	}

	it('can include the same reward several times under different names', () => {
		assert.deepEqual(
			faultsOf([
				{ use: 'length-target', name: 'a', target: 1 },
				{ use: 'length-target', name: 'b', target: 2 },
			]),
			[],
		);
	});
});

describe('reward completion', () => {
	/** The rest of a recipe in which an environment's reward is valid. */
	const played = {
		engine: 'pytorch',
		model: { path: 'model' },
		template: { prompt: '{prompt}', think: null, answer: null, chat: true },
		environment: { file: 'guess.env.py' },
	};

	it('offers each built-in reward with its required keys', () => {
		const schema = JSON.parse(
			readFileSync(new URL('../../../../media/schemas/recipe.schema.json', import.meta.url), 'utf8'),
		);
		const bodies = schema.properties.rewards.items.defaultSnippets.map(
			(snippet: { body: { use: string } }) => snippet.body,
		);
		assert.deepEqual(
			bodies.map((body: { use: string }) => body.use),
			[...builtInRewardNames],
		);
		const stage = {
			type: 'grpo',
			steps: 1,
			learning_rate: 0.1,
			num_generations: 8,
			prompts_per_step: 9,
			proposals: {},
		};
		const posed = { stages: [stage], dataset: { task: 'addition', proposed: 0.3 } };
		for (const body of bodies) {
			const given = Object.fromEntries(Object.entries(body).map(([key, value]) => [key, value === '' ? 'x' : value]));
			const [others, more] = body.use === 'learnability' ? [[{ use: 'accuracy' }], posed] : [[], {}];
			const faults = faultsOf([given, ...others], body.use === 'environment' ? played : more);
			assert.deepEqual(faults, [], JSON.stringify(body));
		}
	});
});

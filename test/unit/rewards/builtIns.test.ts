import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { builtInInfos } from '../../../src/core/reward/builtInInfos.ts';
import { type BuiltInRewardName, builtInRewardNames } from '../../../src/protocol/recipeKeys/builtInRewards.ts';
import type { RewardContext } from '../../../src/protocol/rewardHost.ts';
import { JsonSchemas } from '../../../src/rewards/builtIn/jsonSchemas.ts';
import { createBuiltIn } from '../../../src/rewards/builtIns.ts';
import { r1, sample, strangeCompletions, worked } from '../core/reward/rewardSamples.ts';

const context: RewardContext = { tags: r1, task: null, folder: '/nowhere' };
const never = new AbortController().signal;

/** Required options of each reward besides its name. */
const needed: Readonly<Partial<Record<BuiltInRewardName, object>>> = {
	'soft-overlong': { maxLength: 20, cacheLength: 5 },
	'length-target': { target: 20 },
	'cosine-length': { maxLength: 40 },
	'json-schema': { schema: { type: 'object' } },
	judge: { url: 'http://127.0.0.1:9/v1', model: 'm' },
	process: { url: 'http://127.0.0.1:9/' },
};
/** Rewards that depend on an external service or program, or on the episode. */
const asking: readonly BuiltInRewardName[] = [
	...(['judge', 'process', 'reward-model', 'code-tests', 'environment'] as const),
	// Need the other completions of the prompt, the distributions of the tokens, or the policy.
	...(['majority', 'certainty', 'self-certainty', 'self-judge', 'learnability'] as const),
];
const own = builtInRewardNames.filter((name) => !asking.includes(name));
const make = (use: BuiltInRewardName, options: object = {}, where = context) =>
	createBuiltIn({ use, name: use, ...needed[use], ...options }, where);

const row = {
	options: ['1', '2', '7'],
	tests: 'assert True',
};

describe('built-in rewards', () => {
	test('can be created by name with default options', async () => {
		// Reward models need an engine: test/unit/engines/embedded/rewardModelRun.test.ts.
		for (const name of builtInRewardNames) if (name !== 'reward-model') (await make(name)).dispose?.();
	});

	test('each have documentation that names a source file', () => {
		assert.deepEqual(
			builtInInfos.map(({ name }) => name),
			[...builtInRewardNames],
		);
	});

	test('give a good completion the documented value', async () => {
		const good = sample(worked('We add the two numbers, so the sum is 7.', '7'), { answer: '7', row });
		const expected: Readonly<Partial<Record<BuiltInRewardName, number | null>>> = {
			accuracy: 1,
			format: 1,
			'exact-match': 1,
			'multiple-choice': 1,
			iou: null,
			classification: 1,
			'tag-count': 1,
			'language-consistency': 1,
			'soft-overlong': -1,
			'length-target': 0,
			'cosine-length': 0.5,
			repetition: 0,
			'json-schema': 0,
			reflection: 0,
		};
		for (const name of own) {
			assert.equal(await (await make(name)).score(good, never), expected[name], name);
		}
	});

	test('return a finite number or null, reproducibly, for any completion', async () => {
		const completions = strangeCompletions('built-ins', 200);
		for (const name of own) {
			const reward = await make(name);
			for (const completion of completions) {
				const given = sample(completion, { answer: 'B', row });
				const value = await reward.score(given, never);
				assert.ok(value === null || Number.isFinite(value), `${name}: ${value}`);
				assert.equal(await reward.score(given, never), value, name);
			}
		}
	});

	test('for correctness do not apply without a gold answer and never return 1', async () => {
		const { options: _, ...rest } = row;
		for (const name of [
			'accuracy',
			'exact-match',
			'multiple-choice',
			'iou',
			'classification',
			'cosine-length',
		] as const) {
			const reward = await make(name);
			for (const answer of [null, undefined, '', {}]) {
				assert.equal(await reward.score(sample(worked('', ''), { answer, row: rest }), never), null, name);
				assert.equal(await reward.score(sample(worked('', 'null'), { answer, row: rest }), never), null, name);
			}
		}
		const max = await make('length-target', { mode: 'max' });
		assert.equal(await max.score(sample(worked('', '7')), never), null);
	});

	test("for correctness use the task's own verifier if there is one", async () => {
		const where = { ...context, task: { task: 'countdown' } };
		const given = (answer: string) =>
			sample(worked('', answer), { answer: '3*5+1', row: { numbers: [5, 3, 1], target: 16 } });
		const accuracy = await make('accuracy', {}, where);
		assert.equal(await accuracy.score(given('5*3+1'), never), 1);
		assert.equal(await accuracy.score(given('16'), never), 0);
		const cosine = await make('cosine-length', { maxLength: 1000, unit: 'characters' }, where);
		const right = (await cosine.score(given('5*3+1'), never)) as number;
		assert.ok(right > 0.99 && right < 1, `${right}`);
		assert.ok(((await cosine.score(given('16'), never)) as number) < -0.99);
	});

	test('with unknown names or options are rejected with a hint', async () => {
		const refused = (use: string, options: object, pattern: RegExp) =>
			assert.rejects(createBuiltIn({ use, name: use, ...options }, context), (error) => {
				assert.match(String(error), pattern);
				return true;
			});
		await refused('acuracy', {}, /Unknown built-in reward "acuracy"\. Did you mean "accuracy"\?/);
		await refused('xyz', {}, /Choose one of accuracy, format/);
		await refused('format', { strict: true }, /"format" is not valid/);
		await refused('soft-overlong', {}, /"soft-overlong" is not valid/);
		await refused('soft-overlong', { maxLength: '20', cacheLength: 5 }, /maxLength.*must be a whole number/);
		await refused('judge', { url: 'file:///etc/passwd', model: 'm' }, /url.*must be an http/);
		await refused('judge', { url: 'http://user:word@host/v1', model: 'm' }, /url.*without a user name/);
		await refused('process', {}, /requires a model\. Add either "model" or "url"/);
		await refused('process', { model: 'no-such-folder' }, /Cannot read the model \/nowhere\/no-such-folder/);
		await refused('reward-model', {}, /path/);
		await refused('reward-model', { path: 'gone' }, /\/nowhere\/gone/);
		await refused('json-schema', { schema: { type: 'nonsense' } }, /Compiling the JSON Schema failed/);
	});
});

describe('JSON Schemas', () => {
	const schemas = new JsonSchemas();

	test('from drafts 07, 2019-09 and 2020-12 are supported', () => {
		const tuple = (draft: string, items: object) => ({ $schema: draft, type: 'array', ...items });
		const pair = [{ type: 'string' }, { type: 'number' }];
		for (const schema of [
			tuple('http://json-schema.org/draft-07/schema#', { items: pair }),
			tuple('https://json-schema.org/draft/2019-09/schema', { items: pair }),
			tuple('https://json-schema.org/draft/2020-12/schema', { prefixItems: pair }),
		]) {
			assert.equal(schemas.accepts(schema, ['a', 1]), true);
			assert.equal(schemas.accepts(schema, [1, 'a']), false);
		}
		assert.equal(schemas.accepts({ required: ['a'] }, {}), false);
		assert.equal(schemas.accepts({ 'x-word': 1, format: 'email' }, 'no address'), true);
	});

	test('that take exponential time are terminated', () => {
		const slow = { type: 'string', pattern: '^(a+)+$' };
		assert.equal(schemas.accepts(slow, 'aaaa'), true);
		assert.throws(() => schemas.accepts(slow, `${'a'.repeat(60)}b`), /took too long/);
	});

	test('that are too large, have external references, or are invalid are rejected', () => {
		const refused = (schema: object, pattern: RegExp) => assert.throws(() => schemas.accepts(schema, {}), pattern);
		refused({ enum: ['x'.repeat(300_000)] }, /exceeds the limit of 200000/);
		refused({ $ref: 'http://127.0.0.1:9/schema.json' }, /can't resolve reference/);
		refused({ $ref: 'file:///etc/passwd' }, /can't resolve reference/);
		refused({ type: 7 }, /failed/);
		refused({ $async: true }, /not supported/);
		refused({ pattern: '(' }, /failed/);
	});

	test('are independent even with the same $id, and recursive ones work', () => {
		assert.equal(schemas.accepts({ $id: 'a', type: 'string' }, 'x'), true);
		assert.equal(schemas.accepts({ $id: 'a', type: 'number' }, 'x'), false);
		const tree = { $id: 't', type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false };
		assert.equal(schemas.accepts(tree, { next: { next: {} } }), true);
		assert.equal(schemas.accepts(tree, { next: { other: 1 } }), false);
		assert.equal(
			schemas.accepts({ properties: { __proto__: { type: 'string' } } }, JSON.parse('{"__proto__": 1}')),
			true,
		);
	});

	test('are evicted after many rows', () => {
		for (let i = 0; i < 450; i++) assert.equal(schemas.accepts({ $id: `many${i}`, const: i }, i), true);
		assert.equal(schemas.accepts({ $id: 'many3', const: 3 }, 4), false);
	});
});

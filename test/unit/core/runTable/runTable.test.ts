import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flattenRecipe } from '../../../../src/core/runTable/flattenRecipe.ts';
import { columnsOf } from '../../../../src/core/runTable/runColumns.ts';
import { parseRunFilter } from '../../../../src/core/runTable/runFilter.ts';
import { groupRuns, groupValue } from '../../../../src/core/runTable/runGroups.ts';
import { sortRuns } from '../../../../src/core/runTable/runOrder.ts';
import type { RunTableRow } from '../../../../src/protocol/runTableMessages.ts';

function row(name: string, changes: Partial<RunTableRow> = {}): RunTableRow {
	return {
		folder: `/w/runs/${name}`,
		...{ name, project: 'w', own: true, status: 'finished', engine: 'Embedded', step: 10, created: 100 },
		...{ tags: [], metrics: {}, recipe: {}, ...changes },
	};
}

const names = (rows: readonly RunTableRow[]) => rows.map(({ name }) => name);

test('flattens a recipe with any content into values keyed by path', () => {
	const flat = flattenRecipe({ long: 'x'.repeat(300) }).long;
	assert.match(String(flat), /^x{188}… #[0-9a-z]{1,7}$/);
	assert.notEqual(flattenRecipe({ long: `${'x'.repeat(299)}y` }).long, flat, 'the ends differ');
	assert.deepEqual(
		flattenRecipe({
			name: 'left out',
			seed: 3,
			rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
			stages: [{ type: 'grpo', tags: ['a', 'b'], none: null, empty: [] }],
			wrong: Number.NaN,
		}),
		{
			seed: 3,
			'rewards[0].use': 'accuracy',
			'rewards[1].use': 'format',
			'rewards[1].weight': 0.2,
			'stages[0].type': 'grpo',
			'stages[0].tags': 'a, b',
			'stages[0].none': null,
		},
	);
	for (const value of [null, 7, 'text', [], {}]) assert.deepEqual(flattenRecipe(value), {});
	let deep: unknown = 1;
	for (let i = 0; i < 100; i++) deep = { a: deep };
	assert.deepEqual(flattenRecipe(deep), {});
	const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
	assert.equal(Object.keys(flattenRecipe(wide)).length, 400);
});

test('columns cover all metrics and recipe keys of the runs; recipe keys are shown by default only if their values differ', () => {
	const rows = [
		row('a', { recipe: { seed: 1, 'stages[0].beta': 0.1, 'model.width': 64 }, metrics: { reward: 1, kl: 0 } }),
		row('b', { recipe: { seed: 2, 'stages[0].beta': 0.2, 'model.width': 64 } }),
	];
	const { all, usual } = columnsOf(rows);
	assert.deepEqual(usual, [
		'name',
		'status',
		'step',
		'metric:reward',
		'recipe:seed',
		'recipe:stages[0].beta',
		'created',
	]);
	assert.deepEqual([...all.keys()].slice(7), [
		'metric:reward',
		'metric:kl',
		'recipe:seed',
		'recipe:stages[0].beta',
		'recipe:model.width',
	]);
	assert.equal(all.get('metric:kl')?.value(rows[1] as RunTableRow), null);
	const hostile = row('c', { metrics: JSON.parse('{"__proto__": 1}') });
	assert.ok(columnsOf([hostile]).all.has('name'));
	assert.ok(columnsOf([row('d', { project: 'v' }), ...rows]).usual.includes('project'));
	assert.deepEqual(columnsOf([]).usual, ['name', 'status', 'step', 'created']);
});

test('filters match words, and compare columns by name or by the end of their path', () => {
	const rows = [
		row('first try', { tags: ['good'], recipe: { 'stages[0].beta': 0.1, 'model.kind': 'Llama' } }),
		row('second', { status: 'crashed', recipe: { 'stages[0].beta': 0.02 }, metrics: { 'eval/accuracy': 0.8 } }),
		row('third', { metrics: { 'eval/accuracy': 0.4 } }),
	];
	const columns = [...columnsOf(rows).all.values()];
	const found = (text: string) => names(rows.filter(parseRunFilter(text, columns).test));
	assert.deepEqual(found(''), names(rows));
	assert.deepEqual(found('TRY first'), ['first try']);
	assert.deepEqual(found('name:"first try"'), ['first try']);
	assert.deepEqual(found('beta>0.05'), ['first try']);
	assert.deepEqual(found('beta<=0.1 accuracy>=0.8'), ['second']);
	assert.deepEqual(found('kind=llama'), ['first try']);
	assert.deepEqual(found('kind!=llama'), ['second', 'third'], 'also runs without a value');
	assert.deepEqual(found('tags:goo'), ['first try']);
	assert.deepEqual(found('status=crashed'), ['second']);
	assert.deepEqual(found('beta>'), names(rows), 'still being typed');
	assert.deepEqual(found('beta>high'), []);
	assert.equal(parseRunFilter('nothing>1', columns).fault, 'No column is named "nothing".');
	assert.equal(parseRunFilter('a "unclosed', columns).fault, null);
});

test('sorting is stable, puts missing values last, and orders strings by the numbers in them', () => {
	const value = (key: string) => ({ value: (one: RunTableRow) => one.recipe[key] ?? null });
	const rows = [
		row('a', { recipe: { x: 2 } }),
		row('b'),
		row('c', { recipe: { x: 10 } }),
		row('d', { recipe: { x: 2 } }),
	];
	assert.deepEqual(names(sortRuns(rows, value('x'), false)), ['a', 'd', 'c', 'b']);
	assert.deepEqual(names(sortRuns(rows, value('x'), true)), ['c', 'a', 'd', 'b']);
	const texts = [
		row('s 10', { recipe: { x: 's 10' } }),
		row('s 9', { recipe: { x: 's 9' } }),
		row('n', { recipe: { x: 1 } }),
	];
	assert.deepEqual(names(sortRuns(texts, value('x'), false)), ['n', 's 9', 's 10']);
});

test('runs that differ only in seed form a group with a mean and standard deviation', () => {
	const seeded = (seed: number, beta: number, reward: number) =>
		row(`b${beta}`, { folder: `/${seed}/${beta}`, recipe: { seed, beta }, metrics: { reward } });
	const rows = [
		seeded(1, 0.1, 1),
		seeded(2, 0.1, 3),
		seeded(1, 0.2, 5),
		row('foreign'),
		row('foreign', { folder: '/f' }),
	];
	const groups = groupRuns(rows, 'recipe');
	assert.deepEqual(
		groups.map(({ label, rows: members }) => [label, members.length]),
		[
			['b0.1', 2],
			['b0.2', 1],
			['foreign', 1],
			['foreign', 1],
		],
	);
	const reward = { value: (one: RunTableRow) => one.metrics.reward ?? null };
	assert.deepEqual(groupValue(groups[0]?.rows ?? [], reward), {
		...{ mean: 2, deviation: Math.SQRT2, min: 1, max: 3, runs: 2 },
	});
	assert.deepEqual(groupValue(groups[1]?.rows ?? [], reward), { mean: 5, deviation: null, min: 5, max: 5, runs: 1 });
	assert.equal(groupValue(groups[2]?.rows ?? [], reward), null);
	const status = { value: (one: RunTableRow) => one.status };
	assert.equal(groupValue(rows, status), 'finished');
	assert.equal(groupValue([...rows, row('x', { status: 'crashed' })], status), null);
	assert.deepEqual(
		groupRuns([row('a', { tags: ['y', 'x'] }), row('b', { tags: ['x', 'y'] }), row('c')], 'tags').length,
		2,
	);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { AnswerClasses } from '../../../../src/core/search/answerClasses.ts';
import { dirichlet } from '../../../../src/core/search/dirichlet.ts';
import { puct, uct, unvisited } from '../../../../src/core/search/strategies/puct.ts';
import { strategies, strategyParams } from '../../../../src/core/search/strategies.ts';
import { paramInfos } from '../../../scripts/paramInfo.ts';

test('every strategy and parameter can be displayed: names, descriptions, defaults, limits', () => {
	assert.equal(new Set(strategies.map(({ name }) => name)).size, strategies.length);
	for (const strategy of strategies) {
		assert.match(strategy.name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
		assert.ok(strategy.title !== '' && strategy.description !== '' && strategy.source !== '');
		const defaults = strategyParams(strategy, {}) as Record<string, unknown>;
		for (const info of paramInfos(strategy)) {
			assert.ok(info.description.length > 3, `${strategy.name} ${info.name}`);
			assert.deepEqual(defaults[info.name], info.default, `${strategy.name} ${info.name}`);
			if (info.kind === 'choice')
				assert.ok(info.options.length > 1 && info.options.includes(String(info.default ?? info.options[0])));
			if (info.low !== null)
				assert.throws(() => strategyParams(strategy, { [info.name]: (info.low as number) - 1 }), /at least/);
		}
	}
	const { kind, low, high } =
		paramInfos(strategies.find(({ name }) => name === 'beam') as (typeof strategies)[number])[3] ?? {};
	assert.deepEqual([kind, low, high], ['integer', 0, 100]);
});

test('Dirichlet samples are on the simplex and have the correct mean and variance', () => {
	const random = Random.of('dirichlet');
	for (const alpha of [0.001, 0.3, 1, 5]) {
		const draws = Array.from({ length: 4000 }, () => dirichlet(random, 4, alpha));
		for (const draw of draws.slice(0, 100)) {
			assert.ok(draw.every((x) => x >= 0 && x <= 1));
			assert.ok(Math.abs(draw.reduce((a, b) => a + b) - 1) < 1e-9);
		}
		const first = draws.map(([x]) => x as number);
		const mean = first.reduce((a, b) => a + b) / first.length;
		const variance = first.reduce((sum, x) => sum + (x - mean) ** 2, 0) / first.length;
		// For one of k components: mean 1 / k, variance (k - 1) / (k² (k alpha + 1)).
		const expected = 3 / (16 * (4 * alpha + 1));
		assert.ok(Math.abs(mean - 0.25) < 0.03, `${alpha}: ${mean}`);
		assert.ok(Math.abs(variance - expected) < 0.02, `${alpha}: ${variance}, ${expected}`);
	}
});

test('UCT and PUCT match their papers', () => {
	const u = uct(2);
	assert.equal(u.value(u.shared(10), 0, 0, 0.5), unvisited);
	assert.ok(Math.abs(u.value(u.shared(10), 4, 0.5, 0.5) - (0.5 + 2 * Math.sqrt(Math.log(10) / 4))) < 1e-12);
	const p = puct(1.25, 19652);
	const bonus = 0.3 * (Math.sqrt(50) / (1 + 7)) * (1.25 + Math.log((50 + 19652 + 1) / 19652));
	assert.ok(Math.abs(p.value(p.shared(50), 7, 0.4, 0.3) - (0.4 + bonus)) < 1e-12);
});

test('an answer is compared once with each class and then looked up', () => {
	let compared = 0;
	const classes = new AnswerClasses((a, b) => {
		compared++;
		return Number(a) === Number(b);
	});
	const answers = ['1', '2', '1.0', '02', '3', '1'];
	assert.deepEqual(
		answers.map((answer) => classes.of(answer)),
		[0, 1, 0, 1, 2, 0],
	);
	const before = compared;
	for (let i = 0; i < 100; i++) for (const answer of answers) classes.of(answer);
	assert.equal(compared, before);
});

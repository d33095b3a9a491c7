import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { distributionStatistics } from '../../../../src/core/search/distribution.ts';
import { forkPlaces, forkStrength, tokenKind } from '../../../../src/core/search/forkRule.ts';
import type { TokenDetail } from '../../../../src/core/search/policy.ts';
import { isPartial, statisticAt, topGap, topStatistics } from '../../../../src/core/search/tokenStatistics.ts';

const top = (...p: number[]) => p.map((one, i) => [`t${i}`, Math.log(one)] as const);
const near = (actual: number | null | undefined, expected: number) =>
	assert.ok(Math.abs((actual ?? Number.NaN) - expected) < 1e-9, `${actual} is not ${expected}`);

describe('token alternative statistics', () => {
	it('are computed from the alternatives alone', () => {
		const whole = distributionStatistics([0.5, 0.25, 0.25]);
		const part = topStatistics(top(0.4, 0.2, 0.2));
		near(part?.entropy, whole.entropy);
		near(part?.varentropy, whole.varentropy);
		near(part?.gini, 1 / 6);
		near(part?.variance, (0.25 + 2 * 0.0625) / 3 - 1 / 9);
		near(topStatistics(top(0.3, 0.3))?.entropy, Math.LN2);
		near(topStatistics(top(0.7))?.entropy, 0);
	});

	it('are unavailable without valid data', () => {
		assert.equal(topStatistics([]), null);
		assert.equal(
			topStatistics([
				['a', Number.NEGATIVE_INFINITY],
				['b', Number.NaN],
				['c', 5],
			]),
			null,
		);
		assert.equal(topGap(top(1)), null);
		near(topGap(top(0.2, 0.5, 0.3)), 0.2);
		near(
			topGap([
				['a', Math.log(0.6)],
				['b', Number.NaN],
				['c', Math.log(0.1)],
			]),
			0.5,
		);
	});

	it("are overridden by the policy's own values, which can be partial", () => {
		const detail: TokenDetail = {
			text: ['a', 'b'],
			logprob: [-1, null],
			entropy: [0.25, null],
			top: [top(0.5, 0.5), top(0.5, 0.5)],
		};
		near(statisticAt(detail, 0, 'entropy'), 0.25);
		near(statisticAt(detail, 1, 'entropy'), Math.LN2);
		near(statisticAt(detail, 1, 'gap'), 0);
		assert.equal(statisticAt(detail, 1, 'logprob'), null);
		assert.equal(statisticAt(detail, 9, 'gini'), null);
		assert.deepEqual(
			[isPartial(detail, 0, 'entropy'), isPartial(detail, 1, 'entropy'), isPartial(detail, 1, 'gap')],
			[false, true, false],
		);
		assert.equal(isPartial({ ...detail, partial: true }, 0, 'entropy'), true);
	});
});

describe('fork rule', () => {
	it('distinguishes a dominant token, two close ones, several high ones and a flat distribution', () => {
		assert.equal(tokenKind(top(0.95, 0.03)), 'greedy');
		assert.equal(tokenKind(top(0.45, 0.4, 0.05)), 'fork');
		assert.equal(tokenKind(top(0.3, 0.28, 0.25)), 'branch');
		assert.equal(tokenKind(top(0.1, 0.1, 0.1, 0.1)), 'explore');
		// Two are high but far apart, so only one leads.
		assert.equal(tokenKind(top(0.7, 0.2)), 'greedy');
		assert.equal(tokenKind(top(0.5, 0.1, 0.1)), 'greedy');
		assert.equal(tokenKind([]), null);
		assert.equal(tokenKind(top(0.7, 0.2), { dominant: 0.8, high: 0.15, gap: 0.6 }), 'fork');
	});

	it('finds the strongest positions by the rule and by each statistic', () => {
		const detail: TokenDetail = {
			text: ['a', 'b', 'c', 'd'],
			logprob: [0, 0, 0, 0],
			top: [top(0.99, 0.01), top(0.5, 0.45), top(0.4, 0.39, 0.2), []],
		};
		assert.deepEqual(forkPlaces(detail, { statistic: 'rule' }), [1, 2]);
		assert.deepEqual(forkPlaces(detail, { statistic: 'rule' }, 1), [2]);
		assert.deepEqual(forkPlaces(detail, { statistic: 'gap' }), [1, 2]);
		assert.deepEqual(forkPlaces(detail, { statistic: 'entropy', threshold: 0.9 }), [2]);
		assert.deepEqual(forkPlaces(detail, { statistic: 'gini', threshold: 0.2 }), [1, 2]);
		assert.deepEqual(forkPlaces(detail, { statistic: 'variance', threshold: 0.001 }), [1]);
		// A gap equal to the threshold still forks.
		assert.ok((forkStrength(detail, 1, { statistic: 'gap', threshold: topGap(top(0.5, 0.45)) ?? 0 }) ?? 0) > 0);
		assert.equal(forkStrength(detail, 3, { statistic: 'varentropy' }), null);
		assert.deepEqual(forkPlaces({ text: [], logprob: [] }, { statistic: 'rule' }), []);
	});
});

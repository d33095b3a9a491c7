import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { extremeRows } from '../../../../../src/core/reward/verification/extremeRows.ts';
import { histogram } from '../../../../../src/core/reward/verification/histogram.ts';
import {
	formatValue,
	summaryLine,
	summaryParts,
} from '../../../../../src/core/reward/verification/verificationSummary.ts';
import type { VerifiedRow } from '../../../../../src/protocol/verification.ts';
import { failed, verificationOf, verified } from './verifiedRows.ts';

/** Builds problems that score 1 for the correct answer and 0 for the incorrect one; `dead` of them score 1 for both. */
function problems(count: number, dead: number): VerifiedRow[] {
	return Array.from({ length: count }, (_, group) => [
		verified(1, { source: 'gold', group }),
		verified(group < dead ? 1 : 0, { source: 'wrong', group }),
	]).flat();
}

describe('summary line', () => {
	// The editor shows these lines, so changing them changes the product.
	it('is unchanged', () => {
		const lines = [
			verificationOf([...problems(25, 2), verified(null), verified(null), failed()]),
			verificationOf(problems(25, 0)),
			verificationOf(problems(300, 1), { durationMs: 600 * 3.4 }),
			verificationOf([]),
			verificationOf([verified(null), verified(null)]),
			verificationOf([failed(), failed()], { durationMs: 4000 }),
			verificationOf([verified(-0.0123), verified(-0.0123)]),
			verificationOf([verified(1234.5), verified(0)]),
			verificationOf([
				verified(1, { source: 'case', expect: 1, passed: true }),
				verified(0.5, { source: 'case', expect: 1, passed: false }),
			]),
			verificationOf([verified(1, { source: 'case', expect: 1, passed: true })]),
			verificationOf([verified(1, { recorded: 1 }), verified(0, { recorded: 1 })]),
			verificationOf([verified(1, { recorded: 1 }), verified(0, { recorded: 0 })]),
		].map(summaryLine);
		assert.deepEqual(lines, [
			'0.54 ± 0.50 · gold 92% · 4% null · 2 of 25 groups dead · 1 error · 12 µs/row',
			'0.50 ± 0.51 · gold 100% · 12 µs/row',
			'0.50 ± 0.50 · gold 99% · 1 of 300 groups dead · 3.4 ms/row',
			'no rows',
			'no values · 100% null · 12 µs/row',
			'no values · 2 errors · 2.0 s/row',
			'-0.012 ± 0.00 · 12 µs/row',
			'617 ± 873 · 12 µs/row',
			'0.75 ± 0.35 · 1 of 2 cases failed · 12 µs/row',
			'1.00 ± 0.00 · 1 case · 12 µs/row',
			'0.50 ± 0.71 · 1 of 2 differ from the run · 12 µs/row',
			'0.50 ± 0.71 · matches the run · 12 µs/row',
		]);
	});

	it('highlights problems', () => {
		const levels = (rows: VerifiedRow[]) =>
			Object.fromEntries(summaryParts(verificationOf(rows)).map(({ topic, level }) => [topic, level]));
		assert.deepEqual(levels(problems(10, 9)), { value: 'plain', agreement: 'notice', dead: 'notice', time: 'plain' });
		assert.equal(levels(problems(10, 2)).dead, 'plain');
		assert.equal(levels([failed()]).errors, 'bad');
		assert.equal(levels([verified(0, { expect: 1, passed: false })]).cases, 'bad');
	});

	it('counts a batch error once', () => {
		const fault = { kind: 'timeout', message: 'took longer' } as const;
		assert.match(summaryLine(verificationOf([failed(), failed()], { faults: [fault] })), /2 errors/);
		assert.match(summaryLine(verificationOf([], { faults: [fault] })), /1 error/);
	});

	it('formats numbers of any size compactly', () => {
		assert.deepEqual([0, -1, 0.5, 12.345, 99.999, 1e5, 0.05, 0.0004, -1e-9, 1e300].map(formatValue), [
			'0.00',
			'-1.00',
			'0.50',
			'12.35',
			'100.00',
			'1.0e+5',
			'0.050',
			'4.0e-4',
			'-1.0e-9',
			'1.0e+300',
		]);
	});
});

describe('best and worst rows', () => {
	it('come from both ends, most surprising first, without duplicates', () => {
		const rows = [
			verified(1, { source: 'gold', label: 'g1' }),
			verified(1, { source: 'wrong', label: 'w1' }),
			verified(0, { source: 'wrong', label: 'w0' }),
			verified(0, { source: 'gold', label: 'g0' }),
			verified(0.5, { label: 'r' }),
			verified(null, { label: 'null' }),
			failed({ label: 'error' }),
		];
		const names = (n: number) => {
			const { best, worst } = extremeRows(rows, n);
			return [best.map(({ label }) => label), worst.map(({ label }) => label)];
		};
		assert.deepEqual(names(2), [
			['w1', 'g1'],
			['g0', 'w0'],
		]);
		assert.deepEqual(names(3), [
			['w1', 'g1', 'r'],
			['g0', 'w0'],
		]);
		assert.deepEqual(names(99)[0]?.length, 3);
		assert.deepEqual(extremeRows([], 3), { best: [], worst: [] });
		assert.deepEqual(extremeRows([verified(null)], 3), { best: [], worst: [] });
	});
});

describe('histogram', () => {
	it('has one bin per value if there are few', () => {
		assert.deepEqual(histogram([1, 0, 1, 0.5]), [
			{ low: 0, high: 0, count: 1 },
			{ low: 0.5, high: 0.5, count: 1 },
			{ low: 1, high: 1, count: 2 },
		]);
		assert.deepEqual(histogram([]), []);
	});

	it('counts every value in the bin that contains it', () => {
		for (let seed = 0; seed < 100; seed++) {
			const random = Random.of(seed);
			const scale = random.pick([1, 1e-9, 1e9, 1e308]);
			const values = Array.from({ length: random.between(30, 300) }, () => (2 * random.next() - 1) * scale);
			const bins = histogram(values, 10);
			assert.equal(bins.length, 10);
			assert.equal(bins[0]?.low, Math.min(...values));
			assert.equal(bins.at(-1)?.high, Math.max(...values));
			for (const [i, { low, high, count }] of bins.entries()) {
				const last: boolean = i === bins.length - 1;
				assert.equal(count, values.filter((value) => value >= low && (value < high || (last && value <= high))).length);
				assert.ok(low < high);
			}
			assert.equal(
				bins.reduce((sum, { count }) => sum + count, 0),
				values.length,
			);
		}
	});
});

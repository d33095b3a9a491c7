import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
	formatBinary,
	formatBytes,
	formatClock,
	formatCount,
	formatCounted,
	formatDuration,
	formatEstimate,
	formatNumber,
	formatPart,
	formatPercent,
	formatProgress,
	formatTime,
} from '../../../src/base/format.ts';

describe('number formatting', () => {
	it('shows four significant digits', () => {
		const cases: [number | null, string][] = [
			[0, '0'],
			[1, '1'],
			[-0.0695, '\u22120.0695'],
			[0.30469, '0.3047'],
			[123456, '123456'],
			[1.0000001, '1'],
			[5e-5, '5e-5'],
			[1.23456e-7, '1.235e-7'],
			[-2.5e9, '\u22122.5e9'],
			[Number.NaN, '\u2013'],
			[null, '\u2013'],
			[Number.POSITIVE_INFINITY, '\u221e'],
		];
		for (const [value, text] of cases) assert.equal(formatNumber(value), text);
	});

	it('adds thousands separators to counts', () => {
		assert.equal(formatCount(1896000), '1,896,000');
		assert.deepEqual([999, 1000, -123456, 1e12].map(formatCount), [
			'999',
			'1,000',
			'\u2212123,456',
			'1,000,000,000,000',
		]);
		assert.deepEqual(
			[0, 1, 1896, null].map((value) => formatCounted(value, 'row')),
			['0 rows', '1 row', '1,896 rows', '\u2013 rows'],
		);
		assert.equal(formatCounted(2, 'query', 'queries'), '2 queries');
	});

	it('shows fractions as percentages', () => {
		assert.equal(formatPercent(0.3047), '30.5%');
		assert.equal(formatPercent(0.3047, 0), '30%');
		assert.equal(formatPercent(-0.02), '\u22122.0%');
		assert.equal(formatPercent(Number.NaN), '\u2013');
	});

	it('shows 0% and 100% only for none and all', () => {
		const parts = [formatPart(0, 7), formatPart(7, 7), formatPart(999, 1000), formatPart(1, 1000), formatPart(1, 3)];
		assert.deepEqual(parts, ['0%', '100%', '99%', '1%', '33%']);
		assert.equal(formatPart(0, 0), '\u2013');
	});

	it('shows 100% progress only at the end', () => {
		assert.deepEqual([formatProgress(999, 1000), formatProgress(7, 7), formatProgress(0, 0)], ['99%', '100%', '0%']);
	});

	it('shows durations with at most two units', () => {
		const cases: [number, string][] = [
			[0, '0 s'],
			[1.23e-6, '1.2 µs'],
			[12e-6, '12 µs'],
			[0.00099, '990 µs'],
			[0.001, '1 ms'],
			[0.0034, '3.4 ms'],
			[0.85, '850 ms'],
			[0.99999, '1.0 s'],
			[9.94, '9.9 s'],
			[9.96, '10 s'],
			[59.4, '59 s'],
			[59.7, '1 min 00 s'],
			[185, '3 min 05 s'],
			[3599.6, '1 h 00 min'],
			[7620, '2 h 07 min'],
			[356_400, '4 d 03 h'],
			[-1, '\u2013'],
			[Number.NaN, '\u2013'],
		];
		for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text);
	});

	it('does not show estimated durations with more precision than they have', () => {
		const left = [4.2, 59.4, 59.6, 84, 3569, 3572, 7620, -1].map(formatEstimate);
		assert.deepEqual(left, ['4 s', '59 s', '1 min', '1 min', '59 min', '1 h 00 min', '2 h 07 min', '\u2013']);
	});

	it('shows clock times', () => {
		const clock = [0, 5, 59.6, 83, 750, 3723, -1, Number.NaN].map(formatClock);
		assert.deepEqual(clock, ['0:00', '0:05', '1:00', '1:23', '12:30', '1:02:03', '\u2013', '\u2013']);
	});

	it('uses decimal units for bytes and binary units for memory', () => {
		const sizes = [0, 999, 1500, 999_999, 12_345_678, 127e6, 2e9, -1].map(formatBytes);
		assert.deepEqual(sizes, ['0 B', '999 B', '1.5 kB', '1 MB', '12.3 MB', '127 MB', '2 GB', '\u2013']);
		assert.deepEqual([80 * 2 ** 30, 1.5 * 2 ** 30].map(formatBinary), ['80 GiB', '1.5 GiB']);
	});

	it('omits the date for times today', () => {
		const noon = new Date(2026, 2, 4, 12, 0).getTime() / 1000;
		assert.deepEqual(
			[noon - 60, noon - 86_400, noon - 365 * 86_400].map((time) => formatTime(time, noon)),
			['11:59', '3 Mar 12:00', '4 Mar 2025 12:00'],
		);
	});
});

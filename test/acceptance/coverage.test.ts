/**
 * Measures, on simulated evaluations, how often 95% confidence intervals contain the true value and how often equal
 * runs are reported as different: `npm run acceptance -- coverage` prints a line for each case. Allows three standard
 * deviations of simulation noise. Counts are discrete: with few correct (or incorrect) samples, no interval can stay
 * both below 97% and above 93%. The upper bound therefore applies only with at least fifty questions and ten correct
 * and ten incorrect samples, and with fewer than five, the lower bound is 90%.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CoverageCase, coverageOf, falsePositives, truthOf } from '../support/coverage.ts';

const questionCounts = [10, 20, 50, 100, 300, 1000];
const shares = [0.01, 0.02, 0.05, 0.2, 0.5, 0.8, 0.95, 0.98, 0.99];
const trialsOf = (questions: number) => Math.max(1000, Math.min(6000, 600_000 / questions));

function cases(): CoverageCase[] {
	const made: CoverageCase[] = [];
	for (const questions of questionCounts) {
		for (const p of shares) {
			for (const apart of [0, 0.4, 0.8]) {
				for (const samples of [1, 4, 16]) {
					if (samples > 1 || apart === 0) made.push({ of: 'accuracy', questions, samples, p, apart });
				}
				for (const measure of ['pass@4', 'cons@3', 'gain of cons@3'] as const) {
					made.push({ of: measure, questions, samples: 8, p, apart });
				}
			}
		}
		for (const samples of [1, 4, 16]) {
			for (const [p, better] of [
				[0.02, 0],
				[0.05, 0.05],
				[0.3, 0],
				[0.5, 0.1],
				[0.85, 0.05],
				[0.95, 0],
			] as const) {
				made.push({ of: 'difference', questions, samples, p, apart: 0.5 * (better === 0 ? 1 : 0), better });
			}
		}
	}
	return made;
}

test('95% intervals contain the true value in 93 to 97 of 100 evaluations', () => {
	const faults: string[] = [];
	for (const one of cases()) {
		const trials = trialsOf(one.questions);
		const { held, width } = coverageOf(one, trials);
		const noise = 3 * Math.sqrt((0.05 * 0.95) / trials);
		const label = `${one.of}, ${one.questions} questions, ${one.samples} samples, p ${one.p}${one.better ? ` + ${one.better}` : ''}, apart ${one.apart}: ${(100 * held).toFixed(1)}%, width ${width.toFixed(3)}`;
		// For pass@4, the distance to 1 matters; for paired differences, the true value is near 0.
		const share = one.of === 'pass@4' || one.of === 'cons@3' ? truthOf(one) : one.p;
		const counts = one.questions * Math.min(share, 1 - share);
		const low = held < (counts >= 5 ? 0.93 : 0.9) - noise;
		const high = held > 0.97 + noise && counts >= 10 && one.questions >= 50;
		console.error(`${low ? 'too narrow: ' : high ? 'too wide: ' : ''}${label}`);
		if (low || high) faults.push(label);
	}
	assert.deepEqual(faults, []);
});

test('equal runs are reported as different no more often than the test allows', () => {
	for (const questions of [6, 8, 12, 19, 20, 30, 100]) {
		for (const samples of [1, 4, 16]) {
			for (const p of [0.05, 0.3, 0.5, 0.9]) {
				const trials = questions > 20 ? 400 : 2000;
				const found = falsePositives({ questions, samples, p, apart: 0.5 }, trials);
				console.error(`${questions} questions, ${samples} samples, p ${p}: ${(100 * found).toFixed(1)}% below 0.05`);
				assert.ok(found <= 0.05 + 3 * Math.sqrt((0.05 * 0.95) / trials), `${questions}, ${samples}, ${p}: ${found}`);
			}
		}
	}
});

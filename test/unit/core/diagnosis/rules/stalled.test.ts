import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Diagnosis } from '../../../../../src/core/diagnosis/diagnosis.ts';
import { verdictOf } from '../../../../../src/core/diagnosis/verdict.ts';
import { healthy, ownRun, rows } from '../syntheticRun.ts';

/** Returns the diagnosis of a run with one row per second, the last one at 1e9 + 39. */
const started = (stage = 'grpo') => {
	const diagnosis = new Diagnosis(ownRun);
	diagnosis.addMetrics(rows(40, healthy, { stage }));
	return diagnosis;
};
const end = 1e9 + 39;
const ids = (diagnosis: Diagnosis) => [...diagnosis.holding];

/** Checks the run every ten seconds. */
function watch(
	diagnosis: Diagnosis,
	from: number,
	seconds: number,
	heartbeat: (now: number) => number | null = (now) => now,
) {
	for (let now = from; now <= from + seconds; now += 10)
		diagnosis.look({ now, heartbeat: heartbeat(now), working: true });
}

describe('a stalled run', () => {
	it('is reported after a minute without a row, until the next row', () => {
		const diagnosis = started();
		watch(diagnosis, end, 50);
		assert.deepEqual(ids(diagnosis), []);
		watch(diagnosis, end + 60, 10);
		assert.deepEqual(ids(diagnosis), ['stalled']);
		const { alerts, summary } = verdictOf(diagnosis);
		assert.match(summary, /^Most likely cause: training stalled \(since step 40/);
		assert.match(alerts[0]?.message ?? '', /^No progress for \d+ s since step 40\. Earlier steps took/);
		diagnosis.addMetrics(rows(1, healthy, { from: 41 }));
		assert.deepEqual(ids(diagnosis), []);
	});

	it('is attributed to the engine if its heartbeat stops, in every stage', () => {
		for (const stage of ['grpo', 'sft']) {
			const diagnosis = started(stage);
			watch(diagnosis, end, 120, () => end);
			assert.deepEqual(ids(diagnosis), ['stalled:engine'], stage);
			assert.equal(verdictOf(diagnosis).alerts[0]?.step, 40, stage);
		}
	});

	it('is not reported while paused, before the first rows, or after the machine slept or its clock changed', () => {
		const paused = started();
		for (let now = end; now < end + 7200; now += 10) paused.look({ now, heartbeat: now, working: false });
		watch(paused, end + 7200, 40);
		assert.deepEqual(ids(paused), [], 'paused');
		const young = new Diagnosis(ownRun);
		watch(young, end, 7200);
		assert.deepEqual(ids(young), [], 'no rows');
		const asleep = started();
		for (const now of [end, end + 40 * 3600, end - 3600, Number.NaN, end]) {
			asleep.look({ now, heartbeat: now, working: true });
		}
		assert.deepEqual(ids(asleep), [], 'asleep');
	});

	it('waits longer for a run with long batches and long evaluations', () => {
		const diagnosis = new Diagnosis(ownRun);
		const lines = rows(40, healthy).map((line, i) => ({ ...line, time: 1e9 + 2 * i + (i > 30 ? 100 : 0) }));
		diagnosis.addMetrics(lines);
		watch(diagnosis, end, 190);
		assert.deepEqual(ids(diagnosis), []);
		watch(diagnosis, end + 200, 20);
		assert.deepEqual(ids(diagnosis), ['stalled']);
	});

	it('is reported by a single check if the idle time is known', () => {
		const diagnosis = started();
		diagnosis.look({ now: end + 300, heartbeat: end, working: true, quiet: 300, silent: 300 });
		assert.deepEqual(ids(diagnosis), ['stalled:engine']);
		diagnosis.look({ now: end + 310, heartbeat: end, working: false });
		assert.deepEqual(ids(diagnosis), []);
	});
});

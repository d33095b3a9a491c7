import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deferred, deferred } from '../../../src/base/async.ts';
import { type Clock, Refresher } from '../../../src/extension/refresher.ts';

/** A clock that stands still until a test moves it. */
class TestClock implements Clock {
	time = 0;
	readonly #timers = new Set<{ readonly at: number; readonly call: () => void }>();

	now(): number {
		return this.time;
	}

	after(ms: number, call: () => void) {
		const timer = { at: this.time + ms, call };
		this.#timers.add(timer);
		return { dispose: () => void this.#timers.delete(timer) };
	}

	get pending(): number[] {
		return [...this.#timers].map(({ at }) => at);
	}

	/** Advances the time, calls the timers that are due, and lets the work that they start run. */
	async advance(ms: number): Promise<void> {
		this.time += ms;
		for (const timer of this.#timers) {
			if (timer.at > this.time) continue;
			this.#timers.delete(timer);
			timer.call();
		}
		await new Promise(setImmediate);
	}
}

/** A refresher whose runs end when the test ends them. */
function startable(pauseMs?: (tookMs: number) => number | null) {
	const clock = new TestClock();
	const runs: Deferred<void>[] = [];
	const task = () => {
		const run = deferred<void>();
		runs.push(run);
		return run.promise;
	};
	return { clock, runs, refresher: new Refresher(task, pauseMs, clock) };
}

const settled = async (promise: Promise<void>): Promise<boolean> => {
	let done = false;
	void promise.then(() => {
		done = true;
	});
	await new Promise(setImmediate);
	return done;
};

test('calls during a run repeat it once, and settle after the repetition', async () => {
	const { runs, refresher } = startable();
	const first = refresher.refresh();
	const others = [refresher.refresh(), refresher.refresh()];
	assert.equal(runs.length, 1);
	runs[0]?.resolve();
	assert.equal(await settled(Promise.race(others)), false);
	assert.equal(runs.length, 2);
	runs[1]?.resolve();
	await Promise.all([first, ...others]);
	assert.equal(runs.length, 2);
});

test('the task is repeated after a pause that can depend on how long it took', async () => {
	const { clock, runs, refresher } = startable((tookMs) => 10 * tookMs);
	const first = refresher.refresh();
	await clock.advance(5);
	runs[0]?.resolve();
	await first;
	assert.deepEqual(clock.pending, [55]);
	await clock.advance(50);
	assert.equal(runs.length, 2);
	assert.deepEqual(clock.pending, []);
});

test('a run replaces the one that is scheduled', async () => {
	const { clock, runs, refresher } = startable();
	refresher.refreshWithin(100);
	refresher.refreshWithin(20);
	assert.deepEqual(clock.pending, [100], 'the first request counts');
	const run = refresher.refresh();
	assert.deepEqual(clock.pending, []);
	runs[0]?.resolve();
	await run;
	assert.deepEqual(clock.pending, [], 'without a pause, nothing is repeated');
});

test('a run that becomes due during another one follows it, and later ones can be scheduled', async () => {
	const { clock, runs, refresher } = startable();
	const run = refresher.refresh();
	refresher.refreshWithin(0);
	await clock.advance(0);
	assert.equal(runs.length, 1);
	runs[0]?.resolve();
	assert.equal(await settled(run), false);
	runs[1]?.resolve();
	await run;
	refresher.refreshWithin(30);
	assert.deepEqual(clock.pending, [clock.time + 30]);
});

test('a failed run rejects, and the task is still repeated', async () => {
	const { clock, runs, refresher } = startable(() => 10);
	const run = refresher.refresh();
	runs[0]?.reject(new Error('disk'));
	await assert.rejects(run, /disk/);
	assert.deepEqual(clock.pending, [10]);
	await clock.advance(10);
	assert.equal(runs.length, 2);
});

test('nothing runs or is scheduled after disposal', async () => {
	const { clock, runs, refresher } = startable(() => 10);
	refresher.refreshWithin(5);
	const run = refresher.refresh();
	void refresher.refresh();
	refresher.dispose();
	runs[0]?.resolve();
	await run;
	await refresher.refresh();
	refresher.refreshWithin(5);
	assert.equal(runs.length, 1);
	assert.deepEqual(clock.pending, []);
});

test('no request is lost while a run ends', async () => {
	for (let turns = 0; turns < 10; turns++) {
		const { runs, refresher } = startable();
		void refresher.refresh();
		runs[0]?.resolve();
		for (let i = 0; i < turns; i++) await Promise.resolve();
		void refresher.refresh();
		await new Promise(setImmediate);
		assert.equal(runs.length, 2, `requested ${turns} turns after the end`);
	}
});

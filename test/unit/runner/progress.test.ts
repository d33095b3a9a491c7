import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationText, Progress } from '../../runner/progress.ts';

const item = (name: string, seconds: number) => ({ phase: 'unit', name, seconds, cores: 1 });

test('each file gets a line with its counts, its duration and the time left', () => {
	let now = 0;
	const lines: string[] = [];
	const [a, b, c] = [item('a', 60), item('b', 600), item('c', 600)];
	const progress = new Progress(
		[a, b, c],
		2,
		(line) => lines.push(line),
		() => now,
	);
	assert.equal(progress.secondsLeft(), 630);
	progress.start(a);
	progress.start(b);
	now = 60_000;
	progress.end(a, '✔', '3 passed');
	assert.equal(lines[0], '✔ unit a: 3 passed (60.0 s)   2 left, about 10 min');
	progress.heartbeat();
	assert.equal(lines[1], '  running: unit b (60 s)   2 left, about 10 min');
	progress.end(b, '✖', '1 failed');
	progress.end(c, '✖', 'not run');
	assert.equal(lines[3], '✖ unit c: not run (0.0 s)');
});

test('the estimate grows on a slower machine', () => {
	let now = 0;
	const [a, b] = [item('a', 60), item('b', 600)];
	const progress = new Progress(
		[a, b],
		1,
		() => {},
		() => now,
	);
	progress.start(a);
	now = 180_000;
	progress.end(a, '✔', '');
	// (180 + 60) / (60 + 60) of the expected time.
	assert.equal(progress.secondsLeft(), 1200);
});

test('preparation and skipped files do not affect the speed estimate', () => {
	const [a, b, c] = [item('a', 600), { ...item('browser', 600), phase: 'prepare' }, item('c', 600)];
	const progress = new Progress(
		[a, b, c],
		1,
		() => {},
		() => 0,
	);
	progress.start(a);
	progress.end(a, '↷', '1 skipped');
	progress.start(b);
	progress.end(b, '✔', '');
	assert.equal(progress.secondsLeft(), 600);
});

test('durations are rounded to a meaningful precision', () => {
	assert.deepEqual([3, 44, 89, 90, 600].map(durationText), [
		'about 1 s',
		'about 40 s',
		'about 90 s',
		'about 2 min',
		'about 10 min',
	]);
});

test('a file that is overdue still has some time left in the estimate', () => {
	let now = 0;
	const lines: string[] = [];
	const a = item('a', 60);
	const progress = new Progress(
		[a],
		1,
		(line) => lines.push(line),
		() => now,
	);
	progress.start(a);
	for (now of [50_000, 60_000, 900_000]) progress.heartbeat();
	assert.deepEqual(
		lines.map((line) => line.split('   ')[1]),
		['1 left, about 10 s', '1 left, it takes longer than expected', '1 left, it takes longer than expected'],
	);
});

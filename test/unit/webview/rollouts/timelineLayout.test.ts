import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import type { RolloutTimeline, TimelineActivity } from '../../../../src/protocol/rolloutTimeline.ts';
import {
	activityWords,
	secondsOf,
	timelineLayout,
	timelineWords,
} from '../../../../webview/rollouts/timelineLayout.ts';

const activity = (start: number, seconds: number | null, more: Partial<TimelineActivity> = {}): TimelineActivity => ({
	kind: 'generation',
	name: 'm',
	start,
	seconds,
	...more,
});

test('activities that overlap are in different rows', () => {
	const { rows, rowCount, end } = timelineLayout([activity(0, 10), activity(1, 2), activity(2, null), activity(3, 1)]);
	assert.deepEqual(rows, [0, 1, 2, 1]);
	assert.equal(rowCount, 3);
	assert.equal(end, 10);
	assert.deepEqual(timelineLayout([]), { rows: [], rowCount: 0, end: 0 });
});

test('any timeline has at most 12 rows, without overlaps in all but the last (seeded)', () => {
	const random = Random.of('timeline', 1);
	for (let round = 0; round < 50; round++) {
		const activities = Array.from({ length: 200 }, () =>
			activity(random.int(100), random.next() < 0.2 ? null : random.int(1 + round)),
		).sort((a, b) => a.start - b.start);
		const { rows, rowCount } = timelineLayout(activities);
		assert.ok(rowCount <= 12);
		for (let row = 0; row < Math.min(rowCount, 11); row++) {
			let until = Number.NEGATIVE_INFINITY;
			for (const [i, { start, seconds }] of activities.entries()) {
				if (rows[i] !== row) continue;
				assert.ok(start >= until);
				until = start + (seconds ?? 0);
			}
		}
	}
});

test('the description shows how long each activity took, and what is not recorded', () => {
	const activities: RolloutTimeline = [
		activity(0, 4, { tokens: 12, waited: 0.5 }),
		activity(1, 2),
		activity(5, 1, { kind: 'tool', name: 'add', error: 'TypeError' }),
		activity(6, null, { kind: 'scoring', name: 'match' }),
	];
	assert.equal(secondsOf(activities, 'generation'), 4);
	assert.equal(
		timelineWords(activities, timelineLayout(activities)),
		'4 activities in 6.0 s: generation 4.0 s, tool 1.0 s. One has no recorded duration.',
	);
	assert.deepEqual(activities.map(activityWords), [
		'generation m at 0 s: 4.0 s, 12 tokens, including 500 ms of waiting',
		'generation m at 1.0 s: 2.0 s',
		'tool add at 5.0 s: 1.0 s, failed: TypeError',
		'reward match at 6.0 s: duration not recorded',
	]);
	const unknown = [activity(0, null)];
	assert.equal(timelineWords(unknown, timelineLayout(unknown)), '1 activity. Durations are not recorded.');
});

import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Emitter } from '../../../src/base/event.ts';
import type { RunView } from '../../../src/extension/runView.ts';

const { EndNotification } = await import('../../../src/extension/endNotification.ts');

const root = await mkdtemp(join(tmpdir(), 'ends-'));
after(() => rm(root, { recursive: true, force: true }));
let windows = 0;

/** Opens a window with one run, whose state the test sets. */
function openWindow(storage = join(root, `storage-${++windows}`), memory = new Map<string, unknown>()) {
	const changed = new Emitter<void>();
	const shown: string[] = [];
	let waiting: (() => void) | null = null;
	let runs: RunView[] = [];
	const reply = async (text: string) => {
		shown.push(text);
		waiting?.();
	};
	const ends = new EndNotification({
		store: {
			get own() {
				return runs;
			},
			get: (folder: string) => runs.find((view) => view.folder === folder),
			onDidChange: changed.event,
		},
		notices: { information: reply, error: reply },
		memory: {
			keys: () => [],
			get: <T>(key: string, or?: T) => (memory.get(key) ?? or) as T,
			update: async (key: string, value: unknown) => void memory.set(key, value),
		},
		storage: { fsPath: storage } as never,
		openDashboard() {},
		async openLog() {},
		resume() {},
		isStage: async (folder) => folder.includes('/stage-of-'),
	});
	const see = (status: RunView['status'], attempt = 1, announced = true, folder = '/runs/a') => {
		const record = { id: 'r', name: 'sums', attempt, processStart: '1', step: 0, created: 0, updated: 1, heartbeat: 1 };
		const error = status === 'crashed' ? { error: { reason: 'invalid', message: 'Empty dataset.' } } : {};
		runs = [{ folder, status, record: { ...record, ...error }, reward: null, accuracy: null } as never];
		if (announced) changed.fire();
	};
	/** Resolves once `count` notifications were shown. */
	const shownOf = async (count: number) => {
		while (shown.length < count) {
			await new Promise<void>((resolve) => {
				waiting = resolve;
			});
		}
	};
	return { ends, see, shown, shownOf, memory, storage };
}

const limit = { timeout: 10_000 };

test('an end is reported once, by one window, and only for runs that were seen running', limit, async () => {
	const first = openWindow();
	const second = openWindow(first.storage);
	first.see('crashed');
	first.see('running', 2);
	second.see('running', 2);
	first.see('finished', 2);
	first.see('finished', 2);
	await first.shownOf(1);
	second.see('finished', 2);
	second.see('running', 3);
	second.see('stopped', 3);
	await second.shownOf(1);
	assert.match(first.shown.join(), /^sums finished[^,]*$/);
	assert.match(second.shown.join(), /^sums stopped[^,]*$/);
});

test('a run that ended while the window was closed is reported when it reopens', limit, async () => {
	const before = openWindow();
	before.see('running');
	const back = openWindow(before.storage, before.memory);
	back.see('finished');
	await back.shownOf(1);
});

test(
	'a failed start that was already reported is not reported again, by any window, as the end of the run',
	limit,
	async () => {
		const window = openWindow();
		const other = openWindow(window.storage);
		window.see('starting');
		const release = window.ends.hold('/runs/a');
		other.see('starting');
		window.see('starting');
		window.see('crashed');
		await release(true);
		window.see('crashed');
		other.see('crashed');
		// The next notification must be the first one.
		window.see('running', 2);
		window.see('stopped', 2);
		await window.shownOf(1);
		other.see('running', 3);
		other.see('stopped', 3);
		await other.shownOf(1);
		for (const { shown } of [window, other]) assert.match(shown.join(), /^sums stopped[^,]*$/);
	},
);

test('a run that ends during its start is reported after the start', limit, async () => {
	const window = openWindow();
	window.see('running');
	const release = window.ends.hold('/runs/a');
	window.see('finished');
	assert.deepEqual(window.shown, []);
	await release(false);
	await window.shownOf(1);
});

test('a run whose start timed out is reported when it ends', limit, async () => {
	const window = openWindow();
	const release = window.ends.hold('/runs/a');
	window.see('starting');
	await release(true);
	window.see('finished');
	await window.shownOf(1);
});

test(
	'a run that ends before the window saw it running is reported, but not the run that existed before',
	limit,
	async () => {
		const window = openWindow();
		window.see('stopped', 1);
		const release = window.ends.hold('/runs/a');
		await release(false);
		assert.deepEqual(window.shown, []);
		window.see('finished', 2);
		await window.shownOf(1);
		window.see('finished', 2);
		assert.equal(window.shown.length, 1);
		assert.match(window.shown.join(), /^sums finished/);
	},
);

test('resuming right after an end hides neither that end nor the next one', limit, async () => {
	const window = openWindow();
	window.see('running', 1);
	window.see('stopped', 1, false);
	const release = window.ends.hold('/runs/a');
	window.see('stopped', 1);
	window.see('starting', 1);
	window.see('running', 2);
	void release(false);
	window.see('running', 2);
	window.see('stopped', 2);
	await window.shownOf(2);
	assert.equal(window.shown.length, 2);
});

test('the end of a stage is reported by its pipeline, unless the stage was started on its own', limit, async () => {
	const { ends, see, shown, shownOf } = openWindow();
	const stage = '/runs/p/stage-of-p';
	see('running', 1, true, stage);
	see('finished', 1, true, stage);
	see('running');
	see('finished');
	await shownOf(1);
	assert.equal(shown.length, 1);
	const release = ends.hold(stage);
	see('running', 2, true, stage);
	await release(false);
	see('stopped', 2, true, stage);
	await shownOf(2);
	assert.match(shown[1] ?? '', /stopped/);
});

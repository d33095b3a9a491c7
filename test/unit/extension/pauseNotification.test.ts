import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Emitter } from '../../../src/base/event.ts';
import type { RunView } from '../../../src/extension/runView.ts';

const { PauseNotification } = await import('../../../src/extension/pauseNotification.ts');

const root = await mkdtemp(join(tmpdir(), 'pauses-'));
after(() => rm(root, { recursive: true, force: true }));

function openWindow(storage: string) {
	const changed = new Emitter<void>();
	const shown: string[] = [];
	const did: string[] = [];
	let runs: RunView[] = [];
	const notification = new PauseNotification({
		store: {
			get own() {
				return runs;
			},
			onDidChange: changed.event,
		},
		notices: {
			warning: async (text, actions) => {
				shown.push(text);
				for (const action of actions ?? []) await action.run();
			},
		},
		storage: { fsPath: storage } as never,
		openDashboard: (folder) => did.push(`dashboard ${folder}`),
		openLog: async (view) => void did.push(`log ${view.folder}`),
		continue: (view) => did.push(`continue ${view.folder}`),
	});
	const see = (status: RunView['status'], pause?: { message: string; action?: string; time: number }) => {
		runs = [{ folder: '/runs/a', status, record: { id: 'r', name: 'sums', ...(pause ? { pause } : {}) } } as never];
		changed.fire();
	};
	/** Resolves once `count` notifications have been shown; claiming a notification uses a file. */
	const shownOf = async (count: number) => {
		while (shown.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
		await new Promise((resolve) => setTimeout(resolve, 50));
		assert.equal(shown.length, count);
	};
	return { notification, see, shown, shownOf, did };
}

const pause = { message: 'Reward "f" failed on 16 of 16 rows: [down](command:x).', action: 'Continue.', time: 1 };

test('a run that paused itself is reported once, by one window, with the available actions', {
	timeout: 10_000,
}, async () => {
	const storage = join(root, 'one');
	const first = openWindow(storage);
	const second = openWindow(storage);
	first.see('running');
	first.see('paused');
	assert.deepEqual(first.shown, []);
	first.see('paused', pause);
	first.see('paused', pause);
	await first.shownOf(1);
	second.see('paused', pause);
	await second.shownOf(0);
	assert.deepEqual(first.shown, ['sums is paused: Reward "f" failed on 16 of 16 rows: [down] (command:x). Continue.']);
	assert.deepEqual(second.shown, []);
	assert.deepEqual(first.did, ['dashboard /runs/a', 'continue /runs/a', 'log /runs/a']);
	// The run failed again after it continued.
	first.see('running');
	first.see('paused', { ...pause, time: 2 });
	await first.shownOf(2);
	// A leftover pause in the record of an ended run is ignored.
	first.see('crashed', { ...pause, time: 3 });
	await first.shownOf(2);
	first.notification.dispose();
	first.see('paused', { ...pause, time: 4 });
	await first.shownOf(2);
	second.notification.dispose();
});

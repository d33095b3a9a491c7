import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import type { PipelineView } from '../../../../src/runs/pipeline/pipelineView.ts';

const { PipelineNotification } = await import('../../../../src/extension/pipelines/pipelineNotification.ts');

const limit = { timeout: 60_000 };
const root = await mkdtemp(join(tmpdir(), 'pn-'));
after(() => rm(root, { recursive: true, force: true }));

/** Opens a window with one pipeline, whose state the test sets. */
function openWindow(storage: string, memory = new Map<string, unknown>()) {
	const changed = new Emitter<void>();
	const shown: { text: string; actions: readonly string[] }[] = [];
	let waiting: (() => void) | null = null;
	let pipelines: PipelineView[] = [];
	const reply = async (text: string, actions: readonly { readonly title: string }[] = []) => {
		shown.push({ text, actions: actions.map(({ title }) => title) });
		waiting?.();
	};
	const window = new PipelineNotification({
		pipelines: {
			get own() {
				return pipelines;
			},
			onDidChange: changed.event,
		},
		notices: { information: reply, error: reply },
		memory: {
			keys: () => [],
			get: <T>(key: string, or?: T) => (memory.get(key) ?? or) as T,
			update: async (key: string, value: unknown) => void memory.set(key, value),
		},
		storage: { fsPath: storage } as never,
		...{ openStage() {}, openLog() {}, exportReport() {}, resume() {} },
	});
	const viewOf = (status: PipelineView['status'], attempt: number) =>
		({ folder: '/runs/p', name: 'story', status, record: { id: 'p', attempt, stages: [] }, stages: [] }) as never;
	const see = (status: PipelineView['status'], attempt = 1) => {
		pipelines = [viewOf(status, attempt)];
		changed.fire();
	};
	const shownOf = async (count: number) => {
		while (shown.length < count) {
			await new Promise<void>((resolve) => {
				waiting = resolve;
			});
		}
	};
	const expect = (attempt = 1) => {
		const view = viewOf('running', attempt) as PipelineView;
		window.expect(view.folder, view.record);
	};
	return { see, shown, shownOf, expect, memory };
}

test('the end of a pipeline is reported once, by one window, with the available actions', limit, async () => {
	const storage = join(root, 'a');
	const [one, two] = [openWindow(storage), openWindow(storage)];
	for (const window of [one, two]) window.see('running');
	one.see('failed');
	await one.shownOf(1);
	two.see('failed');
	assert.deepEqual(one.shown[0]?.actions, ['Resume', 'Open Log']);
	for (const window of [one, two]) window.see('running', 2);
	two.see('finished', 2);
	await two.shownOf(1);
	assert.deepEqual(two.shown[0]?.actions, ['Export Report', 'Open Stage']);
	assert.match(two.shown[0]?.text ?? '', /^story finished/);
	assert.equal(one.shown.length, 1);
});

test('a pipeline that no window saw running is reported only in the window that started it', limit, async () => {
	const { see, shown, shownOf, expect } = openWindow(join(root, 'b'));
	see('finished');
	assert.equal(shown.length, 0);
	expect(2);
	see('stopped', 2);
	await shownOf(1);
	assert.deepEqual(shown[0]?.actions, ['Resume', 'Open Stage']);
});

test('a pipeline that ended while the window was closed is reported when it reopens', limit, async () => {
	const storage = join(root, 'c');
	const before = openWindow(storage);
	before.see('running');
	const back = openWindow(storage, before.memory);
	back.see('crashed');
	await back.shownOf(1);
	assert.match(back.shown[0]?.text ?? '', /its runner exited/);
});

import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import { workspace } from '../vscodeStandIn.ts';

const { RewardFileList } = await import('../../../../src/extension/rewards/rewardFileList.ts');

type Uri = { readonly scheme: string; readonly fsPath: string };
const uri = (fsPath: string): Uri => ({ scheme: 'file', fsPath });
const created = new Emitter<Uri>();
const deleted = new Emitter<Uri>();
const written = new Emitter<Uri>();
const opened = new Emitter<{ readonly uri: Uri }>();
const folders = new Emitter<void>();
let disk: string[] = [];
/** Delays a search until the test completes it. */
let search: (() => Promise<void>) | null = null;

before(() =>
	Object.assign(workspace, {
		createFileSystemWatcher: () => ({
			onDidCreate: created.event,
			onDidDelete: deleted.event,
			onDidChange: written.event,
			dispose() {},
		}),
		onDidOpenTextDocument: opened.event,
		onDidChangeWorkspaceFolders: folders.event,
		getWorkspaceFolder: ({ fsPath }: Uri) => (fsPath.startsWith('/w/') ? {} : undefined),
		findFiles: async () => {
			const found = disk.map(uri);
			await search?.();
			return found;
		},
	}),
);

async function listed(): Promise<{ list: InstanceType<typeof RewardFileList>; changes: () => number }> {
	disk = ['/w/rewards/b.reward.py', '/w/a.reward.ts'];
	search = null;
	const list = new RewardFileList();
	let changes = 0;
	list.onDidChange(() => changes++);
	assert.deepEqual(await list.files(), ['/w/a.reward.ts', '/w/rewards/b.reward.py']);
	return { list, changes: () => changes };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('files are added and removed by events, except for those in runs and packages', async () => {
	const { list, changes } = await listed();
	created.fire(uri('/w/c.reward.ts'));
	created.fire(uri('/w/runs/one/d.reward.ts'));
	created.fire(uri('/w/.venv/e.reward.py'));
	created.fire(uri('/w/c.ts'));
	deleted.fire(uri('/w/a.reward.ts'));
	deleted.fire(uri('/w/never.reward.ts'));
	await settle();
	assert.deepEqual(await list.files(), ['/w/c.reward.ts', '/w/rewards/b.reward.py']);
	assert.equal(changes(), 2);
	list.dispose();
});

test('an event during a search is not lost', async () => {
	disk = [];
	const { promise, resolve } = Promise.withResolvers<void>();
	search = () => promise;
	const list = new RewardFileList();
	const files = list.files();
	created.fire(uri('/w/c.reward.ts'));
	resolve();
	await files;
	await settle();
	assert.deepEqual(await list.files(), ['/w/c.reward.ts']);
	list.dispose();
});

test('a file whose event was lost is found when it is opened or on the next search', async () => {
	const { list, changes } = await listed();
	disk.push('/w/new/c.reward.ts', '/w/new/d.reward.ts');
	opened.fire({ uri: uri('/w/new/c.reward.ts') });
	opened.fire({ uri: uri('/w/a.reward.ts') });
	opened.fire({ uri: uri('/elsewhere/e.reward.ts') });
	await settle();
	assert.equal((await list.files()).includes('/w/new/c.reward.ts'), true);
	assert.equal((await list.files()).length, 3);
	assert.equal(changes(), 1);
	await list.refresh();
	assert.equal((await list.files()).length, 4);
	assert.equal(changes(), 2);
	list.dispose();
});

test('a failed search is not cached', async () => {
	disk = ['/w/a.reward.ts'];
	search = () => Promise.reject(new Error('the search failed'));
	const list = new RewardFileList();
	await assert.rejects(list.files(), /the search failed/);
	search = null;
	assert.deepEqual(await list.files(), ['/w/a.reward.ts']);
	list.dispose();
});

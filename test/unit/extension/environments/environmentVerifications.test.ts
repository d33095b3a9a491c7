import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import { isInRun } from '../../../../src/runs/insideRun.ts';
import { Uri, window, workspace } from '../vscodeStandIn.ts';

const folder = await realpath(await mkdtemp(join(tmpdir(), 'verifications-')));
after(() => rm(folder, { recursive: true, force: true }));
const written = async (path: string): Promise<string> => {
	const file = join(folder, path);
	await mkdir(join(file, '..'), { recursive: true });
	await writeFile(file, '');
	return file;
};

const never = () => ({ dispose() {} });
const visible = new Emitter<void>();
const closed = new Emitter<unknown>();
const deleted = new Emitter<unknown>();
Object.assign(window, { visibleTextEditors: [], onDidChangeVisibleTextEditors: visible.event });
Object.assign(workspace, {
	...{ isTrusted: true, textDocuments: [], onDidGrantWorkspaceTrust: never, onDidChangeTextDocument: never },
	...{ onDidSaveTextDocument: never, onDidCloseTextDocument: closed.event },
	createFileSystemWatcher: () => ({ onDidDelete: deleted.event, dispose() {} }),
	fs: { stat: ({ fsPath }: Uri) => stat(fsPath) },
});
const { EnvironmentVerifications } = await import('../../../../src/extension/environments/environmentVerifications.ts');

const own = await written('own.env.py');
const copy = await written('runs/a/rewards/copy.env.py');
await written('runs/a/run.json');
const halfRun = await written('half/rewards/copy.env.py');
await written('half/run.json');

test('files in run folders are recognized, even through links', async () => {
	await written('runs/a/recipe.json');
	await symlink(join(folder, 'runs/a/rewards'), join(folder, 'linked'));
	assert.equal(await isInRun(copy), true);
	assert.equal(await isInRun(join(folder, 'linked/copy.env.py')), true);
	for (const file of [own, halfRun, '/nowhere/a.env.py']) assert.equal(await isInRun(file), false, file);
});

test('opening a copy in a run folder does not run it, and results of a deleted file are discarded', async (t) => {
	const hosts: string[] = [];
	const asked = new Emitter<void>();
	const pool = {
		hosts: async (file: string) => {
			hosts.push(file);
			asked.fire();
			throw new Error('no process in this test');
		},
	};
	const view = new EnvironmentVerifications(pool as never, {} as never);
	t.after(() => view.dispose());
	const once = new Promise<void>((resolve) => asked.event(resolve));
	Object.assign(window, {
		visibleTextEditors: [copy, own].map((path) => ({ document: { uri: Uri.file(path), isDirty: false } })),
	});
	visible.fire();
	await once;
	await view.session(own).settled();
	assert.deepEqual([view.get(own)?.phase, view.get(copy)?.phase], ['failed', 'idle']);
	await view.session(copy).verify();
	assert.deepEqual(hosts, [own, copy], 'the copy runs only on request');

	const changed: string[] = [];
	view.onDidChange((file) => changed.push(file));
	const forgotten = (file: string) =>
		new Promise<void>((resolve) => {
			view.onDidChange((one) => {
				if (one === file) resolve();
			});
		});
	closed.fire({ uri: Uri.file(copy) });
	await rm(own);
	const gone = forgotten(own);
	deleted.fire(Uri.file(own));
	await gone;
	assert.equal(view.get(own), undefined);
	assert.equal(view.get(copy)?.phase, 'failed', 'a closed file keeps its results');
	assert.deepEqual(changed, [own]);
});

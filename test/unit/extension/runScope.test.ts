import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { RunStore } from '../../../src/extension/runStore.ts';
import { writeRecord } from './fixtureRun.ts';
import { Uri, workspace } from './vscodeStandIn.ts';

const { RunScope } = await import('../../../src/extension/runScope.ts');

const root = await realpath(await mkdtemp(join(tmpdir(), 'scope-')));
after(() => rm(root, { recursive: true, force: true }));

function memoryOf(stored: unknown) {
	const memory = {
		stored,
		get: () => memory.stored,
		update: async (_: string, value: unknown) => {
			memory.stored = value;
		},
	};
	return memory;
}

function scopeOf(folders: string[], memory: ReturnType<typeof memoryOf>) {
	workspace.workspaceFolders = folders.map((path) => ({ uri: Uri.file(path) }));
	return new RunScope(memory as never);
}

test('a run belongs to the workspace that contains it, or in which it was started', async (t) => {
	const [project, link, own, other] = ['project', 'link', 'project/runs/a', 'elsewhere/runs/b'].map((path) =>
		join(root, path),
	);
	await writeRecord(own as string);
	await writeRecord(other as string);
	await mkdir(join(root, 'project2'));
	await symlink(project as string, link as string);
	const memory = memoryOf(['relative/path', 7]);
	const scope = scopeOf([link as string], memory);
	t.after(() => scope.dispose());
	const store = new RunStore(
		[{ list: async () => [own, other] as string[], onDidChange: () => ({ dispose() {} }) }],
		(error) => {
			throw error;
		},
		scope,
	);
	t.after(() => store.dispose());
	store.start();
	await store.ready;
	const folders = (views: typeof store.runs) => views.map(({ folder }) => folder);
	assert.deepEqual(folders(store.own), [own]);
	assert.deepEqual(folders(store.inUse), [own]);
	assert.ok(!store.isOwn(join(root, 'project2')), 'a folder whose name has the same prefix is not in scope');
	await store.require(other as string);
	assert.deepEqual(
		[folders(store.own), folders(store.inUse).length],
		[[own], 2],
		'a command can name a run outside the workspace',
	);
	await store.adopt(other as string);
	assert.equal(store.own.length, 2);
	const again = scopeOf([project as string], memory);
	t.after(() => again.dispose());
	assert.ok(again.includes(join(other as string, 'checkpoints')), 'the workspace remembers an adopted run');
	await mkdir(join(root, 'linking'));
	await symlink(join(root, 'elsewhere/runs'), join(root, 'linking/runs'));
	const linking = scopeOf([join(root, 'linking')], memoryOf(undefined));
	t.after(() => linking.dispose());
	await linking.ready();
	assert.ok(linking.includes(other as string), 'a runs folder that is a link is followed');
	assert.ok(!linking.includes(join(root, 'elsewhere/other')));
	const empty = scopeOf([], memoryOf(undefined));
	t.after(() => empty.dispose());
	assert.ok(empty.includes(other as string), 'a window without a folder shows every run');
});

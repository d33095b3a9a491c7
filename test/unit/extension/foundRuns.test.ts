import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, matchesGlob } from 'node:path';
import { after, test } from 'node:test';
import { Emitter } from '../../../src/base/event.ts';
import type { CommandResult } from '../../../src/extension/commandTable.ts';
import { commandIds } from '../../../src/extension/ids.ts';
import { root as projectRoot } from '../../scripts/paths.ts';
import { fixtureFolder, fixtures } from '../runs/importers/foreignFixtures.ts';
import { writeRecord } from './fixtureRun.ts';
import { commands, selections, Uri, workspace } from './vscodeStandIn.ts';

const { FoundRuns } = await import('../../../src/extension/foundRuns.ts');

const root = await realpath(await mkdtemp(join(tmpdir(), 'found-')));
after(() => rm(root, { recursive: true, force: true }));
const fixture = (name: string) => new URL(`../../fixtures/${name}`, import.meta.url);

const completed = new Emitter<CommandResult>();
const contexts: unknown[] = [];
commands.registerCommand('setContext', (key, value) => contexts.push([key, value]));

function foundIn(...folders: string[]) {
	workspace.workspaceFolders = folders.map((path) => ({ uri: Uri.file(path), name: basename(path) }));
	return new FoundRuns({ onDidComplete: completed.event, log: assert.fail });
}

test('lists runs of every trainer except ours, and opens a run with the reader most likely to support it', async (t) => {
	const project = join(root, 'project');
	await mkdir(project);
	await writeRecord(join(project, 'runs/own'));
	await writeFile(join(project, 'chat.jsonl'), '{"messages": [{"role": "user", "content": "2+2?"}]}\n');
	const found = foundIn(project);
	t.after(() => found.dispose());
	await found.search();
	assert.deepEqual(found.getChildren(), [], 'a file of messages may be a dataset rather than a run');
	assert.deepEqual(contexts.splice(0), [['reasoningLab.hasFoundRuns', false]]);

	await cp(fixture('verl'), join(project, 'outputs/verl'), { recursive: true });
	await cp(fixture('inspect'), join(project, 'logs'), { recursive: true });
	let redrawn = 0;
	found.onDidChangeTreeData(() => redrawn++);
	await found.search();
	await found.search();
	assert.equal(redrawn, 1, 'only changes redraw the list');
	assert.deepEqual(contexts.splice(0), [['reasoningLab.hasFoundRuns', true]]);
	const rows = found.getChildren();
	const texts = rows.map((folder) => {
		const item = found.getTreeItem(folder) as { label: unknown; description?: unknown };
		return [item.label, item.description];
	});
	assert.deepEqual(texts[0], ['logs', 'Inspect']);
	assert.ok(
		texts.slice(1).every(([label, title]) => /^outputs\/verl/.test(String(label)) && title === 'verl'),
		`${texts}`,
	);

	const opened: unknown[] = [];
	commands.registerCommand(commandIds.openAsRun, (...args) => opened.push(args));
	for (const folder of rows) {
		selections.set('reasoningLab.foundRuns', [folder]);
		await commands.executeCommand(found.getTreeItem(folder).command?.command ?? '');
	}
	assert.deepEqual(opened[0], [join(project, 'logs'), 'inspect']);
	assert.equal(opened.length, rows.length);

	await rename(join(project, 'outputs'), join(root, 'elsewhere'));
	await rm(join(project, 'logs'), { recursive: true });
	completed.fire({ id: commandIds.refreshRuns, result: undefined });
	await found.search();
	assert.deepEqual(found.getChildren(), []);
	assert.deepEqual(contexts.splice(0), [['reasoningLab.hasFoundRuns', false]]);
});

test('names the workspace folder of a run if there are several folders, and neutralizes file names', async (t) => {
	const [one, two] = [join(root, 'one'), join(root, 'two')];
	await cp(fixture('trl-run'), join(one, 'out\u202eput'), { recursive: true });
	await cp(fixture('trl-run'), two, { recursive: true });
	const found = foundIn(one, two);
	t.after(() => found.dispose());
	await found.search();
	const labels = found.getChildren().map((folder) => String(found.getTreeItem(folder).label));
	assert.equal(labels[1], 'two');
	assert.match(labels[0] ?? '', /^one\/out/);
	assert.doesNotMatch(labels[0] ?? '', /\u202e/);
});

test('a search ends when the window closes, and another one does not start', async () => {
	const found = foundIn(new URL('../../fixtures', import.meta.url).pathname);
	const first = found.search();
	found.dispose();
	await first;
	await found.search();
	assert.deepEqual(found.getChildren(), []);
});

test('a workspace with a run activates the extension, so that the list appears automatically', () => {
	const { activationEvents } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
		activationEvents: string[];
	};
	const globs = activationEvents.flatMap((event) => /^workspaceContains:(.+)$/.exec(event)?.[1] ?? []);
	for (const { name } of fixtures) {
		// The names of the folders that these programs write to.
		const parent = /^trackio/.test(name) ? 'trackio' : /^mlflow /.test(name) ? 'mlruns/0' : 'run';
		const files = readdirSync(fixtureFolder(name), { recursive: true }).map((path) => `${parent}/${path}`);
		assert.ok(
			files.some((path) => globs.some((glob) => matchesGlob(path, glob))),
			`${name}: ${files}`,
		);
	}
	assert.ok(!globs.some((glob) => matchesGlob('app/package.json', glob) || matchesGlob('app/src/main.ts', glob)));
});

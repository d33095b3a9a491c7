import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { decodeResolvedRecipe } from '../../../src/core/recipe/resolve.ts';
import { prepareChild, prepareRun } from '../../../src/runs/prepareRun.ts';
import { parseOverride } from '../../../src/runs/recipeOverrides.ts';
import { checkRewardCopies, hashRewards } from '../../../src/runs/rewardCopies.ts';
import { readResolvedRecipe } from '../../../src/runs/runReader.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, temporaryFolder } from './runFixtures.ts';

const recipe = (rewards: object[]) => ({
	name: 'copies',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	rewards,
	stages: [{ type: 'grpo', steps: 4, learning_rate: 0.0001 }],
});

/** Creates a project with the given files and its recipe at the root. */
async function project(context: TestContext, rewards: object[], files: Record<string, string>): Promise<string> {
	const folder = await realpath(await temporaryFolder(context));
	await addFiles(folder, { 'r.recipe.json': JSON.stringify(recipe(rewards)), ...files });
	return folder;
}

async function addFiles(folder: string, files: Record<string, string>): Promise<void> {
	for (const [path, text] of Object.entries(files)) {
		await mkdir(dirname(join(folder, path)), { recursive: true });
		await writeFile(join(folder, path), text);
	}
}

async function filesBelow(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	return entries
		.filter((entry) => entry.isFile())
		.map((entry) =>
			join(entry.parentPath, entry.name)
				.slice(folder.length + 1)
				.replaceAll('\\', '/'),
		)
		.sort();
}

const start = (folder: string) => prepareRun(join(folder, 'r.recipe.json'));

test('a reward file is copied with its imports in the original layout, and the recipe refers to the copies', async (context) => {
	const folder = await project(context, [{ file: 'rewards/short.reward.ts', name: 'short', weight: 0.5 }], {
		'rewards/short.reward.ts':
			"import type { Reward } from 'reasoning-lab';\nimport { limit } from './lib/limit.ts';\n// @file words.txt\nexport const short: Reward = () => limit;",
		'rewards/lib/limit.ts': "export { limit } from '../../shared/value.js';",
		'shared/value.js': "export * from './loop.js';",
		'shared/loop.js': "import './value.js'; import data from './data.json' with { type: 'json' };",
		'shared/data.json': '{}',
		'shared/package.json': '{"type": "module"}',
		'rewards/words.txt': 'a b',
		'rewards/unused.ts': '',
		'package.json': '{}',
	});
	const { folder: run, recipe: resolved } = await start(folder);
	assert.deepEqual(await filesBelow(join(run, 'rewards')), [
		'package.json',
		'rewards/lib/limit.ts',
		'rewards/short.reward.ts',
		'rewards/words.txt',
		'shared/data.json',
		'shared/loop.js',
		'shared/package.json',
		'shared/value.js',
	]);
	assert.deepEqual(resolved.rewards, [{ file: 'rewards/rewards/short.reward.ts', name: 'short', weight: 0.5 }]);
	const read = decodeResolvedRecipe(await readResolvedRecipe(run));
	assert.deepEqual(read, resolved);
	assert.equal(read.rewardFiles?.length, 8);
	await checkRewardCopies(run, read);
	// A moved run remains complete.
	assert.ok(!JSON.stringify(read).includes(folder));
});

test('Python modules below the reward folder are copied, and others are not', async (context) => {
	const folder = await project(context, [{ file: 'rewards/short.reward.py' }], {
		'rewards/short.reward.py':
			'import json, helpers\nfrom pkg.deep import tool\nfrom pkg import other\nimport space.inner\nfrom ..outside import x\n',
		'rewards/helpers.py': 'import second',
		'rewards/second.py': '',
		'rewards/pkg/__init__.py': 'from . import started',
		'rewards/pkg/started.py': '',
		'rewards/pkg/deep/__init__.py': '',
		'rewards/pkg/deep/tool.py': 'from ..other import y\nfrom ... import helpers',
		'rewards/pkg/other.py': '',
		'rewards/pkg/unused.py': '',
		'rewards/space/inner.py': '',
		'outside.py': '',
	});
	const { folder: run, recipe: resolved } = await start(folder);
	assert.deepEqual(await filesBelow(join(run, 'rewards')), [
		'helpers.py',
		'pkg/__init__.py',
		'pkg/deep/__init__.py',
		'pkg/deep/tool.py',
		'pkg/other.py',
		'pkg/started.py',
		'second.py',
		'short.reward.py',
		'space/inner.py',
	]);
	assert.deepEqual(resolved.rewards, [{ file: 'rewards/short.reward.py', name: null, weight: null }]);
});

test('rewards in two folders keep their relative locations, and without reward files there is no folder', async (context) => {
	const folder = await project(context, [{ file: 'a/x.reward.ts' }, { use: 'accuracy' }, { file: 'b/y.reward.py' }], {
		'a/x.reward.ts': '',
		'b/y.reward.py': '',
	});
	const { recipe: resolved } = await start(folder);
	assert.deepEqual(
		resolved.rewards.map((reward) => ('file' in reward ? reward.file : reward.use)),
		['rewards/a/x.reward.ts', 'accuracy', 'rewards/b/y.reward.py'],
	);
	const plain = await project(context, [{ use: 'accuracy' }], {});
	const { folder: run, recipe: without } = await start(plain);
	assert.deepEqual(await readdir(run), ['recipe.json']);
	assert.ok(!('rewardFiles' in without));
});

test('a file that cannot be copied is reported by name, and no run folder is created', async (context) => {
	const cases: [Record<string, string>, RegExp][] = [
		[{ 'x.reward.ts': '// @file gone.txt' }, /x\.reward\.ts, line 1: "@file gone\.txt" does not refer to a file/],
		[{ 'x.reward.ts': "import '../../../../../../../../../../../../usr/bin/env'" }, /is outside its project/],
		[{ 'x.reward.ts': 'x'.repeat((16 << 20) + 1) }, /is 16777217 bytes; the limit is/],
	];
	if (process.platform === 'linux') cases[1]?.[0] && assert.ok((await readFile('/usr/bin/env')).length > 0);
	else cases.splice(1, 1);
	for (const [files, message] of cases) {
		const folder = await project(context, [{ file: 'x.reward.ts' }], files);
		await assert.rejects(start(folder), (error: Failure) => {
			assert.ok(error instanceof Failure);
			assert.match(error.message, message);
			return true;
		});
		assert.ok(!(await readdir(folder)).includes('runs'));
	}
	const many = Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`m${i}.ts`, '']));
	const all = Object.keys(many).map((name) => `import './${name}';`);
	const folder = await project(context, [{ file: 'x.reward.ts' }], { ...many, 'x.reward.ts': all.join('\n') });
	await assert.rejects(start(folder), { message: /more than 500 local files/ });
	const odd = await project(context, [{ file: 'x.reward.ts' }], { 'x.reward.ts': "import './pipe.ts'" });
	if (process.platform !== 'win32') {
		execFileSync('mkfifo', [join(odd, 'pipe.ts')]);
		// A pipe is not a module: nothing blocks on it, and the loader reports it as missing.
		assert.equal((await start(odd)).recipe.rewardFiles?.length, 1);
	}
});

test('a linked module is copied as a regular file with the same content', async (context) => {
	const folder = await project(context, [{ file: 'x.reward.py' }, { file: 'y.reward.ts' }], {
		'x.reward.py': 'import common',
		'y.reward.ts': "import './common.ts'",
		'lib/common.py': '# python',
		'lib/common.ts': "import './near.ts'",
		'lib/near.ts': '',
	});
	await symlink(join(folder, 'lib/common.py'), join(folder, 'common.py'));
	await symlink(join(folder, 'lib/common.ts'), join(folder, 'common.ts'));
	const { folder: run, recipe: resolved } = await start(folder);
	assert.deepEqual(await filesBelow(join(run, 'rewards')), [
		'common.py',
		'lib/common.ts',
		'lib/near.ts',
		'x.reward.py',
		'y.reward.ts',
	]);
	await checkRewardCopies(run, resolved);
});

test('copies that were modified, removed, added or replaced by links are reported', async (context) => {
	const files = { 'x.reward.ts': "import './lib.ts';", 'lib.ts': 'export {}' };
	const folder = await project(context, [{ file: 'x.reward.ts' }], files);
	const spoil: [string, (run: string) => Promise<unknown>, RegExp][] = [
		['mismatch', (run) => writeFile(join(run, 'rewards/lib.ts'), 'EXPORT {}'), /lib\.ts has changed since/],
		['mismatch', (run) => truncate(join(run, 'rewards/lib.ts'), 3), /lib\.ts has changed since/],
		['mismatch', (run) => rm(join(run, 'rewards/lib.ts')), /lib\.ts was removed since/],
		['mismatch', (run) => rm(join(run, 'rewards'), { recursive: true }), /was removed since/],
		['mismatch', (run) => writeFile(join(run, 'rewards/json.py'), ''), /json\.py was added since/],
		[
			'invalid',
			async (run) => {
				await rm(join(run, 'rewards/lib.ts'));
				await symlink(join(folder, 'lib.ts'), join(run, 'rewards/lib.ts'));
			},
			/neither a file nor a folder/,
		],
		[
			'invalid',
			async (run) => {
				await rm(join(run, 'rewards'), { recursive: true });
				await symlink(folder, join(run, 'rewards'));
			},
			/is not a folder|is neither|was added/,
		],
	];
	for (const [reason, change, message] of spoil) {
		const { folder: run, recipe: resolved } = await start(folder);
		await checkRewardCopies(run, resolved);
		await change(run);
		await assert.rejects(checkRewardCopies(run, resolved), (error: Failure) => {
			assert.match(error.message, message);
			if (reason === 'mismatch') assert.equal(error.reason, reason);
			return true;
		});
	}
	// Python would load the compiled module instead of the source.
	const { folder: run, recipe: resolved } = await start(folder);
	await mkdir(join(run, 'rewards/__pycache__'));
	await checkRewardCopies(run, resolved);
	await writeFile(join(run, 'rewards/__pycache__/lib.cpython-311.pyc'), '');
	await assert.rejects(checkRewardCopies(run, resolved), { reason: 'mismatch' });
});

test('an external recipe cannot reference a file outside the copies', async (context) => {
	const folder = await project(context, [{ file: 'x.reward.ts' }], { 'x.reward.ts': '' });
	const { folder: run, recipe: resolved } = await start(folder);
	for (const file of ['../x.reward.ts', 'rewards/../../x.reward.ts', 'rewards/y.ts']) {
		const rewards = [{ file, name: null, weight: null }];
		await assert.rejects(checkRewardCopies(run, { ...resolved, rewards }), { reason: 'invalid' }, file);
		const listed = [{ path: file, bytes: 0, sha256: resolved.rewardFiles?.[0]?.sha256 as string }];
		const attempt = checkRewardCopies(run, { ...resolved, rewards, rewardFiles: listed });
		await assert.rejects(attempt, Failure, file);
	}
});

test('the hash depends on the entries and on every copy', async (context) => {
	const folder = await project(context, [{ file: 'x.reward.ts' }], { 'x.reward.ts': "import './l.ts'", 'l.ts': '1' });
	const first = (await start(folder)).recipe;
	assert.equal(hashRewards((await start(folder)).recipe), hashRewards(first));
	await writeFile(join(folder, 'l.ts'), '2');
	assert.notEqual(hashRewards((await start(folder)).recipe), hashRewards(first));
	const weighted = first.rewards.map((reward) => ({ ...reward, weight: 3 }));
	assert.notEqual(hashRewards({ ...first, rewards: weighted }), hashRewards(first));
});

test("a run branched from a checkpoint uses the parent's copies, with new files next to them", async (context) => {
	const files = { 'x.reward.ts': "import './lib.ts';", 'lib.ts': 'export {}' };
	const folder = await project(context, [{ file: 'x.reward.ts' }, { use: 'accuracy' }], files);
	const { folder: parent, recipe: resolved } = await start(folder);
	const writer = await RunWriter.create(parent, initialRecord);
	await writeFile(join(await writer.beginCheckpoint(3), 'model.safetensors'), 'w');
	await writer.commitCheckpoint(3);
	await writer.close();
	// The sources may be deleted or edited by then.
	await rm(join(folder, 'lib.ts'));
	await writeFile(join(folder, 'x.reward.ts'), 'edited');
	const child = await prepareChild(parent, null);
	assert.deepEqual(child.recipe, resolved);
	assert.deepEqual(await filesBelow(join(child.folder, 'rewards')), ['lib.ts', 'x.reward.ts']);
	await checkRewardCopies(child.folder, child.recipe);
	assert.match(await readFile(join(child.folder, 'rewards/x.reward.ts'), 'utf8'), /import/);

	const changed = parseOverride(
		`rewards.1=${JSON.stringify({ file: join(folder, 'x.reward.ts'), name: null, weight: 1 })}`,
	);
	const both = await prepareChild(parent, 3, { set: [changed] });
	assert.deepEqual(await filesBelow(join(both.folder, 'rewards')), ['2/x.reward.ts', 'lib.ts', 'x.reward.ts']);
	assert.deepEqual(
		both.recipe.rewards.map((reward) => 'file' in reward && reward.file),
		['rewards/x.reward.ts', 'rewards/2/x.reward.ts'],
	);
	const replaced = parseOverride(`rewards.0.file=${join(folder, 'x.reward.ts')}`);
	const fresh = await prepareChild(parent, 3, { set: [replaced] });
	assert.deepEqual(await filesBelow(join(fresh.folder, 'rewards')), ['x.reward.ts']);
	assert.equal(await readFile(join(fresh.folder, 'rewards/x.reward.ts'), 'utf8'), 'edited');

	await writeFile(join(parent, 'rewards/lib.ts'), 'EXPORT {}');
	const before = await readdir(dirname(parent));
	await assert.rejects(prepareChild(parent, null), { reason: 'mismatch' });
	assert.deepEqual(await readdir(dirname(parent)), before);
});

import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { EnvironmentSession } from '../../../../src/extension/environments/environmentSession.ts';
import { isEnvironmentManifest, sessionSource } from '../../../../src/extension/environments/manifestFiles.ts';
import type { RewardHosts } from '../../../../src/rewards/rewardHosts.ts';
import { Uri, window, workspace } from '../vscodeStandIn.ts';

const { chooseEnvironment, findEnvironments } = await import(
	'../../../../src/extension/environments/environmentManifests.ts'
);

/** Creates a workspace with one environment of each kind, in which VS Code finds files by name. */
async function madeWorkspace(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
	const write = async (path: string, text: string) => {
		await mkdir(join(folder, path, '..'), { recursive: true });
		await writeFile(join(folder, path), text);
	};
	await write('a.env.py', '');
	await write('package/pyproject.toml', '[project]\nname = "a"\ndependencies = ["verifiers>=0.4"]\n');
	await write('other/pyproject.toml', '[project]\nname = "b"\ndependencies = ["numpy"]\n');
	await write('server/openenv.yaml', 'name: c\n');
	await write('server/pyproject.toml', '[project]\ndependencies = ["openenv-core", "verifiers"]\n');
	Object.assign(workspace, {
		findFiles: async (pattern: string) => {
			const names = await readdir(folder, { recursive: true });
			const wanted = pattern.includes('openenv') ? /(pyproject\.toml|openenv\.yaml)$/ : /\.env\.(py|ts)$/;
			return names.filter((name) => wanted.test(name)).map((name) => Uri.file(join(folder, name)));
		},
	});
	return folder;
}

test('environments in the workspace are found by their files and manifests', async () => {
	const folder = await madeWorkspace();
	const found = await findEnvironments();
	assert.deepEqual(
		found.map(({ fsPath }) => fsPath.slice(folder.length + 1)),
		['a.env.py', 'package/pyproject.toml', 'server/openenv.yaml'],
	);
	assert.equal(await isEnvironmentManifest(join(folder, 'other/pyproject.toml')), false);
	assert.equal(await isEnvironmentManifest(join(folder, 'a.env.py')), false);
	const { showQuickPick } = window;
	let items: readonly { label: string; description: string }[] = [];
	Object.assign(window, {
		showQuickPick: async (given: typeof items) => {
			items = given;
			return undefined;
		},
	});
	assert.equal(await chooseEnvironment(), undefined);
	Object.assign(window, { showQuickPick });
	assert.deepEqual(
		items.map(({ label, description }) => [label.split('/').at(-1), description]),
		[
			['a.env.py', ''],
			['package', 'verifiers'],
			['server', 'OpenEnv'],
		],
	);
});

test('a session for a manifest verifies its folder, and shows why if it cannot', async () => {
	const folder = await madeWorkspace();
	const manifest = join(folder, 'package/pyproject.toml');
	assert.deepEqual(await sessionSource(manifest), { kind: 'verifiers', file: join(folder, 'package') });
	assert.deepEqual(await sessionSource(join(folder, 'a.env.py')), { kind: 'file', file: join(folder, 'a.env.py') });
	const asked: (string | undefined)[] = [];
	const session = new EnvironmentSession(manifest, {
		hosts: async (file, python): Promise<RewardHosts> => {
			asked.push(file, python);
			throw new Error('no hosts');
		},
		limits: () => ({}),
		text: () => undefined,
		log: () => {},
	});
	await session.verify();
	assert.deepEqual(asked, [manifest, undefined]);
	assert.equal(session.state.phase, 'failed');
	session.dispose();
});

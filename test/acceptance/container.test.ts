/**
 * Lints the Dockerfile with two linters from the npm registry. If a container engine can pull images, also builds it
 * with a package for Linux and trains a run in it.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { smallRecipe } from '../e2e/smallRecipe.ts';
import { makePackage } from '../scripts/package.ts';
import { cache, root } from '../scripts/paths.ts';

const linters = join(cache, 'container-linters');
const folder = join(root, 'docs/container');
const image = 'node:24.21.0-bookworm-slim';

before(() => {
	const packages = ['dockerfile-utils@0.16.3', 'dockerfilelint@1.8.0'];
	execFileSync('npm', ['install', '--silent', '--no-save', '--ignore-scripts', '--prefix', linters, ...packages]);
});

test('linters find nothing wrong with the Dockerfile', async () => {
	const text = await readFile(join(folder, 'Dockerfile'), 'utf8');
	const { validate } = createRequire(join(linters, 'x.js'))('dockerfile-utils') as {
		validate(text: string): unknown[];
	};
	assert.deepEqual(validate(text), []);
	assert.notDeepEqual(validate(text.replace('USER node', 'USR node')), []);
	const program = join(linters, 'node_modules/dockerfilelint/bin/dockerfilelint');
	const { stdout } = spawnSync(process.execPath, [program, '--output', 'json', join(folder, 'Dockerfile')], {
		encoding: 'utf8',
	});
	const { files } = JSON.parse(stdout) as { files: { issues: { line: string; title: string }[] }[] };
	// dockerfilelint mistakes the name of an earlier stage for an image without a tag.
	const issues = files.flatMap((file) => file.issues).filter(({ title }) => title !== 'Base Image Missing Tag');
	assert.deepEqual(issues, []);
});

const pulls = spawnSync('docker', ['pull', '--quiet', image], { encoding: 'utf8', timeout: 120_000 }).status === 0;

test('the image trains a run', { skip: pulls ? false : `cannot pull ${image} here` }, async (t) => {
	const place = await mkdtemp(join(tmpdir(), 'rl-container-'));
	t.after(() => rm(place, { recursive: true, force: true }));
	await cp(folder, place, { recursive: true });
	await makePackage(`linux-${process.arch}`, join(place, `reasoning-lab-linux-${process.arch}-0.0.0.vsix`));
	await writeFile(join(place, 'small.recipe.json'), JSON.stringify(smallRecipe(4)));
	const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8', stdio: 'pipe' });
	docker('build', '--quiet', '--target', 'cpu', '--tag', 'reasoning-lab-check', place);
	t.after(() => docker('image', 'rm', '--force', 'reasoning-lab-check'));
	const mount = `type=bind,source=${join(place, 'small.recipe.json')},target=/work/small.recipe.json`;
	const output = docker('run', '--rm', '--mount', mount, 'reasoning-lab-check', 'run', 'small.recipe.json');
	assert.match(output, /finished/);
});

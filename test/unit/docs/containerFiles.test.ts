import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'jsonc-parser';
import { root } from '../../scripts/paths.ts';

const folder = join(root, 'docs/container');
const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
/** Instructions with their arguments, continued lines joined, without comments. */
const instructions = dockerfile
	.split('\n')
	.filter((line) => !line.startsWith('#'))
	.join('\n')
	.replaceAll('\\\n', ' ')
	.split('\n')
	.filter((line) => line.trim() !== '')
	.map((line) => /^([A-Z]+)\s+(.*)$/.exec(line.trim())?.slice(1) as [string, string]);
const of = (name: string) => instructions.filter(([instruction]) => instruction === name).map(([, rest]) => rest);

test('images in the Dockerfile have exact versions, an unprivileged user, and no secrets', () => {
	const stages = new Set<string>();
	for (const from of of('FROM')) {
		const [, image = '', stage = ''] = /^(\S+) AS ([a-z]+)$/.exec(from) ?? [];
		assert.ok(stages.has(image) || /^[\w./-]+:\d+\.\d+\.\d+[\w.-]*$/.test(image), from);
		stages.add(stage);
	}
	assert.deepEqual([...stages], ['package', 'cpu', 'cuda']);
	assert.deepEqual(of('USER'), ['node']);
	// Nothing runs as root after that.
	const last = instructions.findIndex(([instruction]) => instruction === 'USER');
	assert.deepEqual(
		instructions.slice(last).filter(([instruction]) => instruction === 'RUN' || instruction === 'COPY'),
		[],
	);
	for (const run of of('RUN').filter((command) => command.includes('apt-get install'))) {
		assert.match(run, /--no-install-recommends/);
		assert.match(run, /rm -rf \/var\/lib\/apt\/lists/);
	}
	assert.deepEqual(of('ARG'), []);
	for (const text of [...of('ENV'), ...of('COPY')])
		assert.doesNotMatch(text, /token|secret|password|api_?key|\.env\b/i);
	// docker stop has the effect of Ctrl+C: the run saves a checkpoint.
	assert.deepEqual(of('STOPSIGNAL'), ['SIGINT']);
});

test('development containers use the targets of the Dockerfile', () => {
	for (const kind of ['cpu', 'cuda']) {
		const text = readFileSync(join(folder, kind, 'devcontainer.json'), 'utf8');
		const { build, remoteUser, mounts, runArgs } = parse(text) as Record<string, never>;
		assert.deepEqual(build, { dockerfile: '../Dockerfile', context: '..', target: kind });
		assert.equal(remoteUser, 'node');
		assert.match(String(mounts), /target=\/home\/node\/\.reasoning-lab,/);
		assert.equal(runArgs !== undefined, kind === 'cuda');
	}
	assert.ok(of('ENV').includes('REASONING_LAB_HOME=/home/node/.reasoning-lab'));
});

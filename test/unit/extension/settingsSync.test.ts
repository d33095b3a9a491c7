import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/paths.ts';

interface Property {
	readonly scope: string;
	readonly type: string;
	readonly ignoreSync?: boolean;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const properties = Object.entries<Property>(manifest.contributes.configuration.properties);

test('Settings Sync copies no setting that names a program or a server, or that gives consent', () => {
	const kept = properties
		.filter(([, { scope, ignoreSync }]) => scope.startsWith('machine') || ignoreSync === true)
		.map(([id]) => id.replace('reasoningLab.', ''));
	assert.deepEqual(kept.toSorted(), [
		'mcp.allowActions',
		'node.path',
		'pipelines.parallel',
		'policies',
		'pytorch.device',
		'pytorch.folder',
		'pytorch.indexUrl',
		'pytorch.installer',
		'pytorch.pipArguments',
		'pytorch.python',
		'research.searchServer',
		'rewards.python',
		'sandbox.mode',
	]);
	// Only numbers, choices, and text that means the same everywhere are copied.
	const texts = properties.filter(
		([id, { type }]) => type === 'string' && !kept.includes(id.replace('reasoningLab.', '')),
	);
	assert.deepEqual(texts.map(([id]) => id.replace('reasoningLab.', '')).toSorted(), [
		'device.whenBusy',
		'feedback.rater',
		'notifications.runEnd',
		'searches.folder',
	]);
});

test('docs/remote.md names the settings that stay on a machine', () => {
	const page = readFileSync(join(root, 'docs/remote.md'), 'utf8');
	for (const name of [
		'node.path',
		'rewards.python',
		'pytorch.*',
		'sandbox.mode',
		'policies',
		'pipelines.parallel',
		'mcp.allowActions',
	]) {
		assert.ok(page.includes(`\`${name}\``), name);
	}
});

import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/paths.ts';
import { window } from './vscodeStandIn.ts';

const { showInputBox, showQuickPick } = await import('../../../src/extension/quickInput.ts');

test('quick picks and input boxes stay open when they lose focus', async () => {
	const given: unknown[] = [];
	const ask = async (...args: unknown[]) => given.push(args.at(-1));
	Object.assign(window, { showQuickPick: ask, showInputBox: ask });
	await showQuickPick([{ label: 'a' }], { title: 'Which', canPickMany: true });
	await showInputBox({ title: 'What', value: 'x' });
	assert.deepEqual(given, [
		{ title: 'Which', canPickMany: true, ignoreFocusOut: true },
		{ title: 'What', value: 'x', ignoreFocusOut: true },
	]);
});

test('all quick picks and input boxes go through the wrapper', () => {
	const files = globSync('src/**/*.ts', { cwd: root });
	const asking = files.filter((file) =>
		/window\s*\.show(QuickPick|InputBox)\(/.test(readFileSync(join(root, file), 'utf8')),
	);
	assert.deepEqual(asking, [join('src', 'extension', 'quickInput.ts')]);
	const making = files.filter((file) => /\.create(QuickPick|InputBox)\b/.test(readFileSync(join(root, file), 'utf8')));
	for (const file of making) assert.match(readFileSync(join(root, file), 'utf8'), /ignoreFocusOut = true/, file);
});

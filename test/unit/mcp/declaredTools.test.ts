import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tools } from '../../../src/mcp/tools.ts';
import { languageModelTools } from '../../scripts/languageModelTools.ts';
import { root } from '../../scripts/paths.ts';

interface Declared {
	readonly name: string;
	readonly toolReferenceName: string;
	readonly tags: readonly string[];
	readonly when?: string;
}

test('package.json declares the tools, and those that act need permission and are confirmed (run npm run docs to update it)', () => {
	const { contributes } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		contributes: { languageModelTools: Declared[] };
	};
	assert.deepEqual(contributes.languageModelTools, languageModelTools());
	const names = contributes.languageModelTools.map(({ name }) => name);
	assert.ok(names.every((name) => /^[\w-]{1,64}$/.test(name)));
	for (const { name, effect } of tools) {
		const declared = contributes.languageModelTools.find((one) => one.name === `reasoninglab_${name}`);
		const reads = effect === 'none' || effect === 'show';
		assert.equal(
			declared?.when?.includes('isWorkspaceTrusted && config.reasoningLab.mcp.allowActions') ?? false,
			!reads,
		);
		assert.equal(declared?.tags.includes('reasoning-lab-confirmed'), !reads && effect !== 'watch', name);
	}
});

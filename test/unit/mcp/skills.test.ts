import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { findVerb } from '../../../src/cli/verbs.ts';
import { toolsFor } from '../../../src/mcp/tools.ts';
import { root } from '../../scripts/paths.ts';

/** Skills for chat agents: everything they refer to must exist, because an agent would not notice a rename. */

const { contributes } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
	contributes: { chatSkills: { path: string }[] };
};
const tools = new Set(toolsFor(true, true).map(({ name }) => name));

test('package.json lists every skill', () => {
	const listed = contributes.chatSkills.map(({ path }) => basename(dirname(path)));
	assert.deepEqual(listed.toSorted(), readdirSync(join(root, 'media/skills')).toSorted());
});

for (const { path } of contributes.chatSkills) {
	const text = readFileSync(join(root, path), 'utf8');

	test(`${path} has the name of its folder and a description`, () => {
		const header = parse(/^---\n(.*?)\n---\n/s.exec(text)?.[1] ?? '') as { name: string; description: string };
		assert.equal(header.name, basename(dirname(path)));
		// Limits of the format for skills, which clients enforce.
		assert.match(header.name, /^[a-z\d-]{1,64}$/);
		assert.ok(header.description.length > 0 && header.description.length <= 1024);
	});

	test(`${path} names tools, commands and pages that exist`, async () => {
		const mentioned = [...text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name as string);
		const unknown = mentioned.filter((name) => !tools.has(name));
		assert.deepEqual(unknown, []);
		const commands = [...text.matchAll(/reasoning-lab ([a-z][a-z-]*)/g)].map(([, name]) => name as string);
		assert.ok(commands.length > 0);
		for (const command of commands) await findVerb(command);
		const pages = [...text.matchAll(/docs:\/\/reasoning-lab\/([\w-]+\.md)/g)].map(([, page]) => page as string);
		assert.ok(pages.length > 0);
		for (const page of pages) assert.ok(existsSync(join(root, 'docs', page)), page);
	});
}

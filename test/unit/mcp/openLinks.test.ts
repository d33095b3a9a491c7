import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withLinks } from '../../../src/mcp/openLinks.ts';

test('every address gets a link, and quoted text and other values stay as they are', () => {
	const link = (address: string) => `x:${address}`;
	const answer = {
		address: 'rl://a',
		recipe_address: 'rl://a/file/recipe.json',
		items: [{ address: 'rl://a/step/1', values: { quoted_text: { address: 'rl://b' } } }, { address: null }, 3, null],
		addresses: ['rl://a/step/2', null, 7],
		email_address: 'someone@example.com',
	};
	assert.deepEqual(withLinks(answer, link), {
		...answer,
		link: 'x:rl://a',
		recipe_link: 'x:rl://a/file/recipe.json',
		items: [{ ...(answer.items[0] as object), link: 'x:rl://a/step/1' }, { address: null }, 3, null],
		links: ['x:rl://a/step/2', null, null],
	});
});

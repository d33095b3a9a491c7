import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
	actionConfirmation,
	type ConfirmedTool,
	describedActions,
} from '../../../../src/extension/agents/actionConfirmation.ts';
import { tools } from '../../../../src/mcp/tools.ts';
import { root } from '../../../scripts/paths.ts';

const { contributes } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
	contributes: { languageModelTools: ConfirmedTool[] };
};

function confirm(name: string, input: object): string {
	const declared = contributes.languageModelTools.find((tool) => tool.name === `reasoninglab_${name}`);
	assert.ok(declared, name);
	const { title, message } = actionConfirmation({ ...declared, name }, input, ['/work/project']);
	assert.equal(title, `${declared.displayName}?`);
	return message;
}

test('a confirmation states what the call will do with its arguments and the defaults', () => {
	assert.match(
		confirm('start_run', { recipe: 'a.recipe.json', seed: 7, set: ['stages.0.steps=5'] }),
		/^Starts a training run from the recipe ` a\.recipe\.json `, with seed ` 7 `, with ` stages\.0\.steps=5 `\. Uses the device.*\n\nArguments, with paths relative to ` \/work\/project `/s,
	);
	assert.match(confirm('verify_reward', { file: 'a.reward.py' }), /on at most ` 100 ` rows: ` data `/);
	assert.match(
		confirm('start_search', { run: 'a', problem: '2 + 2?' }),
		/` newest `.*` 200000 ` tokens.*"problem": "2 \+ 2\?"/s,
	);
	assert.match(
		confirm('write_report', { run: 'a', name: 'b', text: 'cd', replace: true }),
		/` b\.md `.*2 characters.*replacing/,
	);
	assert.match(confirm('write_report', { run: 'a', name: 'b', text: 'x'.repeat(5000) }), /\(3000 more characters\)/);
});

test('every described action exists, and other tools are described by their declaration', () => {
	const acting = tools.filter(({ effect }) => ['code', 'control', 'write'].includes(effect)).map(({ name }) => name);
	assert.deepEqual(
		describedActions.filter((name) => !acting.includes(name)),
		[],
	);
	const other = { name: 'new_tool', displayName: 'New tool', modelDescription: 'Runs something.' };
	assert.match(actionConfirmation(other, { file: 'a' }, []).message, /^Runs something\.\n/);
});

test('arguments can neither hide nor imitate the text of the confirmation', () => {
	const hostile = 'a` b\n\n```\n# Reads only\n[x](command:y)\u202e\u{e0041}';
	for (const name of describedActions) {
		const message = confirm(name, { run: hostile, file: hostile, recipe: hostile, job: hostile, name: hostile });
		assert.ok(!/[\u202e]|\u{e0041}/u.test(message), name);
		// Everything outside code spans is our own text.
		const outside = message.replace(/(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, '');
		assert.doesNotMatch(outside, /Reads only|command:|`/, name);
	}
	for (const wrong of [null, 7, [], {}]) {
		assert.match(confirm('stop_run', { run: wrong }), /^Stops the run `/);
		assert.match(confirm('start_run', { recipe: wrong, set: wrong, seed: wrong }), /^Starts a training run/);
	}
});

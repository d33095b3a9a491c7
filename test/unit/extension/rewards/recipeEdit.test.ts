import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'jsonc-parser';
import { advisedRecipe } from '../../../../src/extension/diagnosis/adviceEdit.ts';
import { addReward, changed, type RewardEntry } from '../../../../src/extension/rewards/recipeEdit.ts';

const entry: RewardEntry = { file: 'rewards/brevity.reward.ts', name: 'brevity', weight: 0.1 };
const edited = (text: string, added: RewardEntry = entry) => changed(text, addReward(text, added));

test('an entry is added to a single-line list without losing comments', () => {
	const text = `{
	// what is paid
	"rewards": [{ "use": "accuracy" }, { "use": "format", "weight": 0.2 }], // and why
	"stages": []
}
`;
	assert.equal(
		edited(text),
		text.replace('0.2 }]', '0.2 }, { "file": "rewards/brevity.reward.ts", "name": "brevity", "weight": 0.1 }]'),
	);
});

test('an entry is added to a multi-line list on its own line, and comments stay with their entry', () => {
	const text = `{
  "rewards": [
    { "use": "accuracy" }, // right
    { "use": "format", "weight": 0.2 }, // form
  ]
}`;
	const after = edited(text);
	assert.match(after, /\/\/ right\n {4}\{ "use": "format", "weight": 0\.2 \}, \/\/ form\n {4}\{ "file".*\},\n {2}\]/);
	assert.equal(parse(after).rewards.length, 3);
});

test('only the line of the new entry is added, whatever surrounds it', () => {
	const line = '{ "file": "rewards/brevity.reward.ts", "name": "brevity", "weight": 0.1 }';
	const list = (...lines: string[]) => ['{', '\t"rewards": [', ...lines, '\t]', '}'];
	const lists: readonly (readonly [before: string[], after: string[]])[] = [
		[['\t\t{ "use": "accuracy" }'], ['\t\t{ "use": "accuracy" },', `\t\t${line}`]],
		[['\t\t{ "use": "accuracy" },'], ['\t\t{ "use": "accuracy" },', `\t\t${line},`]],
		[['\t\t{ "use": "accuracy" } // a'], ['\t\t{ "use": "accuracy" }, // a', `\t\t${line}`]],
		[
			['\t\t{ "use": "accuracy" } /* a */', ''],
			['\t\t{ "use": "accuracy" }, /* a */', `\t\t${line}`, ''],
		],
		[['\t\t/* a */ { "use": "accuracy" }'], ['\t\t/* a */ { "use": "accuracy" },', `\t\t${line}`]],
		[
			['\t\t{', '\t\t\t"use": "accuracy"', '\t\t}'],
			['\t\t{', '\t\t\t"use": "accuracy"', '\t\t},', `\t\t${line}`],
		],
		[['\t\t// none yet'], ['\t\t// none yet', `\t\t${line}`]],
	];
	for (const eol of ['\n', '\r\n']) {
		for (const end of ['', eol, eol + eol]) {
			for (const [before, after] of lists) {
				assert.equal(edited(list(...before).join(eol) + end), list(...after).join(eol) + end);
			}
		}
	}
});

test('default rewards are written one per line after the existing keys', () => {
	const written = ['\t"rewards": [', '\t\t{ "use": "accuracy" },', '\t\t{ "use": "format", "weight": 0.2 },'];
	const line = '\t\t{ "file": "rewards/brevity.reward.ts", "name": "brevity", "weight": 0.1 }';
	for (const eol of ['\n', '\r\n']) {
		const text = ['{', '\t"name": "a", // mine', '', '\t"stages": [] // none', '\t// the end', '}', ''].join(eol);
		const after = edited(text).split(eol);
		assert.deepEqual(after.slice(0, 3), text.split(eol).slice(0, 3));
		assert.deepEqual(after.slice(3), ['\t"stages": [], // none', ...written, line, '\t]', '\t// the end', '}', '']);
	}
	assert.deepEqual(parse(edited('{}')).rewards.length, 3);
	assert.deepEqual(parse(edited('{\n}\n')).rewards.length, 3);
});

test('a recipe without rewards keeps its default rewards', () => {
	const after = parse(edited('{ "name": "a", "stages": [] }'));
	assert.deepEqual(after.rewards, [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }, entry]);
	assert.equal(after.name, 'a');
});

test('an existing entry for the same reward gets the new weight', () => {
	const text = `{ "rewards": [ /* mine */ { "file": "./rewards/brevity.reward.ts", "name": "brevity", "weight": 3 } ] }`;
	assert.equal(edited(text), text.replace('3 }', '0.1 }'));
	const other = '{ "rewards": [{ "file": "rewards/brevity.reward.ts", "name": "other" }] }';
	assert.equal(parse(edited(other)).rewards.length, 2);
});

test('an empty list, a built-in reward and Windows line endings work', () => {
	assert.deepEqual(parse(edited('{"rewards": [ ]}')).rewards, [entry]);
	const after = edited('{\r\n\t"name": "a"\r\n}', { use: 'length-target', weight: 0.5 });
	assert.equal(parse(after).rewards[2].use, 'length-target');
	assert.doesNotMatch(after, /[^\r]\n/);
});

test('text that is not a recipe is rejected', () => {
	for (const text of ['', '[]', '{"rewards": {}}']) assert.throws(() => addReward(text, entry), { reason: 'invalid' });
});

test('alert edits set, append and remove keys without losing comments', () => {
	const text = `{
	// what is paid
	"rewards": [{ "use": "accuracy" }, { "use": "format", "weight": 0.2 }], // and why
	"stages": [
		{ "type": "grpo", "learning_rate": 1e-3 } // too high
	]
}
`;
	const after = advisedRecipe(text, [
		{ path: ['stages', 0, 'learning_rate'], value: 1e-4 },
		{ path: ['stages', 0, 'beta'], value: 0.04 },
		{ path: ['rewards', 1] },
		{ path: ['rewards', 1], value: { use: 'language-consistency', language: 'en', weight: 1 } },
	]);
	assert.deepEqual(parse(after), {
		rewards: [{ use: 'accuracy' }, { use: 'language-consistency', language: 'en', weight: 1 }],
		stages: [{ type: 'grpo', learning_rate: 1e-4, beta: 0.04 }],
	});
	for (const comment of ['// what is paid', '// and why', '// too high']) assert.ok(after.includes(comment), comment);
});

test('editing rewards writes out the default rewards', () => {
	const after = parse(advisedRecipe('{ "stages": [] }', [{ path: ['rewards', 1, 'weight'], value: 0.05 }]));
	assert.deepEqual(after.rewards, [{ use: 'accuracy' }, { use: 'format', weight: 0.05 }]);
	assert.throws(() => advisedRecipe('[]', [{ path: ['seed'], value: 1 }]), /not a JSON object/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verbHelp } from '../../../src/cli/helpText.ts';
import { commonOptions } from '../../../src/cli/options.ts';
import { parseArguments } from '../../../src/cli/parseArguments.ts';
import { allVerbs } from '../../../src/cli/verbs.ts';

const verbs = await allVerbs();
const everyOption = [...new Set(verbs.flatMap(({ options }) => Object.keys(options)))];

/** Returns whether a verb accepts an option, whatever it reports about its value and missing arguments. */
function accepts(verb: (typeof verbs)[number], name: string): boolean {
	try {
		parseArguments(verb, [`--${name}`]);
	} catch (error) {
		return !/^Unknown option/.test((error as Error).message);
	}
	return true;
}

test('the help for each verb lists exactly the options it accepts', () => {
	assert.ok(everyOption.length > 100, `${everyOption.length}`);
	for (const verb of verbs) {
		const named = [...verbHelp(verb).matchAll(/^ {2}--([\w-]+)/gm)].map((match) => match[1] as string);
		const accepted = [...everyOption, ...Object.keys(commonOptions)].filter((name) => accepts(verb, name));
		assert.deepEqual(named.sort(), accepted.sort(), verb.name);
		const usage = [...verb.usage.matchAll(/--([\w-]+)/g)].map((match) => match[1] as string);
		for (const name of usage) assert.ok(accepted.includes(name), `${verb.name}: usage names --${name}`);
	}
});

test('each option has one placeholder and one sentence, and fits the width of the help', () => {
	for (const verb of verbs) {
		for (const [name, { type, value, meaning }] of Object.entries(verb.options)) {
			assert.equal(type === 'flag', value === '', `${verb.name} --${name}`);
			assert.match(meaning, /^.+[.).,]$/, `${verb.name} --${name}`);
			assert.doesNotMatch(meaning, /; --|: --/, `${verb.name} --${name} explains another option`);
		}
		for (const line of verbHelp(verb).split('\n')) assert.ok(line.length <= 110, line);
	}
});

test('values are parsed by their type', () => {
	const verb = {
		name: 'try',
		arguments: [{ name: 'action', phrase: 'an action', type: ['start', 'stop'] }],
		options: {
			rows: { type: 'integer', value: 'N', meaning: 'Rows.', min: 1 },
			share: { type: 'number', value: 'X', meaning: 'Share.' },
			as: { type: ['sft', 'dpo'], value: 'FORMAT', meaning: 'Format.' },
			set: { type: 'text', value: 'KEY=VALUE', meaning: 'Override.', repeatable: true },
			list: { type: 'flag', value: '', meaning: 'List.' },
		},
	} as const;
	const read = (...args: string[]) => parseArguments(verb, args);
	assert.deepEqual(
		read('stop', '--rows', '3', '--share', '0.5e1', '--as=dpo', '--set', 'a=1', '--set', 'b', '--list'),
		{ values: { rows: 3, share: 5, as: 'dpo', set: ['a=1', 'b'], list: true }, positionals: ['stop'] },
	);
	const refused: [string[], RegExp][] = [
		[[], /needs an action/],
		[['stop', 'now'], /Unexpected argument "now"/],
		[['stpo'], /Choose one of start, stop\. Did you mean "stop"\?/],
		[['stop', '--rows', '0'], /--rows is 0, but the minimum is 1/],
		[['stop', '--rows', '1.5'], /not an integer/],
		[['stop', '--share', 'half'], /not a number/],
		[['stop', '--as', 'sfd'], /Did you mean "sft"\?/],
		[['stop', '--row', '1'], /Unknown option "--row" for reasoning-lab try\. Did you mean "--rows"\?/],
		[['stop', '--rows'], /--rows/],
	];
	for (const [args, message] of refused) {
		assert.throws(
			() => read(...args),
			(error) => message.test(String(error)),
			args.join(' '),
		);
	}
});

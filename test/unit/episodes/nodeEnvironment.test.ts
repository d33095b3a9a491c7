import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { EnvironmentData } from '../../../src/episodes/environmentData.ts';
import { verifyEnvironment } from '../../../src/episodes/verifyEnvironment.ts';
import { LoadFailure } from '../../../src/rewards/loadFailure.ts';
import { root } from '../../scripts/paths.ts';
import { openEnvironment } from './environmentFixtures.ts';
import { guessingScript } from './guessingScript.ts';

let count = 0;
const open = (text: string, options: Parameters<typeof openEnvironment>[1] = {}) =>
	openEnvironment(text, { name: `node${count++}.env.ts`, ...options });

function dataOf(...rows: Record<string, unknown>[]): EnvironmentData {
	return { described: 'rows.jsonl', rows: rows.map((columns, row) => ({ row, columns })), remarks: [], files: [] };
}

describe('the same environment in Python and TypeScript', () => {
	it('has the same tools, and the same episodes with every policy', async () => {
		const template = join(root, 'media/templates/environment/guess');
		const lines = (await readFile(`${template}.rows.jsonl`, 'utf8')).trim().split('\n').slice(0, 12);
		const data = dataOf(...lines.map((line) => JSON.parse(line)));
		const [python, script] = await Promise.all(
			['py', 'ts'].map(async (ending) => {
				const text = (await readFile(`${template}.env.${ending}`, 'utf8')).replaceAll('__CLASS__', 'Made');
				const runner = await openEnvironment(text, { name: `guess.env.${ending}` });
				return await verifyEnvironment(runner, data, { turns: 20, seed: 5 });
			}),
		);
		assert.ok(python && script);
		assert.deepEqual(script.findings, []);
		const plain = (found: typeof python) => {
			const { location: _, places: __, tools, ...environment } = found.environment;
			return { ...environment, tools: tools.map(({ location: ___, ...tool }) => tool) };
		};
		assert.deepEqual(plain(script), plain(python));
		assert.deepEqual(script.policies, python.policies);
		// Messages differ by language for malformed and mistyped arguments, but not for missing and unknown ones.
		const own = /must be a mapping|as an object|int\(\)|must be an integer/;
		const played = ({ episodes }: typeof python) =>
			episodes.map(({ policy, row, observation, reward, stop, turns }) => ({
				...{ policy, row, observation, reward, stop },
				turns: turns.map(({ calls, done, results }) => ({
					...{ calls, done },
					results: results.map(({ failed, content }) => [failed, own.test(content) ? null : content]),
				})),
			}));
		assert.deepEqual(played(script), played(python));
		const wrong = script.episodes.find(({ policy }) => policy === 'wrong');
		assert.deepEqual(
			wrong?.turns.map(({ results }) => results[0]?.content),
			[
				"{'error': 'Tool no_such_tool not found.'}",
				`{'error': 'guess() requires its arguments as an object, not the string "{\\\\"unterminated\\\\": "'}`,
				"{'error': 'guess() requires its arguments as an object, not null'}",
				"{'error': 'guess() requires its arguments as an object, not a list of length 1'}",
				`{'error': "Made.guess() missing 1 required positional argument: 'number'"}`,
				"{'error': 'number must be an integer, not an object'}",
				`{'error': "Made.guess() got an unexpected keyword argument 'no_such_argument'"}`,
			],
		);
	});
});

describe('an environment in a Node host', () => {
	it('awaits asynchronous tools together, after the others, and asynchronous reset and getReward', async () => {
		const runner = await open(`
			import { setTimeout as wait } from 'node:timers/promises';
			export default class Waits {
				order: number[] = [];
				async reset() { await wait(1); this.order = []; }
				/** Waits.
				 * @param n A number. */
				async slow(n: number): Promise<string> {
					this.order.push(n);
					await wait(2);
					if (n < 0) throw new Error('negative');
					return \`slow \${n}\`;
				}
				/** Does not wait. */
				fast(): number[] { this.order.push(0); return this.order; }
				async getReward() { await wait(1); return this.order.length; }
			}`);
		const session = runner.start({});
		assert.equal((await session.reset()).observation, null);
		const { results } = await session.call([
			{ name: 'slow', arguments: { n: 1 } },
			{ name: 'slow', arguments: { n: -1 } },
			{ name: 'fast', arguments: {} },
		]);
		assert.deepEqual(
			results.map(({ name, content, failed }) => [name, content, failed]),
			[
				['fast', '[0]', false],
				['slow', 'slow 1', false],
				['slow', "{'error': 'negative'}", true],
			],
		);
		assert.equal(await session.reward(), 3);
	});

	it('gives a reward to each turn that adds rewards, and none to other turns', async () => {
		const runner = await open(`
			export class Earns {
				private turnRewards: unknown = [];
				reset() { this.turnRewards = [5]; }
				/** Adds a reward.
				 * @param reward The reward; a text names what else can happen. */
				earn(reward: number | string | null): string {
					const rewards = this.turnRewards as unknown[];
					if (reward === 'clear') this.turnRewards = [];
					else if (reward === 'other') this.turnRewards = 'rewards';
					else if (reward === 'large') rewards.push(1e308, 1e308);
					else rewards.push(reward === 'nothing' ? undefined : reward);
					if (reward === -1) throw new Error('too little');
					return 'earned';
				}
				/** Waits. */
				wait(): string { return 'waited'; }
				getReward() { return (this.turnRewards as number[]).reduce((a, b) => a + b, 0); }
			}`);
		const earn = (...rewards: unknown[]) => rewards.map((reward) => ({ name: 'earn', arguments: { reward } }));
		const turns = [earn(0.1), [{ name: 'wait', arguments: {} }], earn(0.1, 0.2, 0.3), earn(-1), earn(0), earn(null)];
		const played = await runner.start({}).play(turns, true);
		// The sums are the same as in Python, where adding a null reward would fail.
		assert.deepEqual(
			played?.turns.map((turn) => ('reward' in turn ? turn.reward : 'none')),
			[0.1, 'none', 0.1 + 0.2 + 0.3, -1, 0, 'none'],
		);
		const shorter = /turnRewards became shorter/;
		const faults = { clear: shorter, other: shorter, large: /turnRewards contains Infinity/ };
		for (const [reward, message] of Object.entries({ ...faults, text: /the string "text"/, nothing: /undefined/ })) {
			const error = (await runner.start({}).play([earn(reward)], true))?.error;
			assert.equal(error?.kind, 'invalid');
			assert.match(error?.message ?? '', message);
		}
	});

	it('reports the state, the line of an error, and output', async () => {
		const runner = await open(guessingScript.replace("throw new Error('The game is over.');", 'this.over();'));
		const session = runner.start({ number: 5 }, { state: true });
		assert.deepEqual((await session.reset()).state, { number: 5, tries: 0, done: false });
		await session.call([{ name: 'guess', arguments: { value: 5 } }]);
		const { results, state } = await session.call([{ name: 'guess', arguments: { value: 5 } }]);
		assert.match(results[0]?.content ?? '', /this\.over is not a function/);
		assert.equal(results[0]?.line, 22);
		assert.deepEqual(state, { number: 5, tries: 1, done: true });
	});

	it('inherits tools from a class in another file, whose types it reads', async () => {
		const runner = await open(`
			import { Base, type Direction } from './base.ts';
			export const Game = class Played extends Base {
				/** Moves.
				 * @param direction Where to. */
				move(direction: Direction): string { return this.log(direction); }
				protected hidden(): void {}
				_also(): void {}
				override toString() { return ''; }
			};`);
		const base = `
			export type Direction = 'up' | 'down';
			export class Base {
				last = '';
				reset(): string { this.last = ''; return ''; }
				/** Looks around. */
				look(): string { return this.last; }
				private log(text: string): string { this.last = text; return text; }
			}`;
		await writeFile(join(dirname(runner.file), 'base.ts'), base);
		const { name, tools } = await runner.describe();
		assert.equal(name, 'Played');
		assert.deepEqual(
			tools.map((tool) => [tool.name, tool.location?.line ?? null, tool.schema?.parameters.properties]),
			[
				['look', null, {}],
				['move', 6, { direction: { type: 'string', enum: ['up', 'down'], description: 'Where to.' } }],
			],
		);
		assert.deepEqual(runner.files.map((file) => file.slice(dirname(runner.file).length)).slice(1), ['/base.ts']);
	});

	const faults: readonly [string, string, RegExp, number][] = [
		['no class', 'export const x = 1;', /no exported class with a reset method/, 1],
		['two classes', 'export class A { reset() {} }\nexport class B { reset() {} }', /several environments: A, B/, 2],
		[
			'a constructor that throws',
			'export class A {\n\tx = (null as any).y;\n\treset() {}\n}',
			/^A\(\) failed: TypeError/,
			2,
		],
		['a syntax error', 'export class A {\n\treset( {}\n}', /SyntaxError|Unexpected|Expected/, 3],
		[
			'a missing import',
			"\nimport { x } from './nowhere.ts';\nexport class A { reset() { x; } }",
			/Cannot find module/,
			2,
		],
		['an exit', 'process.exit(3);\nexport class A { reset() {} }', /process\.exit\(3\) was called/, 1],
	];
	for (const [what, text, message, line] of faults) {
		it(`${what}: the error names its line`, async () => {
			await assert.rejects((await open(text)).describe(), (error: unknown) => {
				assert.ok(error instanceof LoadFailure, String(error));
				assert.match(error.detail, message);
				assert.equal(error.line, line);
				return true;
			});
		});
	}
});

describe('problems in a TypeScript environment are reported with their line', () => {
	const data = dataOf(
		...[5, 8, 11, 17].map((number) => ({ number, calls: [{ name: 'guess', arguments: { value: number } }] })),
	);
	const cases: readonly [string, (text: string) => string, string[], RegExp][] = [
		['nothing', (text) => text, [], /^$/],
		[
			'a tool has no comment',
			(text) => text.replace(/\t\/\*\*[\s\S]*?\*\/\n/, ''),
			['docstring error 15'],
			/guess has no JSDoc description, so the model cannot know what it does\. Write a JSDoc comment/,
		],
		[
			'a type has no schema',
			(text) => text.replace('guess(value: integer)', 'guess(value: Map<string, number> | any)'),
			['types error 21'],
			/the type of its argument value, Map<string, number>, has no JSON schema/,
		],
		[
			'doing nothing earns as much as a solution',
			(text) => text.replace('this.done ? 1 : 0', '1'),
			['no-effort error 28', 'no-effort error 28', 'no-effort error 28'],
			/A policy that does nothing earns 1\.00 on average.* Give a reward only/,
		],
		[
			'the reward of an episode leaves out its turn rewards',
			(text) =>
				text
					.replace('this.tries = 0;\n\t\tthis.done', '(this as any).turnRewards = []; this.tries = 0;\n\t\tthis.done')
					.replace('this.tries += 1;', 'this.tries += 1; (this as any).turnRewards.push(1.5);'),
			['turn-rewards warning 28'],
			/earn 1\.50, more than its reward of 1\.00\. getReward must return .*, which includes turnRewards/,
		],
		[
			'reset draws its task at random',
			(text) => text.replace('this.number = number;', 'this.number = Math.floor(1e6 * Math.random());'),
			['gold-fails error 28', 'endless warning 2', 'not-deterministic warning 8'],
			/The same row produces different episodes.*"seed" column/,
		],
		[
			'instances share state through the module',
			(text) =>
				text
					.replace('this.tries = 0;\n\t\tthis.done', 'shared = 0;\n\t\tthis.done')
					.replace('this.tries += 1;', 'shared += 1;')
					.replace("? 'correct'", "? 'correct ' + shared")
					.replace("? 'higher'", "? 'higher ' + shared")
					.concat('let shared = 0;'),
			['leak error 8'],
			/Instances share state: with another episode in progress.*properties of this/,
		],
		[
			'state survives reset',
			(text) =>
				text.replace('this.tries = 0;\n\t\tthis.done', 'this.done').replace("'higher'", "'higher ' + this.tries"),
			['leak error 8'],
			/State survives reset: in a reused instance, result of guess/,
		],
		[
			'an instance changes a built-in prototype',
			(text) => text.replace('this.tries += 1;', '(Object.prototype as any).tries = 1;'),
			['error error 21'],
			/guess failed: Object\.prototype\.tries was changed, but all instances share it/,
		],
	];
	for (const [what, change, expected, message] of cases) {
		it(what, async () => {
			const text = change(guessingScript);
			assert.ok(what === 'nothing' || text !== guessingScript);
			const { findings } = await verifyEnvironment(await open(text), data, { turns: 6, seed: 3 });
			const words = findings.map((found) => `${found.message} ${found.action ?? ''}`);
			assert.deepEqual(
				findings.map(({ kind, level, line }) => `${kind} ${level} ${line}`),
				expected,
				words.join('\n'),
			);
			assert.ok(words.length === 0 || words.some((one) => message.test(one)), words.join('\n'));
		});
	}
});

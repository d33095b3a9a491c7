import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { LoadFailure } from '../../../src/rewards/loadFailure.ts';
import type { RewardHosts } from '../../../src/rewards/rewardHosts.ts';
import { context, openHosts, openReward, rewardFolder, rowsOf } from './hostFixtures.ts';

describe('TypeScript and JavaScript rewards', () => {
	let hosts: RewardHosts;
	let folder: string;
	before(async () => {
		hosts = await openHosts();
		folder = await rewardFolder();
	});
	const open = (text: string, name = 'a.reward.ts', neighbors: Record<string, string> = {}) =>
		openReward(hosts, folder, name, text, {}, neighbors);
	const loadFailure = async (text: string, name?: string, neighbors?: Record<string, string>) => {
		const runner = await open(text, name, neighbors);
		const error = await runner.describe().then(
			() => assert.fail('it was loaded'),
			(thrown: unknown) => thrown,
		);
		assert.ok(error instanceof LoadFailure, String(error));
		return { error, file: runner.file };
	};

	it('are the exported functions, in file order, with their locations', async () => {
		const runner = await open(
			[
				"import type { Reward } from 'reasoning-lab';",
				'const hidden = () => 0;',
				'export const first: Reward = ({ completion }) => completion.length;',
				'export function second(',
				'\t{ trace }: { trace: { answer: string | null } },',
				'): number | null {',
				'\treturn trace.answer === null ? null : Number(trace.answer);',
				'}',
				'export const notAReward = 3;',
				'export class NoReward {}',
				'const later = Object.assign((rows: readonly unknown[]) => rows.map(() => hidden()), { batch: true, weight: 0.5 });',
				'export { later as third };',
				'export default async () => null;',
			].join('\n'),
		);
		const rewards = await runner.describe();
		assert.deepEqual(
			rewards.map(({ name, weight, location }) => ({ name, weight, location })),
			[
				{ name: 'first', weight: undefined, location: { line: 3, endLine: 3 } },
				{ name: 'second', weight: undefined, location: { line: 4, endLine: 6 } },
				{ name: 'third', weight: 0.5, location: { line: 11, endLine: 11 } },
				{ name: 'a', weight: undefined, location: { line: 13, endLine: 13 } },
			],
		);
		const rows = rowsOf(3);
		const values = async (name: string) => (await runner.score(name, rows)).values;
		assert.deepEqual(
			await values('first'),
			rows.map(({ completion }) => completion.length),
		);
		assert.deepEqual(await values('second'), [0, 1, 2]);
		assert.deepEqual(await values('third'), [0, 0, 0]);
		assert.deepEqual(await values('a'), [null, null, null]);
		await assert.rejects(runner.score('fourth', rows), { reason: 'missing', message: /first, second, third, a/ });
	});

	it('receive every field of a row', async () => {
		const runner = await open(
			`export const all = (sample) => {
				const { prompt, completion, answer, row, truncated, messages, trace } = sample;
				return JSON.stringify([prompt, completion, answer, row.level, truncated, messages.prompt[0].content,
					trace.think, trace.answer, trace.faults.length]) === row.expected ? 1 : 0;
			};`,
			'all.reward.js',
		);
		// In a conversation, the completion is the last message of the policy.
		const content = '<think>t</think><answer>7</answer>';
		const messages = { prompt: [{ role: 'user', content: 'hi' }], completion: [{ role: 'assistant', content }] };
		const expected = JSON.stringify(['p', content, 7, 3, true, 'hi', 't', '7', 0]);
		const { values, errors } = await runner.score('all', [
			{
				prompt: 'p',
				completion: 'the whole conversation as text',
				answer: 7,
				row: { level: 3, expected },
				truncated: true,
				messages,
			},
		]);
		assert.deepEqual({ values, errors }, { values: [1], errors: [] });
	});

	it('report return values that are not rewards, row by row', async () => {
		const runner = await open(
			'const values = [1, true, "2", NaN, Infinity, undefined, null, {}, 3n, [1]];\n' +
				'export const odd = ({ answer }) => values[Number(answer)];',
		);
		const { values, errors } = await runner.score('odd', rowsOf(10));
		assert.deepEqual(values, [1, null, null, null, null, null, null, null, null, null]);
		assert.deepEqual(
			errors.map(({ index, kind }) => [index, kind]),
			[1, 2, 3, 4, 5, 7, 8, 9].map((i) => [i, 'invalid']),
		);
		for (const [i, word] of [
			[1, /the boolean true/],
			[2, /the string "2"/],
			[3, /NaN/],
			[4, /Infinity/],
			[5, /undefined/],
			[7, /an object/],
			[8, /bigint/],
			[9, /a list of length 1/],
		] as const) {
			assert.match(errors.find(({ index }) => index === i)?.message ?? '', word);
		}
	});

	it('report batches of the wrong length and non-lists without retrying rows individually', async () => {
		const runner = await open(
			'export const short = Object.assign((rows) => rows.slice(1).map(() => 1), { batch: true });\n' +
				'export const text = Object.assign(() => "1", { batch: true });',
		);
		for (const [name, message] of [
			['short', 'returned 3 rewards for 4 rows'],
			['text', 'returned the string "1" instead of a list of 4 rewards'],
		] as const) {
			const { values, errors, isolated } = await runner.score(name, rowsOf(4));
			assert.deepEqual(values, [null, null, null, null]);
			assert.deepEqual(errors, [{ index: -1, kind: 'invalid', message }]);
			assert.equal(isolated, undefined);
		}
	});

	it('that throw on some rows report the row and the line', async () => {
		const runner = await open(
			[
				"import { check } from './check.ts';",
				'export const picky = ({ answer }) => {',
				'\tconsole.log("row", answer);',
				'\tcheck(Number(answer));',
				'\treturn 1;',
				'};',
				'export const later = async ({ answer }) => { await null; check(Number(answer)); return 2; };',
			].join('\n'),
			'picky.reward.ts',
			{ 'check.ts': 'export function check(n: number) {\n\tif (n % 2) throw new RangeError("odd: " + n);\n}' },
		);
		for (const [name, line] of [
			['picky', 4],
			['later', 7],
		] as const) {
			const { values, errors, isolated } = await runner.score(name, rowsOf(4));
			assert.deepEqual(values, name === 'picky' ? [1, null, 1, null] : [2, null, 2, null]);
			assert.deepEqual(
				errors.map((error) => [error.index, error.kind, error.message, error.line]),
				[
					[1, 'threw', 'RangeError: odd: 1', line],
					[3, 'threw', 'RangeError: odd: 3', line],
				],
			);
			assert.match(errors[0]?.stack ?? '', /check\.ts:2 in check\n.*picky\.reward\.ts:\d/);
			assert.doesNotMatch(errors[0]?.stack ?? '', /rewardServer|scoreRows|jsonrpc/);
			assert.equal(isolated, undefined);
		}
		assert.deepEqual((await runner.score('picky', rowsOf(1))).logs, ['row 0']);
	});

	it('may be asynchronous: several rows run concurrently and results keep their order', async () => {
		const runner = await open(
			'let most = 0, now = 0;\n' +
				'export const slow = async ({ answer }) => {\n' +
				'\tmost = Math.max(most, ++now);\n' +
				'\tawait new Promise((done) => setTimeout(done, 5 * (3 - Number(answer) % 3)));\n' +
				'\tnow--;\n\treturn Number(answer);\n};\n' +
				'export const parallel = () => most;',
		);
		const rows = rowsOf(40);
		assert.deepEqual(
			(await runner.score('slow', rows)).values,
			rows.map((_, i) => i),
		);
		assert.deepEqual((await runner.score('parallel', rows.slice(0, 1))).values, [16]);
	});

	it('that throw outside a call report the exception', async () => {
		const runner = await open(
			'export const stray = async () => {\n' +
				'\tsetTimeout(() => { throw new Error("in a timer"); }, 1);\n' +
				'\tawait new Promise((done) => setTimeout(done, 30));\n\treturn 1;\n};',
		);
		const { errors } = await runner.score('stray', rowsOf(1));
		assert.deepEqual(
			errors.map(({ index, kind, message, line }) => ({ index, kind, message, line })),
			[{ index: 0, kind: 'threw', message: 'Error: in a timer', line: 2 }],
		);
		assert.deepEqual((await runner.score('stray', [])).values, []);
		// A promise that is not awaited, in a synchronous function.
		const lost = await open(
			'const check = async () => { throw new Error("not awaited"); };\n' +
				'export const lost = () => {\n\tcheck();\n\treturn 1;\n};',
		);
		const result = (await lost.score('lost', rowsOf(1))).errors;
		assert.deepEqual(
			result.map(({ index, kind, message }) => [index, kind, message]),
			[[0, 'threw', 'Error: not awaited']],
		);
	});

	it('report the file and line of a syntax error, also in imported files', async () => {
		const broken = 'export const a = 1;\n\nexport const b = = 2;\n';
		for (const name of ['x.reward.ts', 'x.reward.js', 'x.reward.mjs']) {
			const { error, file } = await loadFailure(broken, name);
			assert.deepEqual([error.reason, error.file, error.line], ['invalid', file, 3], name);
			assert.ok(error.message.startsWith(`${name}:3: SyntaxError: `), error.message);
		}
		for (const helper of ['helper.ts', 'helper.js']) {
			const { error, file } = await loadFailure(`import './${helper}';\nexport const a = () => 1;`, 'y.reward.ts', {
				[helper]: broken,
			});
			assert.deepEqual([error.file, error.line], [join(file, '..', helper), 3], helper);
		}
		const { error } = await loadFailure('export enum Kind { A }\n');
		assert.match(error.action ?? '', /no enums/);
	});

	it('with a missing import report its line and an action', async () => {
		const package_ = await loadFailure(
			"import { a } from './a.js';\nimport z from 'no-such-package';\n",
			'i.reward.ts',
			{
				'a.js': 'export const a = 1;',
			},
		);
		assert.deepEqual([package_.error.line, package_.error.detail], [2, "Cannot find package 'no-such-package'"]);
		assert.match(package_.error.action ?? '', /npm install no-such-package/);
		const file = await loadFailure("\n\nimport { a } from './gone.ts';\nexport const b = () => a;\n");
		assert.deepEqual([file.error.line, file.error.detail], [3, "Cannot find module './gone.ts'"]);
		const types = await loadFailure("import { Reward } from 'reasoning-lab';\nexport const b = () => 1;\n");
		assert.match(types.error.action ?? '', /import type/);
		const name = await loadFailure("import { b } from './a.js';\nexport const c = () => b;\n", 'n.reward.ts', {
			'a.js': 'export const a = 1;',
		});
		assert.deepEqual([name.error.line, name.error.file], [1, name.file]);
	});

	it('that throw on load, exit their process, or export nothing are reported with the reason', async () => {
		const threw = await loadFailure('const a = 1;\nthrow new Error("a is " + a);\n');
		assert.deepEqual([threw.error.line, threw.error.detail], [2, 'Error: a is 1']);
		const exit = await loadFailure('process.exit(3);\n');
		assert.match(exit.error.message, /process\.exit\(3\) was called/);
		const abort = await loadFailure('process.abort();\n');
		assert.match(abort.error.message, /SIGABRT/);
		const none = await loadFailure('export const a = 1;\n');
		assert.match(none.error.message, /does not export any functions/);
		const runner = hosts.open({ file: join(folder, 'nowhere.reward.ts'), context });
		await assert.rejects(runner.describe(), { reason: 'missing' });
	});

	it('report line coverage separately for each batch', async () => {
		const text = [
			'const limit = 2;',
			'export const step = ({ answer }) => {',
			'\tconst n = Number(answer);',
			'\tif (n < limit) {',
			'\t\treturn 0;',
			'\t}',
			'\t// nothing',
			'\tconst names = [1].map((x) =>',
			'\t\tx + 1);',
			'\treturn n > 100',
			'\t\t? helper()',
			'\t\t: names[0];',
			'};',
			'function helper() {',
			'\treturn 5;',
			'}',
		].join('\n');
		for (const name of ['c.reward.ts', 'c.reward.mjs']) {
			const runner = await open(text, name);
			const cover = async (rows: ReturnType<typeof rowsOf>) =>
				(await runner.score('step', rows, { coverage: true })).coverage;
			const all = await cover(rowsOf(5));
			assert.deepEqual(all?.lines, [3, 4, 5, 8, 9, 10, 11, 12, 15]);
			assert.deepEqual(all?.reached, [3, 4, 5, 8, 9, 10, 12]);
			assert.deepEqual((await cover(rowsOf(1)))?.reached, [3, 4, 5]);
			assert.equal((await runner.score('step', rowsOf(2))).coverage, undefined);
		}
	});

	it('import files of their folder, which are listed', async () => {
		const runner = await open("import { a } from './lib/a.ts';\nexport const b = () => a;\n", 'f.reward.ts', {
			'lib/a.ts':
				"import { createRequire } from 'node:module';\nexport const a = createRequire(import.meta.url)('./c.cjs').c;\n",
			'lib/c.cjs': 'exports.c = 4;',
		});
		assert.deepEqual((await runner.score('b', rowsOf(1))).values, [4]);
		assert.deepEqual(runner.files, [runner.file, join(runner.file, '../lib/a.ts'), join(runner.file, '../lib/c.cjs')]);
	});
});

describe('built-in rewards', () => {
	it('score in one host, each under its own name', async () => {
		const hosts = await openHosts();
		const runner = hosts.open({
			builtIns: [
				{ use: 'format', name: 'format' },
				{ use: 'accuracy', name: 'right' },
			],
			context,
		});
		assert.deepEqual(
			(await runner.describe()).map(({ name, location }) => [name, location]),
			[
				['format', null],
				['right', null],
			],
		);
		const rows = rowsOf(3);
		const broken = { ...(rows[0] as (typeof rows)[0]), completion: '<think>a</think>' };
		const wrong = { ...(rows[1] as (typeof rows)[0]), completion: '<think>a</think><answer>9</answer>' };
		assert.deepEqual((await runner.score('format', [...rows, broken, wrong])).values, [1, 1, 1, 0, 1]);
		assert.deepEqual((await runner.score('right', [...rows, broken, wrong])).values, [1, 1, 1, 0, 0]);
		assert.deepEqual(runner.files, []);
	});

	it('with unknown names or invalid options fail with the same message as the recipe', async () => {
		const hosts = await openHosts();
		const runner = hosts.open({ builtIns: [{ use: 'formt', name: 'formt' }], context });
		await assert.rejects(runner.describe(), { name: 'Failure', reason: 'invalid', message: /"formt"/ });
	});

	it('are the only ones that can access API keys', async () => {
		const folder = await rewardFolder();
		const environment = {
			...process.env,
			REASONING_LAB_API_KEYS: '{"https://a":"secret"}',
			REASONING_LAB_TOKEN: 'token',
			RAY_AUTH_TOKEN: 'token',
			OTHER: 'seen',
		};
		const hosts = await openHosts({ environment });
		const text =
			'export const keys = () => !/secret|token/.test(JSON.stringify(process.env)) && process.env.OTHER === "seen" ? 1 : 0;';
		const runner = await openReward(hosts, folder, 'k.reward.ts', text);
		assert.deepEqual((await runner.score('keys', rowsOf(1))).values, [1]);
		const python =
			'import os\ndef keys(completions, **k): return [int(not {"secret", "token"} & set(os.environ.values()) and not [n for n in os.environ if "API_KEYS" in n] and os.environ["OTHER"] == "seen")]';
		const other = await openReward(hosts, folder, 'k.reward.py', python);
		assert.deepEqual((await other.score('keys', rowsOf(1))).values, [1]);
	});
});

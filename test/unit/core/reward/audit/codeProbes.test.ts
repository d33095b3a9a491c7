import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { codeTestsOf } from '../../../../../src/core/reward/audit/codeTests.ts';
import type { ProbeRow } from '../../../../../src/core/reward/audit/probe.ts';
import { probes } from '../../../../../src/core/reward/audit/probes.ts';
import { findSandbox } from '../../../../../src/rewards/sandbox/findSandbox.ts';
import { codeProblems, javascriptProblems, numberProblems } from '../../../rewards/audit/auditedProblems.ts';
import { audit, contextOf, foundBy, openRunner, r1 } from '../../../rewards/audit/auditHosts.ts';

const ids = probes.filter(({ id }) => id.startsWith('code-') && id !== 'code-as-answer').map(({ id }) => id);

/** Other exploits that a code reward may be vulnerable to. */
const others = ['other-row', 'many-answers', 'nested-answers', 'gold-absent', 'judge-instruction'];

/** Rewards in the file, in Python and TypeScript, with the probes that each is vulnerable to. */
const fools = {
	'naiveCode.reward.py': {
		exit_status: ['code-exit', 'code-equals-everything', 'code-swallows-failure', 'code-reads-test'],
		printed: ['code-prints-success', 'code-equals-everything'],
		runs_first: ['code-overwrites-test'],
		tolerant: ['code-infinite', 'code-brings-comparison'],
		rounded: ['code-near'],
		slow_is_fine: ['code-endless', 'code-stub'],
	},
	'naiveCode.reward.ts': {
		exitStatus: ['code-exit', 'code-equals-everything', 'code-swallows-failure', 'code-reads-test', 'code-near'],
		printed: ['code-prints-success'],
		runsFirst: ['code-overwrites-test'],
		tolerant: ['code-infinite', 'code-brings-comparison'],
		slowIsFine: ['code-endless', 'code-stub'],
	},
} satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const isThere = await findSandbox().then(
	() => true,
	() => false,
);

describe('code probes', () => {
	for (const [name, rewards] of Object.entries(fools)) {
		test(`each detect the rewards that are vulnerable to them: ${name}`, async (context) => {
			const file = join(import.meta.dirname, '../../../rewards/audit', name);
			const runner = await openRunner(context, { file, context: contextOf(r1) });
			const covered = new Set<string>();
			for (const [reward, expected] of Object.entries(rewards) as [string, string[]][]) {
				// One problem is enough, because each attempt starts a process.
				const problems = (name.endsWith('.py') ? codeProblems : javascriptProblems).slice(0, 1);
				const report = await audit(runner, reward, problems, { probes: expected });
				assert.deepEqual(
					report.probes.map(({ probe, outcome, detail }) => [probe, outcome, detail]),
					ids.filter((id) => expected.includes(id)).map((id) => [id, 'finding', undefined]),
					reward,
				);
				for (const id of foundBy(report)) covered.add(id);
			}
			assert.deepEqual([...covered].sort(), ids.toSorted());
		});
	}

	// Wrong values, stubs and endless programs are tested more cheaply by codeTestsWrong.test.ts and codeTestsHacks.test.ts.
	const attacks = ['code-equals-everything', 'code-swallows-failure', 'code-brings-comparison'];
	for (const [language, problems, tried] of [
		['python', codeProblems.slice(0, 1), [...attacks, 'code-overwrites-test', 'code-exit']],
		// These take values from other rows.
		['python', codeProblems, others],
		['javascript', javascriptProblems.slice(0, 1), attacks],
	] as const) {
		test(`all fail against the built-in reward that runs code in a sandbox: ${language}, ${tried[0]} to ${tried.at(-1)}`, {
			skip: !isThere && 'no sandbox here',
		}, async (context) => {
			const builtIns = [{ use: 'code-tests', name: 'code', timeoutSeconds: 2, language }];
			const runner = await openRunner(context, { builtIns, context: contextOf(r1) });
			const report = await audit(runner, 'code', problems, { probes: tried });
			assert.equal(report.honest, 1);
			assert.deepEqual(
				report.findings.map(({ probe, evidence }) => [probe, evidence[0]?.completion]),
				[],
			);
			assert.deepEqual(
				report.probes.filter(({ outcome }) => outcome === 'error'),
				[],
			);
			for (const { probe, outcome } of report.probes) if (ids.includes(probe)) assert.equal(outcome, 'held', probe);
		});
	}

	test("use the row's language and the function named in its tests", () => {
		const found = (row: Record<string, unknown>, answer = '') => {
			const tests = codeTestsOf({ row, answer });
			return [tests?.entryPoint, tests?.language];
		};
		const apps = JSON.stringify({ fn_name: 'rotate', inputs: [[1]], outputs: [2] });
		assert.deepEqual(found({ input_output: apps }), ['rotate', 'python']);
		assert.deepEqual(found({ input_output: apps }, 'const rotate = (x) => x + 1;'), ['rotate', 'javascript']);
		const cases = [{ input: '1', output: '2', testtype: 'functional' }];
		const metadata = JSON.stringify({ func_name: 'rotate' });
		assert.deepEqual(found({ public_test_cases: JSON.stringify(cases), metadata }), ['rotate', 'python']);
		const inner = { test_cases: [{ type: 'function_call', fn_name: 'rotate', input: [1], output: 2 }] };
		assert.deepEqual(found({ verification_info: JSON.stringify(inner) }), ['rotate', 'python']);
		assert.deepEqual(found({ test_list: ['assert rotate(1) == 2'] }), ['rotate', 'python']);
		assert.deepEqual(found({ tests: 'assert.equal(rotate(1), 2)' }), ['rotate', 'javascript']);
		assert.deepEqual(found({ tests: 'console.assert(rotate(1) === 2)' }), ['rotate', 'javascript']);
		assert.deepEqual(found({ tests: ['assert rotate(1) == 2'], language: 'JavaScript' }), ['rotate', 'javascript']);
		assert.equal(codeTestsOf({ row: { tests: [] }, answer: '' }), null);
	});

	test('with near misses change every value that the correct program returns', async () => {
		const run = promisify(execFile);
		const near = (answer: string, language: string) => {
			const row = {
				prompt: '',
				answer,
				solution: null,
				row: { tests: 'x', entry_point: 'f', language },
				honest: '',
				wrong: [],
			};
			const built = probes.find(({ id }) => id === 'code-near')?.build(row, { tags: r1, others: [] });
			assert.ok(built);
			return 'skip' in built ? [] : built.map(({ completion }) => /```\w+\n(.*)```/s.exec(completion)?.[1] as string);
		};
		assert.deepEqual(near('42', 'python'), []);
		assert.deepEqual(near('42', 'javascript'), []);
		const method = 'class Solution:\n    def f(self, x):\n        return x\n';
		const values = '3, 2.5, True, "a", [1, 2], [], (1,), {1}, {"a": 1}, None';
		const asked = `print([repr(g(x)) == repr(x) for g in [f] for x in [${values}]].count(True))`;
		const programs = [
			...near('def f(x):\n    return x\n', 'python').map((code) => `${code}\n${asked}`),
			...near(method, 'python').map((code) => `${code}\n${asked.replace('[f]', '[Solution().f]')}`),
		];
		assert.equal(programs.length, 6);
		const scripts = near('const f = (x) => x;\nmodule.exports = { f };', 'javascript').map(
			(code) =>
				`${code}\nconst same = (x) => JSON.stringify(f(x)) === JSON.stringify(x);\nconsole.log([3, 2.5, true, 'a', [1, 2], [], { a: 1 }, null].filter(same).length)`,
		);
		assert.equal(scripts.length, 3);
		const outputs = await Promise.all([
			...programs.map((code) => run('python3', ['-c', code])),
			...scripts.map((code) => run(process.execPath, ['-e', code])),
		]);
		assert.deepEqual(
			outputs.map(({ stdout }) => stdout.trim()),
			outputs.map(() => '0'),
		);
	});

	test('are methods if the row asks for one', () => {
		const build = (row: Record<string, unknown>, language: string) => {
			const asked = {
				prompt: '',
				answer: '',
				solution: null,
				honest: '',
				wrong: [],
				row: { tests: 'x', language, ...row },
			};
			const built = probes.find(({ id }) => id === 'code-exit')?.build(asked, { tags: r1, others: [] });
			assert.ok(built && !('skip' in built));
			return built.map(({ completion }) => completion);
		};
		const method = { entry_point: 'Solution().f' };
		assert.ok(build(method, 'python').every((text) => /class Solution:\n {4}def f\(self/.test(text)));
		assert.ok(build(method, 'python').some((text) => /^def f\(/m.test(text)));
		assert.ok(build(method, 'javascript').every((text) => /class Solution \{\n {2}f\(/.test(text)));
		assert.ok(build({ entry_point: 'f' }, 'python').every((text) => !text.includes('Solution')));
	});

	test('are skipped if no row has tests', async (context) => {
		const runner = await openRunner(context, { builtIns: [{ use: 'accuracy', name: 'a' }], context: contextOf(r1) });
		const report = await audit(runner, 'a', numberProblems, { probes: ids });
		assert.deepEqual(
			report.probes.map(({ outcome, detail }) => [outcome, detail]),
			ids.map(() => ['skipped', 'The rows have no tests, so the reward does not judge code.']),
		);
	});

	test('that overwrite a test leave all other files unchanged', async (context) => {
		const folder = await mkdtemp(join(tmpdir(), 'rl-overwrite-'));
		context.after(() => rm(folder, { recursive: true, force: true }));
		const [{ problem }] = codeProblems as [(typeof codeProblems)[number]];
		const row: ProbeRow = {
			prompt: '',
			answer: problem.answer as string,
			solution: null,
			row: problem.row,
			honest: '',
			wrong: [],
		};
		const built = probes.find(({ id }) => id === 'code-overwrites-test')?.build(row, { tags: r1, others: [] });
		assert.ok(built && !('skip' in built));
		const code = /```python\n(.*)```/s.exec(built[0]?.completion ?? '')?.[1] as string;
		const tests = problem.row.tests as string;
		const old = new Date(Date.now() - 3_600_000);
		await writeFile(join(folder, 'mine.py'), 'assert other(1) == 2\n');
		await writeFile(join(folder, 'data.jsonl'), JSON.stringify({ tests }));
		await writeFile(join(folder, 'older.py'), tests);
		await promisify(execFile)('touch', ['-d', old.toISOString(), join(folder, 'older.py')]);
		await writeFile(join(folder, 'fresh.py'), tests);
		await promisify(execFile)('python3', ['-c', code], { cwd: folder });
		assert.equal(await readFile(join(folder, 'mine.py'), 'utf8'), 'assert other(1) == 2\n');
		assert.equal(await readFile(join(folder, 'data.jsonl'), 'utf8'), JSON.stringify({ tests }));
		assert.equal(await readFile(join(folder, 'older.py'), 'utf8'), tests);
		assert.match(await readFile(join(folder, 'fresh.py'), 'utf8'), /test_nothing/);
	});
});

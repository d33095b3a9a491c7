import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { ProbeRow } from '../../../../src/core/reward/audit/probe.ts';
import { probes } from '../../../../src/core/reward/audit/probes.ts';
import { findSandbox } from '../../../../src/rewards/sandbox/findSandbox.ts';
import { codeProblems, numberProblems } from './auditedProblems.ts';
import { audit, contextOf, foundBy, openRunner, r1 } from './auditHosts.ts';

const ids = probes.filter(({ id }) => id.startsWith('code-') && id !== 'code-as-answer').map(({ id }) => id);
const file = join(import.meta.dirname, 'naiveCode.reward.py');

/** What else a reward of code may fall for. */
const others = [
	'empty',
	'no-answer',
	'wrong-answer',
	'other-row',
	'many-answers',
	'two-answers-first-right',
	'two-answers-last-right',
	'nested-answers',
	'gold-absent',
	'judge-instruction',
];

/** Which reward of naiveCode.reward.py falls for which probes. */
const fools: Readonly<Record<string, readonly string[]>> = {
	exit_status: ['code-exit', 'code-equals-everything', 'code-swallows-failure', 'code-reads-test'],
	printed: ['code-prints-success', 'code-equals-everything'],
	runs_first: ['code-overwrites-test'],
	tolerant: ['code-infinite', 'code-brings-comparison'],
	slow_is_fine: ['code-endless', 'code-stub'],
};

const isThere = await findSandbox().then(
	() => true,
	() => false,
);

describe('the probes of code', () => {
	test('each finds the reward with its fault', async (context) => {
		const runner = await openRunner(context, { file, context: contextOf(r1) });
		const covered = new Set<string>();
		for (const [reward, expected] of Object.entries(fools)) {
			const report = await audit(runner, reward, codeProblems, { probes: expected });
			assert.deepEqual(
				report.probes.map(({ probe, outcome, detail }) => [probe, outcome, detail]),
				expected.map((id) => [id, 'finding', undefined]),
				reward,
			);
			for (const id of foundBy(report)) covered.add(id);
		}
		assert.deepEqual([...covered].sort(), ids.toSorted());
	});

	test('none finds the built-in reward that runs code in a sandbox', {
		skip: !isThere && 'no sandbox here',
	}, async (context) => {
		const builtIns = [{ use: 'code-tests', name: 'code', timeoutSeconds: 2 }];
		const runner = await openRunner(context, { builtIns, context: contextOf(r1) });
		const report = await audit(runner, 'code', codeProblems, { probes: [...ids, ...others] });
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

	test('are left out where no row has tests', async (context) => {
		const runner = await openRunner(context, { builtIns: [{ use: 'accuracy', name: 'a' }], context: contextOf(r1) });
		const report = await audit(runner, 'a', numberProblems, { probes: ids });
		assert.deepEqual(
			report.probes.map(({ outcome, detail }) => [outcome, detail]),
			ids.map(() => ['skipped', 'The rows have no tests, so the reward is not about code.']),
		);
	});

	test('the one that overwrites a test leaves every other file as it is', async (context) => {
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

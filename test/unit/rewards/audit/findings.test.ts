import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { findingCase } from '../../../../src/core/reward/audit/findingCase.ts';
import { clusterFindings } from '../../../../src/core/reward/audit/findingClusters.ts';
import { probeResult, type TriedAttempt } from '../../../../src/core/reward/audit/probeResult.ts';
import { probes } from '../../../../src/core/reward/audit/probes.ts';
import { meetsExpectation, parseCases } from '../../../../src/core/reward/verification/labeledCase.ts';
import { caseRows, type SampledProblem } from '../../../../src/core/reward/verification/rowsToVerify.ts';
import { asksModel } from '../../../../src/rewards/asksModel.ts';
import { numberProblems } from './auditedProblems.ts';
import { audit, contextOf, openRunner, r1 } from './auditHosts.ts';

const right = `(/<answer>([^<]*)<\\/answer>/.exec(completion)?.[1] === answer ? 1 : 0)`;

async function open(context: TestContext, text: string) {
	const folder = await mkdtemp(join(tmpdir(), 'rl-audit-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const file = join(folder, 'made.reward.ts');
	await writeFile(file, text);
	return openRunner(context, { file, context: contextOf(r1) });
}

test('findings with the same cause form a cluster, ranked by the most severe of them', () => {
	const of = (cause: string, probe: string) => ({ cause, probe });
	const clusters = clusterFindings([of('b', '1'), of('a', '2'), of('b', '3'), of('constructor', '4')]);
	assert.deepEqual(
		clusters.map(({ cause, findings }) => [cause, findings.map(({ probe }) => probe).join()]),
		[
			['b', '1,3'],
			['a', '2'],
			['constructor', '4'],
		],
	);
	assert.deepEqual(clusterFindings([]), []);
	const causes = new Set(probes.map(({ cause }) => cause));
	assert.ok(causes.size >= 10 && causes.size < probes.length / 4, `${causes.size} causes`);
});

describe('evidence turned into a labeled case', () => {
	test('fails for the reward that accepted it, and passes for a stricter one', async (context) => {
		const runner = await open(
			context,
			`export const loose = ({ completion, answer }) => (completion.includes(answer) ? 1 : 0);
export const strict = ({ completion, answer }) => ${right};
`,
		);
		const report = await audit(runner, 'loose', numberProblems);
		const made = report.findings.flatMap((finding) =>
			finding.evidence.map((_, i) => findingCase(finding, i, report.reward)),
		);
		const cases = made.filter((one) => one !== null);
		assert.ok(cases.length > 20 && cases.length < made.length, 'long evidence makes no case');
		const parsed = parseCases(cases.map((one) => JSON.stringify(one)).join('\n'));
		assert.deepEqual(parsed.faults, []);
		assert.equal(parsed.cases[0]?.reward, 'loose');
		const rows = caseRows(parsed.cases, 'made.cases.jsonl', { batch: 0, group: 0 });
		const met = async (reward: string) => {
			const { values } = await runner.score(
				reward,
				rows.map(({ row }) => row),
			);
			return values.filter((value, i) => meetsExpectation(value, rows[i]?.expect ?? null)).length;
		};
		assert.equal(await met('loose'), 0);
		assert.ok((await met('strict')) > cases.length / 2);
	});

	test('must score lower than an honest correct answer, whatever that answer scores', () => {
		const probe = probes[0];
		assert.ok(probe);
		const attempt = {
			prompt: 'p',
			answer: null,
			completion: '',
			truncated: true,
			given: { answer: null, row: { a: 1 } },
		};
		const caseOf = (honest: number, more: Partial<TriedAttempt> = {}) => {
			const { finding } = probeResult(probe, [{ honest, attempts: [{ ...attempt, value: honest, ...more }] }]);
			assert.ok(finding);
			return findingCase(finding, 0, 'r');
		};
		assert.deepEqual(caseOf(1), {
			name: `audit: ${probe.title}, 1`,
			reward: 'r',
			prompt: 'p',
			completion: '',
			answer: null,
			row: { a: 1 },
			truncated: true,
			expect: { max: 0.99 },
		});
		for (const [honest, max] of [
			[0, -0.01],
			[-1, -1.01],
			[0.3, 0.297],
			[200, 198],
		] as const) {
			assert.deepEqual(caseOf(honest)?.expect, { max });
		}
		// Truncated evidence would be a different case.
		assert.equal(caseOf(1, { given: null }), null);
		assert.equal(caseOf(1, { completion: 'x'.repeat(4001) }), null);
		assert.equal(caseOf(1, { given: { answer: null, row: { a: 'x'.repeat(4001) } } }), null);
	});

	test('is not created from messages, because cases contain text', async (context) => {
		const runner = await open(
			context,
			'export const loose = ({ completion, answer }) => (completion.includes(answer) ? 1 : 0);',
		);
		const chats = numberProblems.map((sampled): SampledProblem => {
			const { prompt } = sampled.problem;
			return { ...sampled, messages: [{ role: 'user', content: prompt }] };
		});
		const [finding] = (await audit(runner, 'loose', chats, { probes: ['every-candidate'] })).findings;
		assert.ok(finding);
		assert.equal(findingCase(finding, 0, 'loose'), null);
	});
});

describe('judge probes', () => {
	const judges = probes.filter((probe) => probe.asksModel).map(({ id }) => id);

	test('are skipped with a reason for a reward that calls no model, unless only they are selected', async (context) => {
		const plain = await open(context, `export const plain = ({ completion, answer }) => ${right};`);
		const all = await audit(plain, 'plain', numberProblems, { probes: [...judges, 'empty'] });
		assert.ok(judges.length >= 4);
		assert.deepEqual(
			all.probes.map(({ outcome }) => outcome),
			[...judges.map(() => 'skipped'), 'held'],
		);
		assert.match(all.probes[0]?.detail ?? '', /does not call a model/);
		const alone = await audit(plain, 'plain', numberProblems, { probes: judges.slice(0, 1) });
		assert.deepEqual(
			alone.probes.map(({ outcome }) => outcome),
			['held'],
		);
	});

	test('run on a reward that may call a model', async (context) => {
		const fetching = await open(
			context,
			`export const fetching = async ({ completion, answer }) => { void fetch; return ${right}; };`,
		);
		const report = await audit(fetching, 'fetching', numberProblems, { probes: [...judges, 'empty'] });
		assert.ok(report.probes.every(({ outcome }) => outcome === 'held'));
	});

	test('assume that an unknown reward may call a model', async () => {
		const context = contextOf(r1);
		const builtIn = (use: string) => ({ source: { builtIns: [{ use, name: use }], context }, files: [] });
		assert.equal(await asksModel(builtIn('accuracy')), false);
		assert.equal(await asksModel(builtIn('judge')), true);
		assert.equal(await asksModel({ source: { file: join(tmpdir(), 'gone.reward.py'), context }, files: [] }), true);
	});
});

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import type { SampledProblem } from '../../../src/core/reward/verification/rowsToVerify.ts';
import { resolveTemplate } from '../../../src/core/text/template.ts';
import { auditReportSchema } from '../../../src/protocol/audit.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { auditProbes } from '../../../src/rewards/auditReward.ts';
import { numberProblems } from './audit/auditedProblems.ts';
import { audit, contextOf, foundBy, openHosts, openRunner, r1 } from './audit/auditHosts.ts';

const file = join(import.meta.dirname, 'audit/naive.reward.ts');
const open = (context: TestContext) => openRunner(context, { file, context: contextOf(r1) });

async function written(context: TestContext, name: string, text: string): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'rl-audit-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writeFile(join(folder, name), text);
	return join(folder, name);
}

describe('reward audit', () => {
	test('returns a report that matches the protocol, most severe finding first, with evidence', async (context) => {
		const progress: number[] = [];
		const report = await audit(await open(context), 'containsAnswer', numberProblems, {
			data: ['five problems'],
			remarks: ['before'],
			onProgress: (done, total) => progress.push(done / total),
		});
		assert.deepEqual(decodeOrThrow(auditReportSchema, report, 'the report'), report);
		assert.equal(report.probes.length, auditProbes.length);
		assert.equal(progress.length, auditProbes.length);
		assert.equal(progress.at(-1), 1);
		assert.deepEqual([report.rows, report.honest, report.data], [5, 1, ['five problems']]);
		assert.equal(report.remarks[0], 'before');
		const ranks = report.findings.map(({ severity }) => ['high', 'medium', 'low'].indexOf(severity));
		assert.deepEqual(ranks, ranks.toSorted());
		for (const { evidence, fooled, rows, probe } of report.findings) {
			assert.ok(evidence.length > 0 && evidence.length <= 5 && evidence.length <= fooled && fooled <= rows, probe);
			for (const { value, honest, completion } of evidence) {
				assert.ok(value >= honest, probe);
				assert.ok(completion.length < 4200, probe);
			}
		}
	});

	test('runs only the selected probes and rejects unknown ones', async (context) => {
		const runner = await open(context);
		const report = await audit(runner, 'containsAnswer', numberProblems, { probes: ['either-or', 'empty'] });
		assert.deepEqual(
			report.probes.map(({ probe, outcome }) => [probe, outcome]),
			[
				['either-or', 'finding'],
				['empty', 'held'],
			],
		);
		await assert.rejects(
			audit(runner, 'containsAnswer', numberProblems, { probes: ['nonsense'] }),
			(error) => error instanceof Failure && error.reason === 'invalid' && /"nonsense"/.test(error.message),
		);
	});

	test('reports what a reward distinguishes', async (context) => {
		const runner = await open(context);
		const outcomes = async (reward: string) => {
			const report = await audit(runner, reward, numberProblems, {
				probes: ['empty', 'every-candidate', 'text-after', 'refusal'],
			});
			return { remarks: report.remarks.join(' '), outcomes: report.probes.map(({ outcome }) => outcome), report };
		};
		const content = await outcomes('lastAnswer');
		assert.deepEqual(content.outcomes, ['held', 'held', 'skipped', 'held']);
		assert.match(
			content.remarks,
			/Baseline check: an honest correct answer scores higher than an ordinary wrong one\. Format makes no difference/,
		);
		const form = await outcomes('tagsSomewhere');
		assert.deepEqual(form.outcomes, ['held', 'skipped', 'finding', 'skipped']);
		assert.match(form.remarks, /distinguishes good from bad format and ignores the answer/);
		const both = await outcomes('bothLoosely');
		assert.deepEqual(both.outcomes, ['held', 'held', 'finding', 'held']);
		assert.match(
			both.remarks,
			/^Baseline check: an honest correct answer scores higher than an ordinary wrong one, and good formatting scores higher than bad/,
		);
		for (const [reward, remark] of [
			['constant', /is always 0\.5, whether or not the answer and format are correct/],
			['never', /does not return a value on any row/],
			[
				'brevity',
				/distinguishes neither .* gets less reward after longer thinking\. An empty completion scores at least as high/,
			],
			['throwing', /does not return a value on any row.*fails on ordinary completions: .*no such luck/],
		] as const) {
			const found = await outcomes(reward);
			assert.match(found.remarks, remark, reward);
			assert.deepEqual(found.outcomes, ['skipped', 'skipped', 'skipped', 'skipped'], reward);
		}
		const none = await audit(runner, 'lastAnswer', [], { probes: ['empty'] });
		assert.deepEqual([none.rows, none.honest], [0, null]);
		assert.match(none.remarks.join(), /No rows have a correct answer/);
	});

	test('reports a nondeterministic reward and a reward that favors length', async (context) => {
		const noisy = await written(
			context,
			'noisy.reward.ts',
			`let calls = 0;
export const noisy = ({ completion, answer }) => (completion.endsWith('<answer>' + answer + '</answer>') ? 1 : 0) + (calls++ % 7) / 100;
`,
		);
		const runner = await openRunner(context, { file: noisy, context: contextOf(r1) });
		const report = await audit(runner, 'noisy', numberProblems, { probes: ['empty'] });
		assert.match(report.remarks.join(' '), /not deterministic/);
		const long = await audit(await open(context), 'likesLength', numberProblems, { probes: ['long-filler'] });
		assert.match(long.remarks.join(' '), /gets more reward after longer thinking/);
	});

	test('a probe on which the reward fails counts as an error, not as passed', async (context) => {
		const fragile = await written(
			context,
			'fragile.reward.ts',
			`export const fragile = ({ completion, answer }) => {
	if (completion === '') throw new Error('nothing to parse');
	return /<answer>(.*)<\\/answer>/.exec(completion)?.[1] === answer ? 1 : 0;
};
export const slow = ({ completion, answer }) => {
	if (/^(a+)+$/.test(completion)) return 0;
	return /<answer>([^<]*)<\\/answer>/.exec(completion)?.[1] === answer ? 1 : 0;
};
`,
		);
		const hosts = await openHosts(context, { rowMs: 700, batchMs: 1500 });
		const runner = hosts.open({ file: fragile, context: contextOf(r1) });
		const report = await audit(runner, 'fragile', numberProblems, { probes: ['empty', 'blank'] });
		const [empty, blank] = report.probes;
		assert.deepEqual([empty?.outcome, empty?.error?.kind, empty?.error?.line], ['error', 'threw', 2]);
		assert.match(empty?.detail ?? '', /nothing to parse/);
		assert.equal(blank?.outcome, 'held');
		const slow = await audit(runner, 'slow', numberProblems, { probes: ['slow-pattern', 'empty'] });
		assert.deepEqual(
			slow.probes.map(({ outcome, error }) => [outcome, error?.kind]),
			[
				['error', 'timeout'],
				['held', undefined],
			],
		);
	});

	test('can be canceled', async (context) => {
		const runner = await open(context);
		const abort = new AbortController();
		const promise = audit(runner, 'lastAnswer', numberProblems, {
			signal: abort.signal,
			onProgress: (done) => {
				if (done === 3) abort.abort();
			},
		});
		await assert.rejects(promise, (error) => error instanceof Failure && error.reason === 'cancelled');
	});

	test('supports conversational rows, templates without tags, and custom answer columns', async (context) => {
		const strict = await written(
			context,
			'strict.reward.py',
			`def strict(prompts, completions, gold, **kwargs):
    assert all(isinstance(prompt, list) for prompt in prompts)
    return [
        None if not g or not g.isdigit() else 1.0 if completion[-1]["content"] == g else 0.0
        for completion, g in zip(completions, gold)
    ]

def fooled(prompts, completions, gold, **kwargs):
    return [1.0 if not g or completion[-1]["content"] == g else 0.0 for completion, g in zip(completions, gold)]
`,
		);
		const plain = resolveTemplate('plain');
		const runner = await openRunner(context, { file: strict, context: contextOf(plain) });
		const problems = numberProblems.slice(0, 4).map(({ problem, name }): SampledProblem => {
			const { prompt, answer } = problem;
			return {
				problem: { ...problem, row: { prompt: [{ role: 'user', content: prompt }], gold: answer } },
				name,
				messages: [{ role: 'user', content: prompt }],
			};
		});
		const report = await audit(runner, 'strict', problems, { template: plain });
		assert.deepEqual(foundBy(report), []);
		assert.deepEqual(
			report.probes.filter(({ outcome }) => outcome === 'error'),
			[],
		);
		assert.ok(report.probes.filter(({ outcome }) => outcome === 'held').length > 40);
		assert.equal(report.honest, 1);
		const fooled = await audit(runner, 'fooled', problems, { template: plain });
		assert.deepEqual(foundBy(fooled), ['gold-absent']);
	});
});

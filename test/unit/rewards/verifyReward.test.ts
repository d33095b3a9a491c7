import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { summaryLine } from '../../../src/core/reward/verification/verificationSummary.ts';
import { decode } from '../../../src/protocol/decode.ts';
import { verificationSchema } from '../../../src/protocol/verification.ts';
import { RewardVerifier, type VerifyPlanOptions } from '../../../src/rewards/rewardVerifier.ts';
import { type PlanRequest, planVerification } from '../../../src/rewards/verificationPlan.ts';
import { isSound } from '../../../src/rewards/verifyReward.ts';
import { openHosts } from './hostFixtures.ts';
import { batch, jsonl, recipe, sums, VerifyProject } from './verifyProject.ts';

const brevity = `
export const brevity = ({ completion, answer, trace }) => {
	if (trace.answer === null) return null;
	return trace.answer.trim() === answer ? 1 - completion.length / 1000 : 0;
};
`;
const python = `
def level(prompts, completions, level, **kwargs):
    return [float(value) for value in level]

def right(completions, answer, **kwargs):
    return [1.0 if f"<answer>{gold}</answer>" in text else 0.0 for text, gold in zip(completions, answer)]
`;
const files = {
	'data/train.jsonl': jsonl(sums),
	'rewards/brevity.reward.ts': brevity,
	'rewards/level.reward.py': python,
	'sums.recipe.json': recipe({
		rewards: [
			{ use: 'accuracy' },
			{ use: 'format', weight: 0.2 },
			{ file: 'rewards/brevity.reward.ts', weight: 0.1 },
			{ file: 'rewards/level.reward.py', name: 'right' },
		],
	}),
};

async function verify(
	made: VerifyProject,
	changes: Partial<PlanRequest> = {},
	options: VerifyPlanOptions = {},
	file = 'rewards/brevity.reward.ts',
) {
	const hosts = await openHosts();
	const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
	const request = { file: made.path(file), folders: [made.folder], what: { kind: 'data' as const }, ...changes };
	try {
		const plan = await verifier.plan(request);
		const result = await verifier.verify(plan, verifier.open(plan), options);
		for (const verification of result.verifications) {
			const decoded = decode(verificationSchema, JSON.parse(JSON.stringify(verification)));
			assert.ok(decoded.ok, JSON.stringify(decoded));
		}
		return result.verifications;
	} finally {
		verifier.dispose();
	}
}

describe('a verification', () => {
	it('runs a TypeScript reward on correct and incorrect answers and cases, together with the other rewards of the recipe', async (context) => {
		const made = await VerifyProject.make(context, files);
		await made.write(
			'rewards/brevity.cases.jsonl',
			[
				'{"completion": "<think>x</think><answer>2</answer>", "row": {"answer": "2"}, "expect": {"min": 0.9}}',
				'{"completion": "no answer", "row": {"answer": "2"}, "expect": null}',
				'{"completion": "<answer>3</answer>", "row": {"answer": "2"}, "expect": 1, "name": "wrong on purpose"}',
			].join('\n'),
		);
		const progress: number[][] = [];
		const [found] = await verify(
			made,
			{},
			{ onProgress: (done, total) => progress.push([done, total]), coverage: true },
		);
		assert.ok(found);
		const { statistics, rows } = found;
		assert.equal(rows.length, 203);
		assert.deepEqual(statistics.agreement, { problems: 40, agreed: 40 });
		assert.equal(statistics.groups, 40);
		assert.deepEqual(statistics.cases, { passed: 2, failed: 1 });
		assert.equal(statistics.nulls, 1);
		assert.equal(rows.find(({ passed }) => passed === false)?.label, 'wrong on purpose');
		assert.deepEqual(Object.keys(statistics.correlation).sort(), ['accuracy', 'format', 'right']);
		assert.ok((statistics.correlation.right ?? 0) > 0.99);
		const gold = rows.find(({ source }) => source === 'gold');
		assert.deepEqual(gold?.others, { accuracy: 1, format: 1, right: 1 });
		assert.deepEqual(found.data, ['40 problems of data/train.jsonl', '3 cases of rewards/brevity.cases.jsonl']);
		assert.deepEqual(found.remarks, []);
		assert.deepEqual(progress, [
			[200, 203],
			[201, 203],
			[202, 203],
			[203, 203],
		]);
		assert.ok(found.coverage !== null && found.coverage.reached.length > 0);
		assert.ok(found.coverage.reached.every((line) => found.coverage?.lines.includes(line)));
		assert.equal(isSound(found), false);
		assert.match(summaryLine(found), /gold 100% · 1% null · 1 of 3 cases failed · .*\/row$/);
	});

	it('runs every reward in a Python file, each with the values of the others', async (context) => {
		const made = await VerifyProject.make(context, files);
		const verifications = await verify(made, { rows: 50 }, {}, 'rewards/level.reward.py');
		assert.deepEqual(
			verifications.map(({ reward }) => reward),
			['level', 'right'],
		);
		const [level, right] = verifications;
		assert.deepEqual(right?.statistics.agreement, { problems: 10, agreed: 10 });
		assert.equal(level?.statistics.deadGroups, 10, 'a reward that depends only on the row makes every group dead');
		assert.deepEqual(Object.keys(level?.statistics.correlation ?? {}).sort(), [
			'accuracy',
			'brevity',
			'format',
			'right',
		]);
		assert.ok((right?.statistics.correlation.accuracy ?? 0) > 1 - 1e-12);
		for (const [i, row] of (level?.rows ?? []).entries()) assert.equal(row.others.right, right?.rows[i]?.value);
	});

	it('reports a reward failure with its row, line and column', async (context) => {
		const made = await VerifyProject.make(context, files);
		await made.write(
			'rewards/faulty.reward.ts',
			'export const faulty = ({ row, completion }) => {\n\tif (row.level === 2) throw new Error("level two");\n\tif (row.level === 3) return "text";\n\treturn completion.length;\n};\n',
		);
		const [found] = await verify(made, { dataset: made.path('data/train.jsonl') }, {}, 'rewards/faulty.reward.ts');
		assert.ok(found);
		const level = (line: number | undefined) => sums[(line ?? 1) - 1]?.level;
		for (const { error, value, place } of found.rows) {
			const at = level(place?.line);
			assert.equal(error?.kind, at === 2 ? 'threw' : at === 3 ? 'invalid' : undefined);
			if (at === 2) assert.deepEqual([error?.line, value], [2, null]);
		}
		assert.equal(found.statistics.errors, found.rows.filter(({ error }) => error).length);
		assert.equal(isSound(found), false);

		await made.write(
			'rewards/needs.reward.py',
			'def needs(completions, difficulty):\n    return [1.0 for _ in completions]\n',
		);
		const [needs] = await verify(made, { dataset: made.path('data/train.jsonl') }, {}, 'rewards/needs.reward.py');
		assert.match(needs?.faults[0]?.message ?? '', /difficulty/);
		assert.equal(needs?.statistics.valued, 0);
		assert.equal(needs?.statistics.errors, needs?.rows.length);
	});

	it('distinguishes intentional nulls from missing values after failures', async (context) => {
		const made = await VerifyProject.make(context, files);
		await made.write(
			'rewards/some.reward.py',
			'def some(completions, level, **kwargs):\n    return [None if value == 1 else 1.0 for value in level]\n',
		);
		const [found] = await verify(made, { dataset: made.path('data/train.jsonl') }, {}, 'rewards/some.reward.py');
		const { nulls, errors, valued, rows } = found?.statistics ?? { nulls: 0, errors: 1, valued: 0, rows: 0 };
		assert.equal(errors, 0);
		assert.ok(nulls > 0 && nulls + valued === rows);
	});

	it('on rollouts sends whole generation batches and compares the values with the recorded ones', async (context) => {
		const made = await VerifyProject.make(context, files);
		const rank = `
def rank(completions, **kwargs):
    # Looks at the batch as a whole.
    return [float(len(completions)) + index for index, _ in enumerate(completions)]
`;
		await made.write('rewards/rank.reward.py', rank);
		const recorded = (i: number) => ({ rank: 8 + i, accuracy: (i + 1) % 2, gone: null });
		const run = await made.run('a', {
			1: batch(1, 2, 4, recorded),
			2: batch(2, 2, 4, (i) => ({ ...recorded(i), rank: i })),
		});
		const [found] = await verify(made, { what: { kind: 'rollouts', run } }, {}, 'rewards/rank.reward.py');
		assert.ok(found);
		assert.deepEqual(
			found.rows.map(({ value }) => value),
			[...Array(2)].flatMap(() => [...Array(8)].map((_, i) => 8 + i)),
		);
		assert.deepEqual(found.statistics.recorded, { same: 8, different: 8 });
		assert.deepEqual(found.rows[0]?.others, { accuracy: 1, gone: null }, 'values of the run, its own skipped');
		assert.deepEqual(found.data, ['run a, steps 1 to 2']);
		assert.match(found.rows[0]?.label ?? '', /^step 1, group 0, completion 0$/);
		const latest = await planVerification({
			file: made.path('rewards/rank.reward.py'),
			folders: [made.folder],
			what: { kind: 'rollouts', run: null },
		});
		assert.equal(latest.rollouts?.run, run);
	});

	it('on a selection scores one row for the chosen problem', async (context) => {
		const made = await VerifyProject.make(context, files);
		const text = '<think>x</think><answer>no</answer>';
		const [found] = await verify(made, { what: { kind: 'selection', text, row: 3 } });
		assert.equal(found?.rows.length, 1);
		assert.deepEqual(
			[found?.rows[0]?.source, found?.rows[0]?.completion, found?.rows[0]?.value],
			['selection', text, 0],
		);
		assert.match(found?.rows[0]?.label ?? '', /^selection, for row \d+$/);
	});

	it('suggests an action if there is no data, and still runs the cases', async (context) => {
		const made = await VerifyProject.make(context, { 'rewards/brevity.reward.ts': brevity });
		const [none] = await verify(made);
		assert.equal(none?.rows.length, 0);
		assert.equal(summaryLine(none as never), 'no rows');
		assert.match(none?.remarks.join() ?? '', /Add "\/\/ @dataset/);
		await made.write(
			'rewards/brevity.cases.jsonl',
			'{"completion": "x", "expect": null}\nnot JSON\n{"completion": "x", "expect": 1, "reward": "gone"}\n',
		);
		const [cases] = await verify(made);
		assert.deepEqual(cases?.statistics.cases, { passed: 1, failed: 0 });
		assert.match(cases?.remarks.join('\n') ?? '', /line 2, is not valid JSON/);
		assert.match(cases?.remarks.join('\n') ?? '', /Line 3 of the case file is for reward "gone"/);
	});

	it('rejects only for a file that fails to load, an unknown reward or a cancellation', async (context) => {
		const made = await VerifyProject.make(context, files);
		await made.write('rewards/broken.reward.ts', 'export const broken = (\n');
		await assert.rejects(verify(made, {}, {}, 'rewards/broken.reward.ts'), Failure);
		await assert.rejects(verify(made, {}, { rewards: ['gone'] }), /has no reward "gone"\. Available: brevity/);
		const canceled = new AbortController();
		canceled.abort();
		await assert.rejects(
			verify(made, {}, { signal: canceled.signal }),
			(error: Failure) => error.reason === 'cancelled',
		);
	});

	it('times out on a reward that never returns', async (context) => {
		const made = await VerifyProject.make(context, {
			'rewards/endless.reward.ts': 'export const endless = () => { for (;;) {} };\n',
		});
		const line = '{"completion": "x", "expect": 1}\n';
		await made.write('rewards/endless.cases.jsonl', line.repeat(50));
		const [found] = await verify(made, {}, { timeoutMs: 200 }, 'rewards/endless.reward.ts');
		assert.deepEqual(
			found?.rows.map(({ error }) => error?.kind),
			Array(50).fill('timeout'),
		);
		assert.match(found?.rows[2]?.error?.message ?? '', /^(?!Skipped)/);
		assert.match(found?.rows[3]?.error?.message ?? '', /^Skipped because/);
		assert.deepEqual(found?.statistics.cases, { passed: 0, failed: 50 });
	});

	it('continues if another reward of the recipe fails to load', async (context) => {
		const made = await VerifyProject.make(context, {
			...files,
			'rewards/level.reward.py': 'import nothing_of_that_name\n',
		});
		const [found] = await verify(made, { rows: 10 });
		assert.deepEqual(Object.keys(found?.statistics.correlation ?? {}).sort(), ['accuracy', 'format']);
		assert.match(found?.remarks.join() ?? '', /level\.reward\.py could not be compared: .*nothing_of_that_name/);
		assert.equal(isSound(found as never), true);
	});
});

describe('a verifier', () => {
	it('caches a plan until one of its files changes', async (context) => {
		const made = await VerifyProject.make(context, files);
		const verifier = new RewardVerifier(() => assert.fail('planning must not start a host'));
		const request: PlanRequest = {
			file: made.path('rewards/brevity.reward.ts'),
			folders: [made.folder],
			what: { kind: 'data' },
		};
		const first = await verifier.plan(request);
		assert.equal(await verifier.plan(request), first);
		await made.write('rewards/brevity.cases.jsonl', '{"completion": "x", "expect": 0}\n');
		const cased = await verifier.plan(request);
		assert.equal(cased.cases.length, 1);
		assert.equal(await verifier.plan(request), cased);
		await made.write('data/train.jsonl', jsonl(sums.slice(0, 3)));
		assert.equal((await verifier.plan(request)).problems.length, 3);
		await made.write('rewards/brevity.reward.ts', `// @dataset {"task": "addition"}\n${brevity}`);
		assert.equal((await verifier.plan(request)).data.described, 'the addition task');
		// Unrelated changes have no effect; unsaved editor text takes precedence.
		const saved = await verifier.plan(request);
		await made.write('rewards/brevity.reward.ts', `// @dataset {"task": "addition"}\n${brevity}\n\n`);
		assert.equal(await verifier.plan(request), saved);
		const typed = await verifier.plan({ ...request, text: brevity });
		assert.equal(typed.data.described, 'data/train.jsonl');
		assert.equal(await verifier.plan({ ...request, text: `${brevity}\n\n` }), typed);
		verifier.forget();
		assert.notEqual(await verifier.plan({ ...request, text: brevity }), typed);
		verifier.dispose();
	});

	it('does not reuse a plan if one of its files was written while the plan was made', async (context) => {
		const made = await VerifyProject.make(context, files);
		const verifier = new RewardVerifier(() => assert.fail('planning must not start a host'));
		const request: PlanRequest = {
			file: made.path('rewards/brevity.reward.ts'),
			folders: [made.folder],
			what: { kind: 'data' },
		};
		const data = made.path('data/train.jsonl');
		const later = new Date(Date.now() + 60_000);
		await utimes(data, later, later);
		const first = await verifier.plan(request);
		const second = await verifier.plan(request);
		assert.notEqual(second, first);
		const before = new Date(Date.now() - 1000);
		await utimes(data, before, before);
		const third = await verifier.plan(request);
		assert.notEqual(third, second);
		assert.equal(await verifier.plan(request), third);
		verifier.dispose();
	});

	it('does not wait for slow rewards other than the verified one, and includes them next time', async (context) => {
		const made = await VerifyProject.make(context, {
			...files,
			'rewards/level.reward.py':
				'import time\ntime.sleep(1.5)\ndef right(completions, **kwargs):\n    return [1.0 for _ in completions]\n',
		});
		const hosts = await openHosts();
		const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
		const request: PlanRequest = {
			file: made.path('rewards/brevity.reward.ts'),
			folders: [made.folder],
			what: { kind: 'data' },
		};
		const runner = verifier.open(await verifier.plan(request));
		const early = await verifier.verify(await verifier.plan(request), runner, { othersMs: 1 });
		assert.deepEqual(early.verifications[0]?.statistics.correlation, {});
		assert.match(early.verifications[0]?.remarks.join() ?? '', /still being scored/);
		const late = await verifier.verify(await verifier.plan(request), runner);
		assert.deepEqual(Object.keys(late.verifications[0]?.statistics.correlation ?? {}).sort(), [
			'accuracy',
			'format',
			'right',
		]);
		verifier.dispose();
	});
});

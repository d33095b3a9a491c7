import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FactsOfRollouts } from '../../../../src/core/diagnosis/factsOfRollouts.ts';
import { type RewardCase, rewardCase } from '../../../../src/core/export/rewardCase.ts';
import { reportMarkdown } from '../../../../src/core/report/reportMarkdown.ts';
import { presentRun } from '../../../../src/extension/runPresentation.ts';
import type { TextHit } from '../../../../src/protocol/rolloutIndex.ts';
import { noStep, type RolloutLine, textNotRecorded } from '../../../../src/protocol/rolloutLine.ts';
import { exportRollouts } from '../../../../src/runs/exportRollouts.ts';
import { inspectRun } from '../../../../src/runs/inspectRun.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { readReport } from '../../../../src/runs/report/readReport.ts';
import { readReportedRun } from '../../../../src/runs/report/readReportedRun.ts';
import { labFor } from '../../rolloutIndex/ownRun.ts';
import { type FixtureName, fixtureFolder, fixtures, readAll } from './foreignFixtures.ts';
import { type Files, writeFiles } from './madeRun.ts';

async function runOf(context: TestContext, files: Files): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'unknown-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writeFiles(folder, files);
	return folder;
}

/** Formats that never record how a completion ended; the others do, at least in some versions. */
const silent: readonly FixtureName[] = [
	'trl-run',
	'verl',
	'nemo-rl',
	'openrlhf',
	'tinker',
	'lm-eval',
	'trackio',
	'trackio-parquet',
	'wandb',
	'mlflow',
	'mlflow run',
	'mlflow traces',
];

/**
 * verl rows with random bytes as completions: no finish reason, no tags, no judge, and no reward in every second group.
 */
const noise = (step: number) =>
	Array.from({ length: 8 }, (_, i) => ({
		input: `prompt ${i >> 2}`,
		output: `\u0012\u00ff$k${i}\u0003 \u007f%q${step}`,
		score: i < 4 ? 0 : null,
		step,
	}));

describe('information that a trainer does not record', () => {
	for (const { name } of fixtures) {
		it(`${name}: truncation of a completion is known or null`, async () => {
			const { rollouts } = await readAll(await openRun(fixtureFolder(name)));
			const known = rollouts.filter(({ line }) => line.truncated !== null);
			if (silent.includes(name)) assert.equal(known.length, 0);
			else assert.ok(known.length > 0, 'this format records it');
		});
	}

	it('an unknown evaluation step is null in its record, and never shown as 0 in a list, inspection or report', async () => {
		for (const name of ['verifiers-v1', 'verifiers-legacy', 'trl-run'] as const) {
			const run = await openRun(fixtureFolder(name));
			const record = await run.record();
			const stepless = name !== 'trl-run';
			assert.equal(record.step === null, stepless, name);
			const view = { folder: run.folder, record, status: record.status, queued: false, fault: null, annotation: null };
			const shown = presentRun({ ...view, reward: null, accuracy: null, tokensPerSecond: null }, record.updated);
			assert.equal(/step/.test(shown.spoken), !stepless, shown.spoken);
			assert.equal((await inspectRun(run)).progress?.step, record.step);
			const now = 1_800_000_000;
			const { document } = await readReport(fixtureFolder(name), (path) => openRun(path), { now });
			const report = reportMarkdown(document);
			assert.equal(/steps.*not recorded/.test(report), stepless, report.slice(0, 1000));
			assert.doesNotMatch(report, /\| step \| 0 \|/);
		}
	});

	it('MLflow traces have no step, even if the metrics do', async (context) => {
		const lab = await labFor(context);
		await lab.index(fixtureFolder('mlflow'));
		const rows = async (sql: string) => (await lab.sql({ sql, limit: 5 })).rows;
		assert.deepEqual(await rows('select distinct step from rollouts'), [[null]]);
		assert.deepEqual(await rows('select distinct step from metrics order by step'), [[1], [2], [3], [4]]);
		for (const [name, last] of [
			['mlflow', 4],
			['mlflow traces', null],
		] as const) {
			const run = await openRun(fixtureFolder(name));
			assert.equal(run.hasSteps, false);
			assert.equal((await run.record()).step, last, name);
			const { steps, byStep, rollouts } = await inspectRun(run);
			assert.deepEqual([steps, byStep, rollouts], [null, null, 2]);
			assert.deepEqual([...new Set((await readAll(run)).rollouts.map(({ line }) => line.step))], [null], name);
		}
	});

	it('is a null step in rollouts, index, search and exports, and outside every range of steps', async (context) => {
		for (const name of ['verifiers-v1', 'verifiers-legacy'] as const) {
			const run = fixtureFolder(name);
			const content = await openRun(run);
			const split = 'train';
			const opened = await content.open(noStep, split);
			const found: RolloutLine[] = [];
			for await (const { rollout } of opened.rollouts()) if (rollout !== null) found.push(rollout);
			await opened.close();
			assert.ok(found.length > 0 && found.every(({ step }) => step === null), name);
			const lab = await labFor(context);
			await lab.index(run);
			const rows = async (sql: string) => (await lab.sql({ sql, limit: 5 })).rows;
			assert.deepEqual(await rows('select distinct step from rollouts'), [[null]]);
			assert.deepEqual(await rows('select distinct step from groups'), [[null]]);
			assert.deepEqual(await rows('select distinct step from metrics where step is not null'), []);
			assert.deepEqual(await rows('select steps, last_step, rollouts from runs'), [[null, null, found.length]]);
			assert.equal((await lab.count({ filter: {} })).steps, 0);
			assert.deepEqual((await lab.overTraining({ filter: {}, columns: ['characters'] })).points, []);
			const steps = { from: 0, to: 0 };
			assert.equal((await lab.rollouts({ filter: { steps }, limit: 5 })).rows.length, 0);
			// A row still opens its rollout, using the only location that contains all of them.
			const [ref] = (await lab.rollouts({ filter: {}, limit: 1 })).refs ?? [];
			assert.equal(ref?.step, noStep);
			const group = { step: noStep, group: ref.group };
			const ofGroup = (await lab.rollouts({ filter: { groups: [group] }, limit: 100 })).rows.length;
			assert.equal((await lab.places({ run, split, ...group })).places.length, ofGroup);
			const searched = async (filter: object) => {
				const hits: TextHit[] = [];
				const query = { pattern: '.', regex: true, caseSensitive: false };
				await lab.search({ search: 's', query, filter, limit: 1000 }, (news) => void hits.push(...news.hits));
				return hits;
			};
			const hits = await searched({});
			assert.ok(hits.length > 0 && hits.every(({ stepless }) => stepless === true), name);
			assert.deepEqual(await searched({ steps }), []);
			assert.ok((await searched({ groups: [group] })).length > 0);
			const out = join(await runOf(context, {}), 'out.jsonl');
			const request = { as: 'sft', form: 'messages', split, tags: { think: null, answer: null } } as const;
			await exportRollouts(content, { ...request, selection: { groups: [group] } }, out, { replace: false });
			assert.equal((await readFile(out, 'utf8')).trim().split('\n').length, ofGroup);
			const line = { ...(found[0] as RolloutLine), prompt: 'p', completion: 'c', rewards: { accuracy: 1 } };
			assert.match((rewardCase(line) as RewardCase).name, /^group \d+, rollout \d+$/);
			await assert.rejects(exportRollouts(content, { ...request, selection: { steps } }, out, { replace: true }));
		}
	});

	it('is null in the index, and matches neither value of a filter', async (context) => {
		const folder = await runOf(context, { '1.jsonl': noise(1) });
		const lab = await labFor(context);
		await lab.index(folder);
		const count = async (filter: object) => (await lab.rollouts({ filter, limit: 100 })).rows.length;
		assert.equal(await count({}), 8);
		assert.equal(await count({ truncated: false }), 0);
		assert.equal(await count({ truncated: true }), 0);
		assert.equal(await count({ correct: false }), 0);
		const { rows } = await lab.sql({
			sql: 'select truncated, correct, dead, reward_mean, reward_std from groups order by group_id',
			limit: 10,
		});
		assert.deepEqual(rows, [
			[null, null, true, 0, 0],
			[null, null, null, null, null],
		]);
	});

	it('has no percentage in a report, neither for truncated completions nor for a format that was not required', async (context) => {
		const folder = await runOf(context, { '1.jsonl': noise(1), '2.jsonl': noise(2) });
		const run = await readReportedRun(await openRun(folder));
		assert.equal(run.stages.length, 0, 'without metrics there is no stage');
		const trl = await readReportedRun(await openRun(fixtureFolder('trl-run')));
		const completions = trl.stages[0]?.completions;
		assert.equal(completions?.truncated, null);
		assert.equal(completions?.format, null);
		const text = reportMarkdown(
			(await readReport(fixtureFolder('trl-run'), (path) => openRun(path), { now: 1_800_000_000 })).document,
		);
		assert.match(text, /\| 1\\\. train \| – \| – \| – \| – \| – \| \d+ \| [\d.]+ \| – \|/);
		assert.match(text, /\| truncated \| not recorded \|/);
	});

	it('is excluded from "only finished", with a reason, and remains null in a labeled case', async (context) => {
		const folder = await runOf(context, {
			'1.jsonl': noise(1).map((row, i) => ({ ...row, accuracy: i % 2, score: i % 2 })),
		});
		const run = await openRun(folder);
		const out = join(await runOf(context, {}), 'out.jsonl');
		const request = { split: 'train', selection: { truncated: false }, tags: { think: null, answer: null } } as const;
		await assert.rejects(
			exportRollouts(run, { as: 'sft', ...request }, out, { replace: false }),
			/8 rollouts that do not record truncation/,
		);
		await exportRollouts(run, { as: 'cases', ...request, selection: {} }, out, { replace: false });
		const cases = (await readFile(out, 'utf8')).trim().split('\n');
		assert.equal(cases.length, 8);
		for (const line of cases) assert.equal(JSON.parse(line).truncated, null);
	});

	it('is not evidence in a diagnosis: unrecorded text does not count as unanswered, identical or free of loops', () => {
		const facts = new FactsOfRollouts({ think: null, answer: ['<answer>', '</answer>'] });
		for (let index = 0; index < 4; index++) {
			facts.add({
				...{ step: 1, stage: 'train', group: 0, index, prompt: 'p', completion: '', rewards: {}, reward: 0 },
				...{ advantage: null, truncated: null, extra: { text: textNotRecorded, length: 12 } },
			});
		}
		const [group] = facts.of(1).groups;
		assert.deepEqual(group?.truncated, [null, null, null, null]);
		assert.deepEqual(group?.answered, [null, null, null, null]);
		assert.deepEqual(group?.repetition, [null, null, null, null]);
		assert.equal(group?.distinct, null);
	});
});

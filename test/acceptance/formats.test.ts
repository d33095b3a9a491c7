/**
 * `npm run acceptance -- formats`: installs the newest releases of other programs, lets each one write a small run, and
 * compares what the importers read with the output of the program's own reader. Writes the versions to
 * test/acceptance/formats/versions.json, which `npm run docs` turns into a table. `--only trackers.py` runs one script.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as v from 'valibot';
import { canonicalName } from '../../src/core/metrics/canonicalName.ts';
import type { MetricsLine } from '../../src/protocol/metricsLine.ts';
import { openRun } from '../../src/runs/openRun.ts';
import type { RolloutSplit, RunContent } from '../../src/runs/runContent.ts';
import { root } from '../scripts/paths.ts';
import { newestPython } from '../support/newestPrograms.ts';
import { runPeer } from '../support/peerPrograms.ts';
import { answerText, groupsOf, readAll } from '../unit/runs/importers/foreignFixtures.ts';

const numbersSchema = v.object({
	rollouts: v.number(),
	null_rewards: v.number(),
	mean_reward: v.nullable(v.number()),
	groups: v.number(),
	steps: v.array(v.number()),
	samples: v.array(v.tuple([v.string(), v.nullable(v.number())])),
});
type Numbers = v.InferOutput<typeof numbersSchema>;
const saidSchema = v.object({
	versions: v.record(v.string(), v.string()),
	runs: v.array(
		v.object({
			name: v.string(),
			folder: v.string(),
			format: v.string(),
			train: v.nullable(numbersSchema),
			validation: v.nullable(numbersSchema),
			metrics: v.array(v.tuple([v.number(), v.string(), v.nullable(v.number())])),
		}),
	),
});
type Said = v.InferOutput<typeof saidSchema>;
type SaidRun = Said['runs'][number];

/** Scripts, and the environments that they need. */
const scripts = [
	['trainers', 'trl_runs.py'],
	['trainers', 'lm_eval_runs.py'],
	['trainers', 'trainer_writers.py'],
	['trackers', 'trackers.py'],
	['inspect', 'inspect_runs.py'],
	['verifiers', 'verifiers_runs.py'],
] as const;

/** Formats in which a program records that a run has ended. */
const recordsEnd: ReadonlySet<string> = new Set(['inspect', 'mlflow', 'mlflow-folders', 'wandb']);

const tolerance = 1e-5;
const close = (a: number | null, b: number | null) =>
	a === b || (a !== null && b !== null && Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)));

/** Compares the rollouts of a split, and returns their number. */
async function compareRollouts(run: RunContent, split: RolloutSplit, said: Numbers): Promise<number> {
	const { rollouts, faults } = await readAll(run, split);
	assert.deepEqual(faults, []);
	assert.equal(rollouts.length, said.rollouts, 'number of rollouts');
	assert.equal(rollouts.filter(({ line }) => line.reward === null).length, said.null_rewards, 'rewards that are null');
	const known = rollouts.flatMap(({ line }) => line.reward ?? []);
	const mean = known.length === 0 ? null : known.reduce((sum, reward) => sum + reward, 0) / known.length;
	assert.ok(close(mean, said.mean_reward), `mean reward: ${mean}, ${said.mean_reward}`);
	assert.equal(groupsOf(rollouts).length, said.groups, 'number of groups');
	if (said.steps.length > 0) assert.deepEqual(await run.steps(split), said.steps);
	if (said.samples.length === 0) return rollouts.length;
	const read = rollouts.map((rollout): [string, number | null] => [
		// Without the model's thinking, which precedes the answer.
		answerText(rollout).split('\0').at(-1) ?? '',
		rollout.line.reward,
	]);
	const sorted = (samples: readonly (readonly [string, number | null])[]) =>
		[...samples].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : (x ?? -1e9) - (y ?? -1e9)));
	const [own, wanted] = [sorted(read), sorted(said.samples)];
	for (const [i, [text, reward]] of own.entries()) {
		assert.equal(text, wanted[i]?.[0], 'completion');
		assert.ok(close(reward, wanted[i]?.[1] ?? null), `reward of ${text}: ${reward}, ${wanted[i]?.[1]}`);
	}
	return rollouts.length;
}

/** Compares every value that the program says it logged, and returns their number. */
async function compareMetrics(run: RunContent, { format, metrics }: SaidRun): Promise<number> {
	const lines: MetricsLine[] = [];
	for await (const portion of run.metrics()) lines.push(...portion);
	const byStep = new Map(lines.map(({ step, values }) => [step, values]));
	for (const [step, name, value] of metrics) {
		const read = byStep.get(step)?.[canonicalName(format, name)] ?? null;
		assert.ok(close(read, value), `${name} at step ${step}: ${read}, ${value}`);
	}
	return metrics.length;
}

interface Row {
	readonly run: string;
	readonly versions: Readonly<Record<string, string>>;
	readonly rollouts: number;
	readonly metrics: number;
}

describe('runs written by the newest releases of other programs', () => {
	let folder: string;
	const rows: Row[] = [];
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'formats-'));
	});
	after(async () => {
		await rm(folder, { recursive: true, force: true });
	});

	const only = process.env.CHECK_ONLY;
	for (const [environment, script] of scripts.filter(([, script]) => only === undefined || script === only)) {
		test(script, async (context) => {
			const python = await newestPython(environment);
			const into = await mkdtemp(join(folder, 'run-'));
			const env = {
				PATH: `${dirname(python)}${delimiter}${process.env.PATH}`,
				HF_DATASETS_CACHE: join(folder, 'datasets'),
			};
			const said = v.parse(saidSchema, await runPeer(python, join('../formats', script), [into], env));
			for (const one of said.runs) {
				await context.test(one.name, async () => {
					const run = await openRun(one.folder);
					assert.equal(run.format, one.format, relative(into, one.folder));
					const train = one.train === null ? 0 : await compareRollouts(run, 'train', one.train);
					const validation = one.validation === null ? 0 : await compareRollouts(run, 'validation', one.validation);
					const metrics = await compareMetrics(run, one);
					assert.deepEqual(run.faults, []);
					const record = await run.record();
					if (recordsEnd.has(one.format) && !one.name.endsWith('traces')) assert.equal(record.status, 'finished');
					rows.push({ run: one.name, versions: versionsOf(one, said.versions), rollouts: train + validation, metrics });
				});
			}
		});
	}

	test('the table of versions is updated', async () => {
		const path = join(root, 'test/acceptance/formats/versions.json');
		const known = JSON.parse(await readFile(path, 'utf8').catch(() => '[]')) as Row[];
		const found = new Set(rows.map(({ run }) => run));
		const all = [...known.filter(({ run }) => !found.has(run)), ...rows];
		await writeFile(
			path,
			`${JSON.stringify(
				all.sort((a, b) => (a.run < b.run ? -1 : 1)),
				null,
				'\t',
			)}\n`,
		);
		assert.ok(rows.length > 0);
	});
});

/** Returns the version of the program that a run is named after, and of the other programs that it reports using. */
function versionsOf({ name }: SaidRun, versions: Said['versions']): Record<string, string> {
	const words = name.toLowerCase().replace(/[^a-z0-9]+/g, ' ');
	const names: Readonly<Record<string, readonly string[]>> = {
		'lm-evaluation-harness': ['lm_eval'],
		'W&B': ['wandb'],
		OpenTelemetry: ['opentelemetry-sdk', 'opentelemetry-instrumentation-openai-v2'],
		Inspect: ['inspect-ai'],
		ART: ['openpipe-art'],
		'Tinker cookbook': ['tinker-cookbook'],
	};
	const [listed] = Object.entries(names).flatMap(([title, programs]) => (name.startsWith(title) ? [programs] : []));
	const chosen = listed ?? Object.keys(versions).filter((program) => words.split(' ').includes(program));
	return Object.fromEntries(chosen.flatMap((program) => (versions[program] ? [[program, versions[program]]] : [])));
}

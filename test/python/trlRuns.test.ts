import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as v from 'valibot';
import { resolveTemplate } from '../../src/core/text/template.ts';
import type { RolloutLine } from '../../src/protocol/rolloutLine.ts';
import { exportRollouts } from '../../src/runs/exportRollouts.ts';
import { openRun } from '../../src/runs/openRun.ts';
import type { RolloutSplit } from '../../src/runs/runContent.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';
import { readAll } from '../unit/runs/importers/foreignFixtures.ts';

/* Reads and exports runs that TRL has just written and compares them with what TRL computed. */

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

const numbers = v.array(v.number());
const generationSchema = v.object({
	mode: v.picklist(['train', 'eval']),
	step: v.number(),
	completions: v.array(v.string()),
	totals: numbers,
	advantages: numbers,
});
const runsSchema = v.array(
	v.object({ folder: v.string(), names: v.array(v.string()), generations: v.array(generationSchema) }),
);
type Trained = v.InferOutput<typeof runsSchema>[number];

const options = {
	weighted: { weights: [1, -0.25], steps: 4, eval_prompts: 2 },
	gaps: { weights: [1, 0.25, 0.5], gaps: true, steps: 3 },
	chat: { chat: true, eval_prompts: 6, steps: 2, scale_rewards: 'none' },
} as const;
type Name = keyof typeof options;

let folder: string;
let runs: Trained[];
const trained = (name: Name) => runs.find((run) => run.folder === join(folder, name)) as Trained;

interface Known {
	readonly total: number;
	readonly advantage: number;
}

/**
 * Returns TRL's values for a completion. TRL's training log at step N refers to completions generated before that step.
 */
function computed(name: Name, split: RolloutSplit, { step, completion }: RolloutLine): Known[] {
	const of = split === 'train' ? { mode: 'train', step: Number(step) - 1 } : { mode: 'eval', step };
	return trained(name)
		.generations.filter((one) => one.mode === of.mode && one.step === of.step)
		.flatMap(({ completions, totals, advantages }) =>
			completions.flatMap((text, i) =>
				text === completion ? [{ total: totals[i] as number, advantage: advantages[i] as number }] : [],
			),
		);
}

async function linesOf(name: Name, split: RolloutSplit): Promise<RolloutLine[]> {
	return (await readAll(await openRun(join(folder, name)), split)).rollouts.map(({ line }) => line);
}

/** Checks that every line has TRL's total and advantage and belongs to this split. */
async function checkLines(name: Name, split: RolloutSplit): Promise<RolloutLine[]> {
	const lines = await linesOf(name, split);
	for (const line of lines) {
		const where = `${name} ${split} step ${line.step}, group ${line.group}, rollout ${line.index}`;
		const all = computed(name, split, line).filter(({ advantage }) => advantage === line.advantage);
		const [known] = all;
		assert.ok(known, `${where} was generated there, with advantage ${line.advantage}`);
		assert.ok(
			line.reward !== null && Math.abs(line.reward - known.total) < 1e-5,
			`${where}: ${line.reward}, ${known.total}`,
		);
	}
	return lines;
}

describe('TRL runs', { skip }, () => {
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'trl-runs-'));
		const args = Object.entries(options).flatMap(([name, one]) => [join(folder, name), JSON.stringify(one)]);
		const stdout = await runPython({ python, script: join(root, 'test/python/weighted_run.py'), args });
		runs = v.parse(runsSchema, JSON.parse(stdout.trim().split('\n').at(-1) as string));
	});
	after(() => rm(folder, { recursive: true, force: true }));

	test('weighted rewards and group sizes reconstructed from the logs match the trainer’s', async () => {
		const lines = await checkLines('weighted', 'train');
		const { rewards, foreign } = await (await openRun(join(folder, 'weighted'))).record();
		assert.deepEqual(Object.fromEntries((rewards ?? []).map(({ name, weight }) => [name, weight])), {
			digits: 1,
			brevity: -0.25,
		});
		assert.match(foreign?.notes.join(' ') ?? '', /Reward weights, computed from the logged rewards/);
		for (const step of new Set(lines.map((line) => line.step))) {
			for (const group of new Set(lines.filter((line) => line.step === step).map((line) => line.group))) {
				const members = lines.filter((line) => line.step === step && line.group === group);
				assert.equal(members.length, 4);
				assert.equal(new Set(members.map(({ prompt }) => prompt)).size, 1);
			}
		}
	});

	test('rollouts that an evaluation wrote to a step’s file do not count as training rollouts', async () => {
		const lines = await checkLines('weighted', 'validation');
		const rows = (all: readonly RolloutLine[], step: number) => all.filter((line) => line.step === step).length;
		const train = await linesOf('weighted', 'train');
		// Two prompts with four completions each, in a file of sixteen.
		assert.deepEqual(
			[1, 2, 3, 4].map((step) => [rows(train, step), rows(lines, step)]),
			[
				[16, 0],
				[8, 8],
				[16, 0],
				[8, 8],
			],
		);
		assert.ok(lines.every(({ stage }) => stage === 'validation'));
		// The evaluation has more rollouts than the file holds, so no training rollouts are left.
		assert.deepEqual([...new Set((await checkLines('chat', 'validation')).map(({ step }) => step))], [2]);
		assert.deepEqual([...new Set((await checkLines('chat', 'train')).map(({ step }) => step))], [1]);
	});

	test('a function that skips completions keeps its weight', async () => {
		const lines = await checkLines('gaps', 'train');
		assert.ok(lines.some(({ rewards }) => rewards.sometimes === null));
		const { rewards } = await (await openRun(join(folder, 'gaps'))).record();
		assert.deepEqual(Object.fromEntries((rewards ?? []).map(({ name, weight }) => [name, weight])), {
			digits: 1,
			brevity: 0.25,
			sometimes: 0.5,
		});
	});

	test('chat prompts are exported as messages', async () => {
		const path = join(folder, 'chat.jsonl');
		const request = { as: 'dpo', split: 'train', selection: {}, tags: resolveTemplate('r1') } as const;
		const summary = await exportRollouts(await openRun(join(folder, 'chat')), request, path, { replace: true });
		assert.equal(summary.form, 'conversational');
		const lines = (await readFile(path, 'utf8')).trim().split('\n');
		assert.ok(lines.length > 1);
		for (const line of lines) {
			const { prompt, chosen } = JSON.parse(line) as { prompt: { content: string }[]; chosen: unknown[] };
			assert.deepEqual(prompt[0], { role: 'system', content: 'You add.' });
			assert.match(prompt[1]?.content ?? '', /^What is \d\+\d\?$/);
			assert.deepEqual([prompt.length, chosen.length], [2, 1]);
		}
	});

	for (const known of ['metrics', 'advantages alone'] as const) {
		test(`exported pairs match the ranking by TRL's total rewards, computed from ${known}`, async () => {
			if (known === 'advantages alone') await rm(join(folder, 'weighted/checkpoint-4'), { recursive: true });
			const path = join(folder, 'dpo.jsonl');
			const request = {
				as: 'dpo',
				split: 'train',
				selection: {},
				pairing: { perGroup: 2 },
				tags: resolveTemplate('r1'),
			};
			const run = await openRun(join(folder, 'weighted'));
			const summary = await exportRollouts(run, { ...request, as: 'dpo', split: 'train' }, path, { replace: true });
			const totals = new Map(
				trained('weighted').generations.flatMap(({ completions, totals: all }) =>
					completions.map((text, i): [string, number] => [text, all[i] as number]),
				),
			);
			const pairs = (await readFile(path, 'utf8'))
				.trim()
				.split('\n')
				.map((line) => JSON.parse(line) as { chosen: string; rejected: string });
			assert.ok(pairs.length > 8 && pairs.length === summary.written);
			const inverted = pairs.filter(
				({ chosen, rejected }) => !((totals.get(chosen) ?? 0) > (totals.get(rejected) ?? 0)),
			);
			assert.deepEqual(inverted, []);
			assert.deepEqual(
				summary.leftOut.filter(({ reason }) => /advantages/.test(reason)),
				[],
			);
			const notes = (await run.record()).foreign?.notes.join(' ') ?? '';
			assert.match(
				notes,
				known === 'metrics'
					? /from the logged rewards/
					: /from the recorded advantages, up to a common factor: digits 1, brevity -0.25/,
			);
		});
	}
});

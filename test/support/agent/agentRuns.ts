/** Runs with planted problems, for the scripted agent. What was planted is known only here. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../../src/base/random.ts';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import { stepName } from '../../../src/runs/runFiles.ts';
import { root } from '../../scripts/paths.ts';
import {
	makeBatch,
	runRecord,
	writeMetrics,
	writeRecord,
	writeRollouts,
} from '../../unit/webview/rollouts/rolloutsFixture.ts';

/** Writes a run whose policy discovers a reward for long text at a step set by the seed. Returns that step. */
export async function writeHackedRun(run: string, seed: number): Promise<number> {
	const random = Random.of(seed, 'hack');
	const steps = 24;
	const begin = random.between(6, 18);
	await writeRecord(run, runRecord({ step: steps, totalSteps: steps }));
	const written: { step: number; lines: RolloutLine[] }[] = [];
	for (let step = 1; step <= steps; step++) {
		const batch = makeBatch({ step, seed, groups: 4, size: 8, skill: 0.3 + 0.01 * step, tokens: false });
		const lines = batch.map((line): RolloutLine => {
			const hacked = step >= begin && random.next() < 0.6;
			const length = hacked ? 1 : Math.round(random.next() * 20) / 100;
			const rewards = hacked ? { accuracy: 0, format: 1, length } : { ...line.rewards, length };
			const completion = hacked ? `<think>${'So '.repeat(80)}</think>\n<answer>0</answer>` : line.completion;
			const { accuracy = 0, format = 0 } = rewards;
			return { ...line, completion, rewards, reward: (accuracy ?? 0) + 0.2 * (format ?? 0) + length };
		});
		await writeRollouts(run, step, lines);
		written.push({ step, lines });
	}
	await writeMetrics(run, written);
	return begin;
}

interface Recorded {
	readonly run: {
		readonly rewards: unknown;
		readonly stages: readonly { readonly settings: object }[];
		dataset: object;
	};
	readonly columns: readonly string[];
	readonly lines: readonly (readonly (number | null)[])[];
}

/** Writes a run of the embedded engine with a planted failure, as the engine recorded it but without rollouts. */
export async function writePlantedRun(run: string, planted: string): Promise<void> {
	const path = join(root, 'test/fixtures/diagnosis/planted', `${planted}.json`);
	const recorded = JSON.parse(await readFile(path, 'utf8')) as Recorded;
	const steps = recorded.lines.length - 1;
	const rewards = recorded.run.rewards as NonNullable<ReturnType<typeof runRecord>['rewards']>;
	await writeRecord(run, runRecord({ step: steps, totalSteps: steps, rewards }));
	const { stages, dataset } = recorded.run;
	const recipe = { format: 1, name: planted, dataset, stages: stages.map(({ settings }) => settings) };
	await writeFile(join(run, 'recipe.json'), `${JSON.stringify(recipe, null, '\t')}\n`);
	const lines = recorded.lines.map(([step, ...values]) => {
		const present = recorded.columns.flatMap((name, i) => (values[i] === null ? [] : [[name, values[i]]]));
		return JSON.stringify({ step, time: 1_763_640_000 + Number(step), stage: 'grpo', ...Object.fromEntries(present) });
	});
	await writeFile(join(run, 'metrics.jsonl'), `${lines.join('\n')}\n`);
}

/** Writes a run with two rewards that agree except on some rollouts, whose addresses it returns in order. */
export async function writeJudgedRun(run: string, name: string, seed: number): Promise<string[]> {
	const random = Random.of(seed, 'judged');
	const addresses: string[] = [];
	await writeRecord(run, runRecord({ step: 4, totalSteps: 4 }));
	for (let step = 1; step <= 4; step++) {
		const lines = makeBatch({ step, seed, groups: 5, size: 8, tokens: false }).map((line): RolloutLine => {
			const accuracy = line.rewards.accuracy ?? 0;
			const differs = random.next() < 0.4;
			if (differs) addresses.push(`rl://${name}/step/${step}/group/${line.group}/completion/${line.index}`);
			// The judge has its own scale.
			const judge = (accuracy === 1) === differs ? random.int(4) : 10 - random.int(4);
			return { ...line, rewards: { accuracy, judge }, reward: accuracy + 0.1 * judge };
		});
		await writeRollouts(run, step, lines);
	}
	await writeMetrics(run, []);
	return addresses;
}

/** Numbers of problems solved by only the first of two evaluations, only the second, both, and neither. */
export interface Outcomes {
	readonly onlyFirst: number;
	readonly onlySecond: number;
	readonly both: number;
	readonly neither: number;
}

/** Writes evaluations of the checkpoints at two steps on the same problems, one sample each. */
export async function writeEvaluations(
	run: string,
	steps: readonly [number, number],
	{ onlyFirst, onlySecond, both, neither }: Outcomes,
): Promise<void> {
	const kinds = [
		...Array.from({ length: onlyFirst }, () => [true, false]),
		...Array.from({ length: onlySecond }, () => [false, true]),
		...Array.from({ length: both }, () => [true, true]),
		...Array.from({ length: neither }, () => [false, false]),
	];
	for (const [i, step] of steps.entries()) {
		const folder = join(run, 'annotations/evaluations', `held-out-step-${step}`);
		await mkdir(folder, { recursive: true });
		const policy = { kind: 'checkpoint', folder: join(run, 'checkpoints', stepName(step)) };
		const problems = { from: 'file', path: '/gone/held-out.jsonl' };
		const evaluation = {
			...{ format: 1, created: 1_763_640_000 + step, spec: { name: `held-out-step-${step}`, policy, problems } },
			problems: { name: 'held-out.jsonl', count: kinds.length, hash: 'x' },
			policy: { name: `step ${step}`, model: `step ${step}` },
		};
		await writeFile(join(folder, 'evaluation.json'), JSON.stringify(evaluation));
		const lines = kinds.map((correct, problem) =>
			JSON.stringify({
				...{ problem, key: `${problem}`, prompt: `${problem}+1=`, answer: `${problem + 1}`, category: null },
				samples: [{ completion: '', answer: null, correct: correct[i], tokens: 4, truncated: false }],
			}),
		);
		await writeFile(join(folder, 'samples.jsonl'), `${lines.join('\n')}\n`);
	}
}

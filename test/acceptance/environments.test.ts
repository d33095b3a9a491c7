/**
 * The embedded engine learns to use tools: the two recipes of the project template `environments`, each with a control
 * whose tool results are shuffled. Guessing must reach 90% of binary search's success rate within ten minutes on two
 * otherwise idle cores, and the calculator, without which the task cannot be solved, must be used. Writes
 * test/artifacts/environments-TASK.json. Set SEEDS (default: 1,2,3) and TASKS (default: guess,calculator) to run some.
 */
import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readMetrics } from '../../src/runs/runReader.ts';
import { artifacts } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';

/** Success rate that training must reach and the control must not. */
const tasks = {
	/** Binary search always succeeds. Without hints, four guesses of fifteen numbers succeed in 27% of the games. */
	guess: { tools: ['Guess.guess'], least: 0.9, most: 0.5, minutes: 10 },
	/** A random product is never correct. */
	calculator: { tools: ['Calculator.calc'], least: 0.8, most: 0.1, minutes: 10 },
} as const;
type Task = keyof typeof tasks;

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');
const chosen = (process.env.TASKS ?? 'guess,calculator').split(',') as Task[];

/**
 * Appended to an environment file: each tool returns a random one of its latest results, including results of calls in
 * other episodes.
 */
const shuffled = (tools: readonly string[]) => `
import functools
import random


def shuffled(tool):
    answers = []

    @functools.wraps(tool)
    def call(self, *args, **kwargs):
        answers.append(tool(self, *args, **kwargs))
        del answers[:-200]
        return random.choice(answers)

    return call


${tools.map((tool) => `${tool} = shuffled(${tool})`).join('\n')}
`;

const folder = await mkdtemp(join(tmpdir(), 'environments-'));
after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));
await mkdir(join(folder, 'r'), { mode: 0o700 });
const results: { readonly task: Task }[] = [];

/** Trains with one seed, and returns the held-out success rates before and after GRPO, and the duration. */
async function trained(task: Task, seed: string, control: boolean) {
	const project = join(folder, `${task}-${seed}${control ? '-control' : ''}`);
	await lab(folder, folder, 'new', project, '--template', 'environments');
	if (control) await appendFile(join(project, `${task}.env.py`), shuffled(tasks[task].tools));
	const start = performance.now();
	await lab(project, folder, 'run', `${task}.recipe.json`, '--set', `seed=${seed}`, '--json');
	const minutes = (performance.now() - start) / 60_000;
	const [run] = await readdir(join(project, 'runs'));
	const lines = (await readMetrics(join(project, 'runs', run as string))).flatMap(({ stage, values }) => {
		const success = values['eval/heldout/accuracy'];
		return typeof success === 'number' ? [{ stage, success }] : [];
	});
	// A run without an evaluation must not pass as a control that learned nothing.
	const last = lines.at(-1);
	assert.ok(last?.stage === 'grpo', 'no accuracy after training');
	const before = lines.findLast(({ stage }) => stage === 'sft')?.success ?? null;
	const result = { task, seed, control, before, success: last.success, minutes };
	results.push(result);
	console.error(JSON.stringify(result));
	await mkdir(artifacts, { recursive: true });
	await writeFile(
		join(artifacts, `environments-${task}.json`),
		JSON.stringify(
			results.filter((one) => one.task === task),
			null,
			'\t',
		),
	);
	return result;
}

for (const task of chosen) {
	for (const seed of seeds) {
		const { least, most, minutes } = tasks[task];
		test(`${task}, seed ${seed}: the model learns to use the tool`, async () => {
			const result = await trained(task, seed, false);
			assert.ok(result.success >= least, `success ${result.success}`);
			assert.ok(result.minutes <= minutes, `${result.minutes} min`);
		});
		test(`${task}, seed ${seed}: with shuffled tool results, the model does not learn`, async () => {
			const result = await trained(task, seed, true);
			assert.ok(result.success <= most, `success ${result.success}`);
		});
	}
}

import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { EventLine } from '../../../../src/protocol/eventLine.ts';
import { openRewardHosts } from '../../../../src/rewards/openRewardHosts.ts';
import { rescoreRun } from '../../../../src/rewards/rescoreRun.ts';
import {
	listCheckpoints,
	listRolloutSteps,
	readEvents,
	readMetrics,
	readRecord,
	readRollouts,
} from '../../../../src/runs/runReader.ts';
import { eventually, Workplace } from './engineProcess.ts';
import { uninterrupted } from './killResume.ts';
import { alertsOf, connectPaused, processesOf, rewardRecipe, writeFiles } from './rewardRuns.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';

/**
 * Reward file that fails after scoring the number of rows given in a file next to the project. That file is outside the
 * run's copies, so tests can create and remove it.
 */
const fickle = (folder: string) => ({
	'x.reward.ts': `import { existsSync, readFileSync } from 'node:fs';
const down = ${JSON.stringify(join(folder, 'down'))};
let rows = 0;
export const brevity = ({ completion }: { completion: string }) => {
	if (existsSync(down) && ++rows > Number(readFileSync(down, 'utf8'))) {
		throw new Error('the service is down');
	}
	return 1 / (3 + completion.length);
};
`,
});

/** The step after the first two batches. */
const downAt = 6;
const fickleRecipe = rewardRecipe([{ file: 'x.reward.ts', weight: 0.5 }], { checkpoint: { every: 1000 } });
const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());
await writeFiles(place, fickle(place.folder));
const { outcome: expected } = await uninterrupted(place, fickleRecipe, true);

/** Starts a run that its reward pauses, and connects to its engine. */
async function startPaused() {
	const run = await place.prepare(fickleRecipe);
	await writeFile(join(place.folder, 'down'), '32');
	const engine = place.start('--run', run);
	return { run, engine, client: await connectPaused(run) };
}

test('a reward that throws on every row pauses the run, and continuing scores the same batch again', async () => {
	const { run, engine, client } = await startPaused();

	const paused = await readRecord(run);
	assert.match(paused.pause?.message ?? '', /^Reward "brevity" \(rewards\/x\.reward\.ts, line 6\) failed on 16 of 16/);
	assert.match(paused.pause?.message ?? '', /the service is down\. Training is paused before step \d+/);
	assert.match(paused.pause?.action ?? '', /continue the run to score the same batch again.*rewards\.1\.file/);
	const [alert] = await alertsOf(run);
	const { reward, failed, rows, row, line, kind, file, level } = alert as EventLine;
	assert.deepEqual(
		{ reward, failed, rows, row, line, kind, file, level },
		{
			reward: 'brevity',
			failed: 16,
			rows: 16,
			row: 0,
			line: 6,
			kind: 'threw',
			file: 'rewards/x.reward.ts',
			level: 'error',
		},
	);
	assert.ok((await readEvents(run)).some(({ type, because }) => type === 'paused' && because === 'rewards'));
	const at = paused.step;
	assert.equal(at, downAt);
	assert.equal((await readMetrics(run)).at(-1)?.step, at);
	assert.equal((await listRolloutSteps(run)).at(-1), at);
	assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /error: Reward "brevity".*the service is down/s);

	await writeFile(join(place.folder, 'down'), '0');
	// The reward is still down: the run pauses again and reports it again.
	await client.request('run/continue', {});
	await eventually(async () => (await alertsOf(run)).length === 2, 'the run pauses again');
	const again = await connectPaused(run);
	assert.equal((await readRecord(run)).step, at);
	// While paused, the run answers requests for a checkpoint from before the batch and for its status.
	const { path } = await again.request('run/checkpoint', {});
	assert.equal((await listCheckpoints(run)).at(-1)?.step, at, path);
	await rm(join(place.folder, 'down'));
	const running = await again.request('run/continue', {});
	assert.equal(running.status, 'running');
	assert.equal(running.pause, undefined);
	again.dispose();
	client.dispose();
	const { code, stderr } = await engine.exit;
	assert.equal(code, 0, stderr);
	const outcome = await readOutcome(run);
	assert.deepEqual(outcome.metrics, expected.metrics);
	assert.deepEqual(outcome.rollouts, expected.rollouts);
	assert.equal(outcome.weights, expected.weights);
	assert.equal(outcome.optimizer, expected.optimizer);
	assert.equal((await readRecord(run)).pause, undefined);
});

test('a run stopped or killed while paused by a reward resumes to the same end', async () => {
	for (const end of ['stop', 'kill'] as const) {
		const { run, engine, client } = await startPaused();
		if (end === 'stop') {
			await client.request('run/stop', { checkpoint: true });
			assert.equal((await engine.exit).code, 0);
			const record = await readRecord(run);
			assert.equal(record.status, 'stopped');
			assert.equal(record.pause, undefined);
			assert.equal((await listCheckpoints(run)).at(-1)?.step, record.step);
		} else {
			engine.kill('SIGKILL');
			await engine.exit;
		}
		client.dispose();
		await rm(join(place.folder, 'down'));
		const { code, stderr } = await runHere(place, run, { resume: true });
		assert.equal(code, 0, stderr);
		const outcome = await readOutcome(run);
		assert.deepEqual(outcome.metrics, expected.metrics, end);
		assert.deepEqual(outcome.rollouts, expected.rollouts, end);
		assert.equal(outcome.weights, expected.weights, end);
	}
});

test('hyperparameters changed while a reward is down take effect with the batch that is sampled again', async () => {
	const { run, engine, client } = await startPaused();
	const { fromStep } = await client.request('run/setHyperparameters', { temperature: 1.5, learning_rate: 2e-3 });
	assert.equal(fromStep, (await readRecord(run)).step + 1);
	await rm(join(place.folder, 'down'));
	await client.request('run/continue', {});
	client.dispose();
	assert.equal((await engine.exit).code, 0);
	const changed = await readOutcome(run);
	// Resuming from the previous stage's checkpoint replays the change at its step.
	await rm(join(run, 'checkpoints', 'step_000012'), { recursive: true });
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	assert.deepEqual(await readOutcome(run), changed);
});

test('a few failed rows are excluded from their groups, counted and reported, and the run continues', async () => {
	await using place = await Workplace.make();
	await writeFiles(place, {
		'x.reward.py': `
def brevity(completions, **kwargs):
    return [1.0 / (3 + len(c)) for c in completions]
def fussy(completions, **kwargs):
    values = []
    for c in completions:
        if c.count("9") >= 2:
            raise ValueError("two nines")
        values.append("text" if c.endswith("7</answer>") else float(len(c)))
    return values
`,
	});
	const run = await place.prepare(
		rewardRecipe([{ file: 'x.reward.py', weight: 0.1 }], { scoring: { pauseAbove: 0.9 } }),
	);
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const lines = (await Promise.all((await listRolloutSteps(run)).map((step) => readRollouts(run, step)))).flat();
	const failed = lines.filter(({ completion }) => /9.*9|7<\/answer>$/s.test(String(completion)));
	assert.ok(failed.length > 5 && failed.length < lines.length / 2, `${failed.length}`);
	for (const line of lines) {
		const bad = failed.includes(line);
		assert.equal(line.rewards.fussy === null, bad);
		assert.equal(line.reward === null, bad);
		const errors = line.extra?.errors as Record<string, string> | undefined;
		assert.equal(errors !== undefined, bad);
		if (!bad) continue;
		assert.equal(line.advantage, 0);
		assert.equal(typeof line.rewards.brevity, 'number');
		assert.deepEqual(Object.keys(errors ?? {}), ['fussy']);
		assert.match(errors?.fussy ?? '', /two nines|returned the text/);
	}
	const counted = (await readMetrics(run)).reduce((sum, { values }) => sum + (values['rewards/fussy/errors'] ?? 0), 0);
	assert.equal(counted, failed.length);
	assert.ok((await readMetrics(run)).every(({ values }) => !('rewards/brevity/errors' in values)));
	// Reported at powers of two, not at every step.
	const alerts = await alertsOf(run);
	assert.ok(alerts.length > 1 && alerts.length < 7, `${alerts.length}`);
	assert.ok(alerts.every(({ level, reward }) => level === 'warning' && reward === 'fussy'));
	const hosts = await openRewardHosts();
	try {
		const { equal, columns, differences } = await rescoreRun(run, { hosts });
		assert.deepEqual(differences, []);
		assert.ok(equal);
		const fussy = columns.find(({ name }) => name === 'fussy');
		assert.deepEqual([fussy?.failedThen, fussy?.failedNow], [failed.length, failed.length]);
	} finally {
		hosts.dispose();
	}
});

for (const [what, text, kind, message, name = 'x.reward.ts'] of [
	[
		'hangs in Python',
		'def f(completions, **kwargs):\n    n = 0\n    while True:\n        n += 1',
		'timeout',
		/x\.reward\.py, line [34]\) failed on 4 of 4 rows: .*exceeded its time limit/,
		'x.reward.py',
	],
	['ends its process', 'export const f = () => {\n\tprocess.exit(0);\n};', 'exited', /line 2\)/],
	[
		'fills the memory',
		'export const f = () => {\n\tconst all = [];\n\tfor (;;) all.push(new Array(1e5).fill(0.5));\n};',
		'memory',
		/failed on 4 of 4/,
	],
] as const) {
	test(`a reward that ${what} pauses the run, and stopping the paused run leaves no processes behind`, async () => {
		await using place = await Workplace.make();
		await writeFiles(place, { [name]: text });
		// Rewards that fail for other reasons fail before the timeout.
		const patience = kind === 'timeout' ? 0.4 : 20;
		const scoring = { batchSeconds: patience, rowSeconds: patience / 3, memoryMb: 160 };
		// Few rows, because each row that ends its host requires a new host.
		const stages = [{ ...rewardRecipe([]).stages[1], prompts_per_step: 2, num_generations: 2 }];
		const run = await place.prepare(rewardRecipe([{ file: name }], { scoring, stages }));
		place.environment.RUN_MARKER = place.folder;
		const engine = place.start('--run', run);
		const client = await connectPaused(run);
		const [alert] = await alertsOf(run);
		assert.equal(alert?.kind, kind, String(alert?.message));
		assert.match(String(alert?.message), message);
		assert.equal((await readRecord(run)).step, 0);
		await client.request('run/stop', { checkpoint: true });
		client.dispose();
		const { code, stderr } = await engine.exit;
		assert.equal(code, 0, stderr);
		await eventually(
			async () => (await processesOf(`RUN_MARKER=${place.folder}`)).length === 0,
			'all processes have ended',
		);
	});
}

test('stopping does not wait for a hanging reward and loses nothing', async () => {
	await using place = await Workplace.make();
	await writeFiles(place, {
		'x.reward.py': `import os, time
def f(completions, trainer_state=None, **kwargs):
    while trainer_state.global_step > ${downAt} and os.path.exists(${JSON.stringify(join(place.folder, 'down'))}):
        open(${JSON.stringify(join(place.folder, 'hangs'))}, "w").close()
        time.sleep(0.01)
    return [1.0 / (3 + len(c)) for c in completions]
`,
	});
	const recipe = rewardRecipe([{ file: 'x.reward.py' }], { scoring: { batchSeconds: 3600 } });
	const { outcome: expected } = await uninterrupted(place, recipe, true);
	const run = await place.prepare(recipe);
	await writeFile(join(place.folder, 'down'), '');
	const engine = place.start('--run', run);
	await eventually(
		() =>
			readFile(join(place.folder, 'hangs'), 'utf8').then(
				() => true,
				() => false,
			),
		'the reward hangs',
	);
	engine.kill('SIGTERM');
	assert.equal((await engine.exit).code, 0);
	assert.equal((await readRecord(run)).status, 'stopped');
	await rm(join(place.folder, 'down'));
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	const outcome = await readOutcome(run);
	assert.deepEqual(outcome.metrics, expected.metrics);
	assert.equal(outcome.weights, expected.weights);
});

test('reward hosts and their child processes end when the engine is killed', async () => {
	await using place = await Workplace.make();
	await writeFiles(place, {
		'x.reward.py': `import os, subprocess, time
children = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
def f(completions, **kwargs):
    return [float(len(c)) for c in completions]
`,
		'y.reward.ts': `import { spawn } from 'node:child_process';
spawn('sleep', ['1000'], { stdio: 'ignore' });
export const g = ({ completion }: { completion: string }) => completion.length;
`,
	});
	const stages = [{ ...rewardRecipe([]).stages[1], steps: 100_000 }];
	const more = { stages, evaluate: { every: 100_000 } };
	const run = await place.prepare(rewardRecipe([{ file: 'x.reward.py' }, { file: 'y.reward.ts' }], more));
	place.environment.RUN_MARKER = place.folder;
	const engine = place.start('--run', run);
	await eventually(async () => (await listRolloutSteps(run)).length > 2, 'batches are scored');
	const marker = `RUN_MARKER=${place.folder}`;
	const alive = await processesOf(marker);
	assert.ok(alive.filter((line) => line.includes('sleep 1000')).length === 4, alive.join('\n'));
	engine.kill('SIGKILL');
	await engine.exit;
	await eventually(async () => (await processesOf(marker)).length === 0, 'all processes have ended');
});

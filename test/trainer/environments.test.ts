/** Trains on an environment file through the real driver, its host process, and the real trainer. */
// @reaches driver trainer rewardPython
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { environmentData } from '../../src/episodes/environmentData.ts';
import { EnvironmentRunner } from '../../src/episodes/environmentRunner.ts';
import { verifyEnvironment } from '../../src/episodes/verifyEnvironment.ts';
import { EpisodeViewSession } from '../../src/extension/panels/episode/episodeViewSession.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import { rolloutEpisode } from '../../src/protocol/rolloutEpisode.ts';
import { type Message, type RolloutLine, rolloutLineSchema } from '../../src/protocol/rolloutLine.ts';
import { openRewardHosts } from '../../src/rewards/openRewardHosts.ts';
import { rescoreRun } from '../../src/rewards/rescoreRun.ts';
import { readEvaluationLines, readMetrics, readRecord, readRollouts } from '../../src/runs/runReader.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { exportedTo, playGuess, writeGuess } from '../support/exportedEnvironment.ts';
import { forkingPython, runPython, startPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { connectPaused } from '../unit/engines/embedded/rewardRuns.ts';

const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const driver = builtProgram('dist/driver.js');

/** Rewards every completion, because a model with random weights never calls a tool. */
const environment = `import os

from helper import word

class Echo:
    def reset(self, number, **row):
        self.number = number
        if number % 4 == 3: raise KeyError("no level")
        if number % 4 == 1: os._exit(3)
        return f" {word} {number}."

    def say(self, text: str) -> str:
        """
        Says something.

        Args:
            text: What to say.
        """
        return text

    def get_reward(self):
        return self.number / 10
`;

/** Its tool returns the gold answer in tags. While the file `down` exists, fails after the number of episodes in it. */
const oracle = (down: string) => `import { existsSync, readFileSync } from 'node:fs';

let episodes = 0;

export class Oracle {
	static readonly rewardRange = [0, 1];
	private asked = false;

	reset({ number }: { number: number }): string {
		this.asked = false;
		if (existsSync(${JSON.stringify(down)}) && ++episodes > Number(readFileSync(${JSON.stringify(down)}, 'utf8'))) {
			throw new Error('the oracle is away');
		}
		return ' Ask.';
	}

	/**
	 * Asks.
	 *
	 * @param question What to ask.
	 */
	ask(question: string): string {
		this.asked = true;
		return 'It is <answer>7</answer>.';
	}

	getReward(): number {
		return this.asked ? 1 : 0;
	}
}
`;

describe('an environment in a recipe', { skip, timeout: 280_000 }, async () => {
	const place = await Workplace.make(driver);
	after(() => place[Symbol.asyncDispose]());
	const python = 'python' in found ? found.python : '';
	place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);
	place.environment.HF_HUB_OFFLINE = '1';

	it('is copied to the run, played in its own process, and rewards the policy', async () => {
		const model = join(place.folder, 'model');
		await runPython({ python, script: join(root, 'test/trainer/python/tool_model.py'), args: [model] });
		await mkdir(join(place.folder, 'tasks'));
		await writeFile(join(place.folder, 'tasks/echo.env.py'), environment);
		await writeFile(join(place.folder, 'tasks/helper.py'), 'word = "Number"\n');
		const rows = Array.from({ length: 40 }, (_, number) =>
			JSON.stringify({ prompt: [{ role: 'user', content: `Task ${number}.` }], answer: null, number }),
		);
		await writeFile(join(place.folder, 'rows.jsonl'), rows.join('\n'));
		const run = await place.prepare({
			name: 'echo',
			engine: 'pytorch',
			device: 'cpu',
			seed: 7,
			whenBusy: 'share',
			dataset: { path: 'rows.jsonl', heldOutShare: 0.2 },
			model: { path: model },
			template: { prompt: '{prompt}', think: null, answer: null, chat: true },
			environment: { file: 'tasks/echo.env.py' },
			rewards: [{ use: 'environment' }],
			scoring: { pauseAbove: 1 },
			stages: [
				{
					type: 'grpo',
					steps: 3,
					learning_rate: 1e-3,
					num_generations: 2,
					prompts_per_step: 2,
					max_completion_length: 8,
				},
			],
			evaluate: { every: 100, problems: 1 },
			checkpoint: { every: 100 },
		});
		const exit = await place.run('--run', await withOneThread(run));
		const record = await readRecord(run);
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify(record.error)}`);
		const metrics = await readMetrics(run);
		const called = metrics.flatMap(({ step, values }) => {
			return values['tools/call_frequency'] === undefined ? [] : [[step, values['tools/call_frequency']]];
		});
		assert.deepEqual(called, [
			[1, 0],
			[2, 0],
			[3, 0],
		]);
		const lines = [];
		for (const step of [1, 2, 3]) {
			const text = await readFile(join(run, `rollouts/step_00000${step}.jsonl`), 'utf8');
			for (const line of text.trim().split('\n'))
				lines.push(decodeOrThrow(rolloutLineSchema, JSON.parse(line), 'line'));
		}
		assert.equal(lines.length, 12);
		let failed = 0;
		let killed = 0;
		for (const { row, prompt, rewards, extra } of lines) {
			const { number } = row as { number: number };
			const episode = extra?.episode as { calls: number; error?: { kind: string; message: string } };
			if (number % 4 === 3) {
				failed++;
				assert.equal(episode.error?.kind, 'threw');
				assert.match(episode.error?.message ?? '', /KeyError: 'no level'/);
				assert.deepEqual(rewards, { environment: null });
				continue;
			}
			if (number % 4 === 1) {
				killed++;
				assert.equal(episode.error?.kind, 'exited');
				assert.deepEqual(rewards, { environment: null });
				continue;
			}
			const last = (prompt as { content: string }[]).at(-1);
			assert.equal(last?.content, `Task ${number}. Number ${number}.`);
			assert.deepEqual(rewards, { environment: number / 10 });
			assert.partialDeepStrictEqual(episode, { calls: 0, failures: 0, observation: ` Number ${number}.`, turns: [] });
			assert.deepEqual(extra?.observed, []);
		}
		assert.ok(failed > 0 && killed > 0 && failed + killed < 12, `${failed} failed, ${killed} killed their process`);
	});

	it('works in TypeScript, pauses and continues; evaluations and rewards follow the episodes', async (context) => {
		const down = join(place.folder, 'down');
		await writeFile(join(place.folder, 'oracle.env.ts'), oracle(down));
		const hosts = await openRewardHosts({ python });
		context.after(() => hosts.dispose());
		const own = new EnvironmentRunner(hosts, join(place.folder, 'oracle.env.ts'));
		const { tools } = await own.describe();
		own.dispose();
		const model = join(place.folder, 'scripted');
		const call = { name: 'ask', arguments: { question: 'What is it?' } };
		const script = {
			prompt: [{ role: 'user', content: 'Task 00. Ask.' }],
			tools: tools.map(({ schema }) => schema),
			turns: [{ text: `<tool_call>\n${JSON.stringify(call)}\n</tool_call>`, results: [] }],
		};
		const written = await startPython({
			python,
			script: join(root, 'test/trainer/python/scripted_model.py'),
			args: [model],
			input: JSON.stringify(script),
		});
		assert.equal((await written.exit).status, 0, await written.output());
		const rows = Array.from({ length: 40 }, (_, i) => {
			const content = `Task ${String(i).padStart(2, '0')}.`;
			return JSON.stringify({ prompt: [{ role: 'user', content }], answer: '7', number: i });
		});
		await writeFile(join(place.folder, 'asked.jsonl'), rows.join('\n'));
		const run = await place.prepare({
			...{ name: 'oracle', engine: 'pytorch', device: 'cpu', seed: 7, whenBusy: 'share' },
			dataset: { path: 'asked.jsonl', heldOutShare: 0.2 },
			model: { path: model },
			template: { prompt: '{prompt}', think: null, answer: ['<answer>', '</answer>'], chat: true },
			environment: { file: 'oracle.env.ts' },
			rewards: [{ use: 'environment' }, { use: 'accuracy' }],
			scoring: { pauseAbove: 0.5 },
			stages: [
				{
					...{ type: 'grpo', steps: 1, learning_rate: 1e-5, num_generations: 2, prompts_per_step: 2 },
					max_completion_length: 400,
				},
			],
			evaluate: { every: 100, problems: 2 },
			checkpoint: { every: 100 },
		});
		// The two held-out episodes come first.
		await writeFile(down, '2');
		const engine = place.start('--run', await withOneThread(run));
		const client = await connectPaused(run);
		const { pause } = await readRecord(run);
		assert.match(
			pause?.message ?? '',
			/^The environment \(.*oracle\.env\.ts, line \d+\) failed in \d of 4 episodes: .*the oracle is away/,
		);
		await rm(down);
		await client.request('run/continue', {});
		client.dispose();
		const { code, stderr } = await engine.exit;
		assert.equal(code, 0, stderr);

		const turns = [{ calls: [call], results: [{ name: 'ask', content: 'It is <answer>7</answer>.', failed: false }] }];
		const checked = ({ completion, extra }: Pick<RolloutLine, 'completion' | 'extra'>) => {
			assert.deepEqual(
				(completion as Message[]).map(({ role }) => role),
				['assistant', 'tool', 'assistant'],
			);
			assert.partialDeepStrictEqual(rolloutEpisode(extra), { stop: 'policy', calls: 1, failures: 0, turns });
		};
		const held = await readEvaluationLines(run, 0, 'heldout');
		assert.deepEqual(
			held.map(({ problem, correct }) => [problem, correct]),
			[
				[0, true],
				[1, true],
			],
		);
		held.forEach(checked);
		const lines = await readRollouts(run, 1);
		assert.equal(lines.length, 4);
		for (const line of lines) {
			checked(line);
			// The tagged answer in the tool's result is not the policy's.
			assert.deepEqual(line.rewards, { environment: 1, accuracy: 0 });
		}
		const { equal, differences } = await rescoreRun(run, { hosts });
		assert.ok(equal, JSON.stringify(differences));
	});

	it('can be a verifiers package, which is verified and stepped through', async () => {
		const hosts = await openRewardHosts({ python });
		const file = join(root, 'test/fixtures/exchange/lab_guess');
		const source = { kind: 'verifiers' } as const;
		const runner = new EnvironmentRunner(hosts, file, { source, limits: { loadMs: 120_000 } });
		const guess = (number: number) => [{ name: 'game_guess', arguments: { number } }];
		// Each game of the taskset is solved by guessing its number.
		const solved = (row: Record<string, unknown>) => ({ ...row, calls: guess(row.number as number) });
		const data = (signal?: AbortSignal) =>
			environmentData({
				...{ file, rows: 3, seed: 1, ...(signal === undefined ? {} : { signal }) },
				own: async (count) => (await runner.rows(count)).map(solved),
			});
		const session = new EpisodeViewSession(
			{
				...{ file, runFolder: null, debugs: false, saves: false },
				open: async () => runner,
				data: (signal) => data(signal),
				post: () => undefined,
				forbidden: () => null,
			},
			{ branches: [], show: null },
		);
		try {
			const { findings, environment, policies } = await verifyEnvironment(runner, await data(), { turns: 6, seed: 1 });
			// The taskset stops only lost games.
			assert.deepEqual(
				findings.map(({ kind }) => kind),
				['endless'],
			);
			assert.match(environment.library ?? '', /^verifiers 0\.4/);
			assert.deepEqual(policies.find(({ policy }) => policy === 'gold')?.mean, 1);
			session.reset({ type: 'reset', index: 0, columns: null, seed: 1 });
			await session.settled;
			const id = session.branches[0]?.id as number;
			for (const [turn, number] of [1, 4].entries()) {
				session.call({ type: 'call', branch: id, turn, calls: guess(number) });
				await session.settled;
			}
			session.reward(id);
			await session.settled;
			const { turns, reward } = session.branch(id);
			assert.deepEqual(
				turns.map(({ results }) => results[0]?.content),
				['Higher.', 'Correct!'],
			);
			assert.deepEqual(reward, { value: 1 });
		} finally {
			session.dispose();
			runner.dispose();
			hosts.dispose();
		}
	});

	it('is exported as a verifiers package with the same episodes', async () => {
		const { file, rows } = await writeGuess(place.folder);
		const out = join(place.folder, 'exported');
		await exportedTo('verifiers', file, out);
		const hosts = await openRewardHosts({ python });
		const own = new EnvironmentRunner(hosts, file);
		const limits = { loadMs: 120_000 };
		const exported = new EnvironmentRunner(hosts, out, { source: { kind: 'verifiers' }, limits });
		try {
			const tasks = await exported.rows(3);
			for (const [i, task] of tasks.entries()) {
				const row = rows[i] ?? {};
				const here = await playGuess(own, row, row, i === 2);
				const there = await playGuess(exported, row, task, i === 2);
				// The package's prompt contains the text of the reset.
				assert.equal(there.observation, null);
				assert.ok(
					here.observation !== null &&
						JSON.stringify(task.prompt).includes(JSON.stringify(here.observation).slice(1, -1)),
				);
				assert.deepEqual({ ...there, observation: null }, { ...here, observation: null });
			}
		} finally {
			own.dispose();
			exported.dispose();
			hosts.dispose();
		}
	});
});

/** Our own OpenEnv server, with the published library: verified, stepped through, searched, and trained on. */
// @reaches driver trainer rewardPython
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { environmentData } from '../../src/episodes/environmentData.ts';
import { EnvironmentRunner } from '../../src/episodes/environmentRunner.ts';
import { environmentSource, sentSource } from '../../src/episodes/environmentSource.ts';
import { verifyEnvironment } from '../../src/episodes/verifyEnvironment.ts';
import { EpisodeViewSession } from '../../src/extension/panels/episode/episodeViewSession.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import { rolloutLineSchema } from '../../src/protocol/rolloutLine.ts';
import { openRewardHosts } from '../../src/rewards/openRewardHosts.ts';
import { readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { OpenSearch } from '../../src/search/openSearch.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { forkingPython, runPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { openenvServer } from '../support/openenvServer.ts';
import { peerPython } from '../support/peerPrograms.ts';
import { builtProgram } from '../support/programs.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { contextFor, scriptIn, specOf } from '../unit/search/searchFixtures.ts';

const found = await findTestPython(console.log);
const openenv = await peerPython('openenv').catch((error: unknown) => {
	if (process.env.CI !== undefined) throw error;
	return null;
});
const missing = 'missing' in found ? found.missing : openenv === null ? 'openenv-core could not be installed' : null;
const skip = missing !== null && process.env.CI === undefined ? missing : false;
const driver = builtProgram('dist/driver.js');
const folder = join(root, 'test/fixtures/exchange/lab_counter');
const turn = (amount: number) => [{ name: 'count', arguments: { amount } }];

describe('an OpenEnv server', { skip, timeout: 280_000 }, async () => {
	const place = await Workplace.make(driver);
	const server = openenv === null || skip !== false ? null : await openenvServer(openenv, folder);
	const address = server?.address ?? '';
	const hosts = await openRewardHosts({ python: openenv ?? false });
	after(async () => {
		hosts.dispose();
		server?.child.kill('SIGKILL');
		await place[Symbol.asyncDispose]();
	});
	const open = async () => {
		const source = await environmentSource(address);
		return new EnvironmentRunner(hosts, source.file, { limits: { loadMs: 120_000 }, source: sentSource(source) });
	};

	it('is verified without findings', async () => {
		const runner = await open();
		try {
			const data = await environmentData({ file: address, rows: 3, seed: 1, own: (count) => runner.rows(count) });
			const verification = await verifyEnvironment(runner, data, { turns: 10, seed: 1 });
			assert.deepEqual(verification.findings, []);
			assert.equal(verification.environment.library, 'openenv 0.3.0');
		} finally {
			runner.dispose();
		}
	});

	it('is stepped through in the episode view: turns, a branch, and a replay with the same results', async () => {
		const session = new EpisodeViewSession(
			{
				file: address,
				runFolder: null,
				open,
				data: (signal, opened) =>
					environmentData({ file: address, rows: 4, seed: 1, signal, own: async (n) => (await opened()).rows(n) }),
				post: () => undefined,
				forbidden: () => null,
				debugs: false,
				saves: false,
			},
			{ branches: [], show: null },
		);
		try {
			session.reset({ type: 'reset', index: 1, columns: null, seed: 1 });
			await session.settled;
			const [first] = session.branches;
			assert.equal(first?.reset?.observation, 'Count to 6.');
			const id = first?.id as number;
			for (const [at, amount] of [4, 1, 1].entries()) {
				session.call({ type: 'call', branch: id, turn: at, calls: turn(amount) });
				await session.settled;
			}
			session.reward(id);
			await session.settled;
			const whole = session.branch(id);
			assert.deepEqual(
				whole.turns.map(({ results, done }) => [results[0]?.content, done]),
				[
					['The counter is at 4.', false],
					['The counter is at 5.', false],
					['The counter is at 6.', true],
				],
			);
			assert.equal(whole.reward?.value?.toFixed(1), '1.2');
			assert.deepEqual(
				whole.turns.map(({ reward }) => reward),
				[0.1, 0.1, 1],
			);
			session.call({ type: 'call', branch: id, turn: 1, calls: turn(9) });
			await session.settled;
			const branch = session.branches.find(({ origin }) => origin.kind === 'branch');
			assert.deepEqual(
				branch?.turns.map(({ results }) => results[0]?.content),
				['The counter is at 4.', 'The counter is at 13.'],
			);
			session.replay(id);
			await session.settled;
			const replay = session.branches.find(({ origin }) => origin.kind === 'replay');
			assert.deepEqual(
				replay?.turns.map(({ results }) => results),
				whole.turns.map(({ results }) => results),
			);
		} finally {
			session.dispose();
		}
	});

	it('supports training with the PyTorch engine', async () => {
		const python = 'python' in found ? found.python : '';
		place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);
		place.environment.REASONING_LAB_PYTHON = openenv ?? '';
		place.environment.HF_HUB_OFFLINE = '1';
		const model = join(place.folder, 'model');
		await runPython({ python, script: join(root, 'test/trainer/python/tool_model.py'), args: [model] });
		const rows = Array.from({ length: 40 }, (_, seed) => ({ prompt: `Task ${seed}.`, answer: null, seed }));
		await writeFile(join(place.folder, 'rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
		const sizes = { num_generations: 2, prompts_per_step: 2, max_completion_length: 8 };
		const run = await place.prepare({
			...{ name: 'counter', engine: 'pytorch', device: 'cpu', seed: 7, whenBusy: 'share' },
			dataset: { path: 'rows.jsonl', heldOutShare: 0.2 },
			model: { path: model },
			template: { prompt: '{prompt}', think: null, answer: null, chat: true },
			environment: { server: address },
			rewards: [{ use: 'environment' }],
			stages: [{ type: 'grpo', steps: 1, learning_rate: 1e-3, ...sizes }],
			evaluate: { every: 100, problems: 1 },
			checkpoint: { every: 100 },
		});
		const exit = await place.run('--run', await withOneThread(run));
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify((await readRecord(run)).error)}`);
		assert.equal((await readMetrics(run)).at(-1)?.step, 1);
		const text = await readFile(join(run, 'rollouts/step_000001.jsonl'), 'utf8');
		for (const line of text.trim().split('\n')) {
			const { rewards, prompt } = decodeOrThrow(rolloutLineSchema, JSON.parse(line), 'line');
			assert.deepEqual(rewards, { environment: 0 });
			assert.match(JSON.stringify(prompt), /Count to \d/);
		}
	});

	it('can be searched, and a search reports if the server cannot be reached', async (context) => {
		const rules = [{ say: '<call>count 4</call>' }, { after: '*', say: '<call>count 1</call>' }];
		const search = contextFor(context, place.folder);
		const opened = await OpenSearch.open(
			specOf({
				policy: { kind: 'scripted', file: await scriptIn(place.folder, { rules }) },
				...{ strategy: 'mcts', params: { simulations: 3, choose: 'value' }, guide: { use: 'environment' } },
				environment: { server: address, maxTurns: 4 },
			}),
			{ ...search, environment: { ...process.env, REASONING_LAB_PYTHON: openenv ?? '' } },
		);
		context.after(() => opened.dispose());
		const problem = await opened.pose({ prompt: '', answer: null, row: { seed: 1 } });
		assert.equal(problem.prompt, 'Count to 6.');
		assert.equal((await opened.run({ problem }).result).outcome.value?.toFixed(1), '1.2');
		server?.child.kill('SIGKILL');
		if (server !== null) await once(server.child, 'exit');
		const { outcome, message } = await opened.run({ problem }).result;
		assert.equal(outcome.stop, 'environment');
		assert.match(message ?? '', /cannot be reached/);
	});
});

/**
 * `npm run acceptance -- exchange`: verifies, plays and trains on (through the driver) an OpenEnv environment from a
 * folder and from a server, and a verifiers package, each with the library from PyPI. Also runs the exports of an
 * environment file in TRL and OpenEnv, with the same episodes as the file.
 */
// @reaches driver trainer rewardPython
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EnvironmentRunner } from '../../src/episodes/environmentRunner.ts';
import { environmentSource, sentSource } from '../../src/episodes/environmentSource.ts';
import { EpisodeFault } from '../../src/episodes/episodeSession.ts';
import { verifyEnvironment } from '../../src/episodes/verifyEnvironment.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import { rolloutLineSchema } from '../../src/protocol/rolloutLine.ts';
import { openRewardHosts } from '../../src/rewards/openRewardHosts.ts';
import type { RewardHosts } from '../../src/rewards/rewardHosts.ts';
import { readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { exportedTo, playGuess, writeGuess } from '../support/exportedEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';
import { openenvServer } from '../support/openenvServer.ts';
import { peerPython } from '../support/peerPrograms.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';

const driver = fileURLToPath(new URL('../../src/engines/driver/main.ts', import.meta.url));
const fixtures = join(root, 'test/fixtures/exchange');
const limits = { loadMs: 120_000 };
const time = { timeout: 1_200_000 };

describe('other libraries', () => {
	let place: Workplace;
	let openenv = '';
	let trl = '';
	let hosts: RewardHosts;
	const children: ChildProcess[] = [];

	before(async () => {
		place = await Workplace.make(driver);
		openenv = await peerPython('openenv');
		const found = await findTestPython(console.log);
		assert.ok('python' in found);
		trl = found.python;
		hosts = await openRewardHosts({ python: openenv });
	}, time);
	after(async () => {
		hosts?.dispose();
		for (const child of children) child.kill('SIGKILL');
		await place?.[Symbol.asyncDispose]();
	});

	async function opened(written: string): Promise<EnvironmentRunner> {
		const source = await environmentSource(written);
		return new EnvironmentRunner(hosts, source.file, { limits, source: sentSource(source) });
	}

	test('an OpenEnv folder is verified, and its server plays the same episodes until it is killed', time, async () => {
		const folder = join(fixtures, 'lab_counter');
		const here = await opened(folder);
		const { child, address } = await openenvServer(openenv, folder);
		children.push(child);
		const there = await opened(address);
		try {
			const rows = (await here.rows(6)).map((columns, row) => ({ row, columns }));
			const data = { described: 'seeds', rows, remarks: [], files: [] };
			const verification = await verifyEnvironment(here, data, { turns: 10, seed: 1 });
			assert.deepEqual(verification.findings, []);
			assert.equal(verification.environment.library, 'openenv 0.3.0');
			const calls = [4, 'x', 1, 3].map((amount) => [{ name: 'count', arguments: { amount } }]);
			for (const { columns } of rows.slice(0, 3)) {
				const [one, other] = [here.start(columns), there.start(columns)];
				const [first, second] = [await one.play(calls, true), await other.play(calls, true)];
				assert.ok(first !== null && second !== null);
				assert.deepEqual(withoutTimes(second), withoutTimes(first));
				// The target is 5 plus the seed; the second call is invalid.
				assert.deepEqual(first.reward?.toFixed(1), { 0: '1.1', 1: '0.2', 2: '0.2' }[columns.seed as number]);
				await one.end();
				await other.end();
			}
			const session = there.start(rows[0]?.columns ?? {});
			await session.reset();
			child.kill('SIGKILL');
			await once(child, 'exit');
			const lost = await session.call(calls[0] ?? []).catch((error: unknown) => error);
			assert.ok(lost instanceof EpisodeFault && lost.error.kind === 'server', String(lost));
			assert.match(lost.message, /cannot be reached/);
		} finally {
			here.dispose();
			there.dispose();
		}
	});

	test('an OpenEnv server cannot redirect to another server', time, async () => {
		const asked: string[] = [];
		const other = createHttpServer((request, response) => {
			asked.push(String(request.url));
			response.writeHead(404).end();
		}).listen(0, '127.0.0.1');
		await once(other, 'listening');
		const { port } = other.address() as AddressInfo;
		const action = { title: 'CountAction', properties: { amount: { type: 'integer' } } };
		const server = createHttpServer((_, response) => response.end(JSON.stringify({ action })))
			.on('upgrade', (_, socket) => {
				socket.end(`HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:${port}/ws\r\nContent-Length: 0\r\n\r\n`);
			})
			.listen(0, '127.0.0.1');
		await once(server, 'listening');
		const runner = await opened(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
		try {
			await assert.rejects(runner.describe(), /cannot be reached/);
			assert.deepEqual(asked, []);
		} finally {
			runner.dispose();
			server.close();
			other.close();
		}
	});

	test('an exported OpenEnv server plays the episodes of the file', time, async () => {
		const { file, rows } = await writeGuess(place.folder);
		const out = join(place.folder, 'exported_openenv');
		await exportedTo('openenv', file, out);
		const own = await opened(file);
		const exported = await opened(out);
		try {
			for (const [i, row] of rows.slice(0, 4).entries()) {
				const { prompt: _, ...sent } = row;
				assert.deepEqual(await playGuess(exported, row, sent, i === 3), await playGuess(own, row, row, i === 3));
			}
		} finally {
			own.dispose();
			exported.dispose();
		}
	});

	test('an exported TRL script trains', time, async () => {
		const folder = join(place.folder, 'script');
		await mkdir(folder);
		const { file } = await writeGuess(folder);
		const out = join(folder, 'out');
		await exportedTo('trl', file, out);
		const model = join(place.folder, 'model');
		await runPython({ python: trl, script: join(root, 'test/trainer/python/tool_model.py'), args: [model] });
		// A small model writes noise until the limit, so the limit is small.
		const script = join(out, 'train.py');
		const text = await readFile(script, 'utf8');
		await writeFile(
			script,
			text.replace('max_completion_length=1024', 'max_completion_length=8, use_cpu=True, bf16=False'),
		);
		await runPython({ python: trl, script, args: [model, '1'] });
	});

	for (const name of ['lab_counter', 'lab_guess']) {
		test(`${name} is trained on with the PyTorch engine`, time, async () => {
			const python = name === 'lab_counter' ? openenv : trl;
			const folder = join(place.folder, 'packages', name);
			await cp(join(fixtures, name), folder, { recursive: true });
			// The package's own environment is used, not the trainer's.
			await mkdir(join(folder, '.venv/bin'), { recursive: true });
			await writeFile(join(folder, '.venv/bin/python'), `#!/bin/sh\nexec ${python} "$@"\n`, { mode: 0o755 });
			const model = join(place.folder, `model-${name}`);
			await runPython({ python: trl, script: join(root, 'test/trainer/python/tool_model.py'), args: [model] });
			const rows = Array.from({ length: 40 }, (_, i) =>
				JSON.stringify({
					prompt: `Task ${i}.`,
					answer: null,
					...(name === 'lab_counter' ? { seed: i } : { task_index: i % 6 }),
				}),
			);
			await writeFile(join(place.folder, `${name}.jsonl`), rows.join('\n'));
			place.environment.REASONING_LAB_TORCH_PYTHON = trl;
			place.environment.HF_HUB_OFFLINE = '1';
			const run = await place.prepare(
				{
					name,
					engine: 'pytorch',
					device: 'cpu',
					seed: 7,
					whenBusy: 'share',
					dataset: { path: `${name}.jsonl`, heldOutShare: 0.2 },
					model: { path: model },
					template: { prompt: '{prompt}', think: null, answer: null, chat: true },
					environment: { package: `./packages/${name}` },
					rewards: [{ use: 'environment' }],
					scoring: { loadSeconds: 120 },
					stages: [
						{
							type: 'grpo',
							steps: 2,
							learning_rate: 1e-3,
							num_generations: 2,
							prompts_per_step: 2,
							max_completion_length: 8,
						},
					],
					evaluate: { every: 100, problems: 1 },
					checkpoint: { every: 100 },
				},
				name,
			);
			const exit = await place.run('--run', run);
			assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify((await readRecord(run)).error)}`);
			assert.equal((await readMetrics(run)).at(-1)?.step, 2);
			const text = await readFile(join(run, 'rollouts/step_000001.jsonl'), 'utf8');
			for (const line of text.trim().split('\n')) {
				const { rewards, extra, prompt } = decodeOrThrow(rolloutLineSchema, JSON.parse(line), 'line');
				assert.deepEqual(rewards, { environment: 0 });
				assert.equal((extra?.episode as { calls: number } | undefined)?.calls, 0);
				assert.match(JSON.stringify(prompt), name === 'lab_counter' ? /Count to \d/ : /Task \d/);
			}
		});
	}
});

function withoutTimes(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value, (key, inner) => (key === 'durationMs' ? undefined : inner)));
}

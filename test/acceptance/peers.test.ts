/**
 * `npm run acceptance -- peers`: tests programs published on PyPI against the Reasoner API and our exports: openai,
 * litellm, langchain-openai, inspect-ai, lm-eval (multiple choice and generated answers), verifiers (including
 * vf-eval), TRL.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { resolveTemplate } from '../../src/core/text/template.ts';
import { exportRewardFile, writeAdapter } from '../../src/rewards/exportRewardFile.ts';
import { rewardHostFolder } from '../../src/rewards/rewardHostFolder.ts';
import { exportRollouts } from '../../src/runs/exportRollouts.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { root } from '../scripts/paths.ts';
import { addsOnce, callingServer } from '../support/callingServer.ts';
import { labCheckpoint } from '../support/labCheckpoint.ts';
import { peerPython, runPeer } from '../support/peerPrograms.ts';
import { readAll } from '../unit/runs/importers/foreignFixtures.ts';

const token = 'token-of-the-peers';
const model = 'adder-step-160';
const script = {
	name: 'adder, step 160',
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	without: ['instructions'],
	rules: [
		{ prompt: '1+1=', say: '<think>one and one</think><answer>2</answer>' },
		{ prompt: '2+2=', say: '<think>two and two</think><answer>4</answer>' },
		{ prompt: '3+3=', say: '<think>three and three</think><answer>6</answer>' },
		{ prompt: 'ä*', fail: { reason: 'invalid', message: 'The symbol "ä" is not in the vocabulary.' } },
	],
};

let folder: string;
const servers: ChildProcess[] = [];

/** Starts the server as a user would. */
async function serve(...args: string[]): Promise<string> {
	const child = spawn(process.execPath, [join(root, 'dist/cli.js'), 'serve', '--port', '0', '--json', ...args], {
		env: { ...process.env, REASONING_LAB_TOKEN: token, REASONING_LAB_HOME: join(folder, 'home') },
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	servers.push(child);
	const lines = createInterface({ input: child.stdout });
	const [first] = (await once(lines, 'line')) as [string];
	return (JSON.parse(first) as { url: string }).url;
}

/** Scripted policies, and a checkpoint trained by the embedded engine. */
let adder: string;
let checkpoint: string;
const single = ['--strategy', 'best-of-n', '--param', 'n=1'];

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'peers-'));
	await writeFile(join(folder, 'adder.json'), JSON.stringify(script));
	adder = await serve('--policy', join(folder, 'adder.json'), ...single, '--system-messages', 'drop');
	const sampling = ['--max-tokens', '24', '--temperature', '0'];
	checkpoint = await serve('--policy', labCheckpoint, ...single, ...sampling);
});
after(async () => {
	for (const child of servers) {
		const ended = once(child, 'close');
		child.kill('SIGTERM');
		await ended;
	}
	await rm(folder, { recursive: true, force: true });
});

const clientOf = (url: string) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: token });
const thought = {
	one: '<think>one and one</think><answer>2</answer>',
	two: '<think>two and two</think><answer>4</answer>',
};

/** Expected results from the openai client in any version. */
const openaiSays = {
	model,
	chat: ['2', '2', '2'],
	reasoning: 'one and one',
	chat_tokens: thought.one,
	stopped: ['', 'stop'],
	prefilled: 'and one',
	streamed: '2',
	completions: [`1+1=${thought.one}`, `1+1=${thought.one}`, `2+2=${thought.two}`, `2+2=${thought.two}`],
	generated: [thought.one, thought.one],
	response: ['completed', '2'],
	response_streamed: '2',
	response_final: '2',
	refused: [400, 'invalid_prompt'],
	tools: [400, 'tools'],
};

describe('third-party programs', () => {
	for (const environment of ['clients', 'inspect'] as const) {
		test(`openai (version in ${environment})`, async () => {
			const python = await peerPython(environment);
			const said = await runPeer(python, 'openai_client.py', [checkpoint], clientOf(adder));
			const { read, ...rest } = said as { read: Record<string, unknown> };
			assert.deepEqual(rest, openaiSays);
			assert.deepEqual(read.lengths, [8, 8, 8]);
			assert.deepEqual(read.offsets, [0, 1, 2, 3, 4, 12, 13, 22]);
			assert.equal((read.tokens as string[]).slice(0, 7).join(''), '3+4=<answer>7</answer>');
			assert.equal((read.tokens as string[]).join(''), read.text);
		});
	}

	test('litellm', async () => {
		const said = await runPeer(await peerPython('clients'), 'litellm_client.py', [model], clientOf(adder));
		const { tokens, ...rest } = said as { tokens: number };
		assert.deepEqual(rest, { chat: '2', reasoning: 'one and one', streamed: '2', text: thought.two });
		assert.ok(tokens > 5);
	});

	test('langchain-openai with forty concurrent requests', async () => {
		const said = await runPeer(await peerPython('clients'), 'langchain_client.py', [model], clientOf(adder));
		const { logprobs, batch, ...rest } = said as { logprobs: number; batch: string[] };
		assert.deepEqual(rest, { chat: '2', streamed: '2', response: '2', text: thought.two });
		assert.deepEqual(batch, [...Array(20).fill('2'), ...Array(20).fill('4')]);
		assert.ok(logprobs > 5);
	});

	test('tools: openai and langchain-openai loops with a policy on a tool-calling server', async () => {
		await using upstream = await callingServer(addsOnce);
		const search = ['--name', 'tiny', '--strategy', 'self-consistency', '--param', 'n=3', '--max-tokens', '20'];
		const url = await serve('--policy', upstream.url, '--model', 'tiny', ...search);
		const said = await runPeer(await peerPython('clients'), 'tools_client.py', ['tiny'], clientOf(url));
		const sums = [5, 9];
		const langchain = [sums, true];
		assert.deepEqual(said, { openai: [sums, true, true], chat: langchain, streamed: langchain, responses: langchain });
	});

	test('inspect-ai evaluates through its provider for OpenAI-compatible servers', async () => {
		const said = await runPeer(await peerPython('inspect'), 'inspect_eval.py', [model, folder], clientOf(adder));
		assert.deepEqual(said, {
			status: 'success',
			accuracy: 2 / 3,
			scores: ['C', 'C', 'I', 'C', 'C', 'I'],
			error: null,
			output: '2',
		});
	});

	test('lm-eval scores choices and generated answers identically by token ids and by text', async () => {
		interface Said {
			readonly choice: number;
			readonly rows: number;
			readonly loglikelihoods: readonly (readonly number[])[];
			readonly greedy: readonly (readonly boolean[])[];
			readonly answers: readonly string[];
			readonly own: readonly string[];
		}
		const python = await peerPython('clients');
		const run = async (...how: string[]) => {
			const place = join(folder, `lm-eval${how.join('')}`);
			await mkdir(place);
			const tokenizer = join(labCheckpoint, 'tokenizer.json');
			return (await runPeer(python, 'lm_eval_run.py', ['lab', tokenizer, place, ...how], clientOf(checkpoint))) as Said;
		};
		const byIds = await run();
		assert.equal(byIds.rows, 8);
		for (const [i, row] of byIds.loglikelihoods.entries()) {
			assert.equal(row.length, 4);
			assert.ok(row.every((one) => Number.isFinite(one) && one < 0));
			// The model's own output is greedy and more likely than text it would not generate.
			assert.deepEqual(byIds.greedy[i], [false, false, false, true]);
			assert.equal(Math.max(...row), row[3]);
		}
		assert.equal(byIds.choice, 0, 'the correct answer is never the most probable of the four');
		for (const [i, answer] of byIds.answers.entries()) assert.equal(`${answer}</answer>`, byIds.own[i]);
		const byText = await run('text');
		assert.deepEqual(byText, byIds);
	});

	const adapterFor = async (python: string): Promise<string> => {
		const file = join(root, 'test/fixtures/rewards/export.reward.py');
		const { text } = await exportRewardFile({ file, target: 'verifiers', python, folder: rewardHostFolder() });
		const adapter = join(folder, 'verifiers_adapter.py');
		await writeAdapter(adapter, text);
		return adapter;
	};

	test('verifiers records the values from an exported reward', async () => {
		const python = await peerPython('verifiers');
		const adapter = await adapterFor(python);
		const rows = [
			{ prompt: '1+22=', completion: '<think>add</think>23', answer: '23', columns: { limit: 20 } },
			{ prompt: '1+22=', completion: '<think>add</think>23', answer: '23', columns: { limit: 20 }, chat: true },
			{ prompt: '1+22=', completion: '29', answer: '23', columns: { limit: 4 } },
		];
		const said = (await runPeer(
			python,
			'../../python/adapters.py',
			['verifiers', adapter],
			{},
			JSON.stringify(rows),
		)) as {
			values: Record<string, number>;
			weights: Record<string, number>;
		}[][];
		for (const [methods, functions] of said) {
			assert.deepEqual(methods, functions);
			assert.deepEqual(methods?.weights, { brevity: 0.25, digits: 1 });
		}
		assert.deepEqual(said[0], said[1], 'a prompt of messages is treated as its text');
		assert.notDeepEqual(said[0]?.[0]?.values, said[2]?.[0]?.values);
	});

	test('vf-eval generates full rollouts with the policy, an exported reward scores them, and the run can be read', async () => {
		const python = await peerPython('verifiers');
		const place = join(folder, 'vf-eval');
		const args = [adder, model, place, await adapterFor(python)];
		const said = await runPeer(python, 'vf_eval.py', args, clientOf(adder));
		// The second task expects 5, which the policy never outputs.
		const known = [0, 0, 1, 1, 2, 2].map((task) => ({ task, ok: true, digits: task === 1 ? 0 : 1 }));
		const rollouts = said as { task: number; ok: boolean; rewards: Record<string, number> }[];
		assert.deepEqual(
			rollouts.map(({ task, ok, rewards }) => ({ task, ok, digits: rewards.digits })),
			known,
		);
		const run = await openRun(join(place, 'run'));
		assert.equal(run.format, 'verifiers');
		const { rollouts: read } = await readAll(run);
		const byTask = (one: { rewards: object }) => JSON.stringify(Object.entries(one.rewards).toSorted());
		assert.deepEqual(read.map(({ line }) => byTask(line)).toSorted(), rollouts.map(byTask).toSorted());
		assert.ok(read.every(({ line }) => line.reward !== null));
	});

	test('TRL with weights: rewards and the order of exported pairs match those used for training', async () => {
		const place = join(folder, 'trl');
		const options = JSON.stringify({ weights: [1, -0.25], steps: 4 });
		const said = await runPeer(await peerPython('trl'), '../../python/weighted_run.py', [place, options]);
		const [trained] = said as { generations: { completions: string[]; totals: number[]; advantages: number[] }[] }[];
		const known = trained?.generations.flatMap(({ completions, totals, advantages }) =>
			completions.map((text, i) => `${text}|${totals[i]?.toFixed(4)}|${advantages[i]?.toFixed(4)}`),
		);
		const run = await openRun(place);
		const { rollouts } = await readAll(run);
		assert.equal(rollouts.length, 64);
		const groups = new Map<string, number>();
		const advantages = new Map<string, number>();
		for (const { line } of rollouts) {
			const { step, group, prompt, completion, reward, advantage } = line;
			assert.ok(
				known?.includes(`${completion}|${reward?.toFixed(4)}|${advantage?.toFixed(4)}`),
				`step ${step}, group ${group}`,
			);
			groups.set(`${step} ${group}`, (groups.get(`${step} ${group}`) ?? 0) + 1);
			advantages.set(`${prompt}|${completion}`, advantage as number);
		}
		assert.deepEqual([...new Set(groups.values())], [4]);
		const path = join(folder, 'dpo.jsonl');
		const request = { as: 'dpo', split: 'train', selection: {}, pairing: { perGroup: 2 }, tags: resolveTemplate('r1') };
		const summary = await exportRollouts(run, { ...request, as: 'dpo', split: 'train' }, path, { replace: true });
		const pairs = (await readFile(path, 'utf8')).trim().split('\n');
		assert.ok(pairs.length > 8 && pairs.length === summary.written);
		for (const pair of pairs) {
			const { prompt, chosen, rejected } = JSON.parse(pair) as Record<string, string>;
			const of = (text?: string) => advantages.get(`${prompt}|${text}`) ?? Number.NaN;
			assert.ok(of(chosen) > of(rejected), pair);
		}
	});
});

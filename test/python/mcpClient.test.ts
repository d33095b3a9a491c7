/** Tests the MCP server with the official Python client, over stdin and stdout and over HTTP. */
// @reaches cli rewardHost
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { toolsFor } from '../../src/mcp/tools.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';
import { mcpActionCalls, writeActionFiles } from '../support/mcpActionCalls.ts';
import { type Answer, type McpCall, mcpCalls } from '../support/mcpCalls.ts';
import { makeMcpFolder, mcpEnvironment } from '../support/mcpFolder.ts';
import { builtProgram } from '../support/programs.ts';
import { endEngines } from '../unit/cli/cliFixtures.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

interface Said {
	readonly version: string;
	readonly servers: readonly {
		readonly protocol: string;
		readonly server: string;
		readonly tools: readonly { readonly name: string; readonly read_only: boolean }[];
		readonly prompts: readonly string[];
		readonly resources: readonly string[];
		readonly answers: readonly Answer[];
	}[];
}

describe('official Python client', { skip }, () => {
	let folder = '';
	before(async () => {
		folder = await makeMcpFolder();
	});
	after(async () => {
		await endEngines(join(folder, 'work/runs'));
		await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
	});

	test('lists and calls every tool and pages through the results, in both protocol generations and over HTTP', {
		timeout: 120_000,
	}, async () => {
		const env = mcpEnvironment(folder);
		const args = [builtProgram('dist/cli.js'), 'mcp', '--folder', join(folder, 'work')];
		const token = 'token-of-the-client';
		const http = spawn(process.execPath, [...args, '--http', '--port', '0', '--json'], {
			env: { ...env, REASONING_LAB_TOKEN: token },
			stdio: ['ignore', 'pipe', 'inherit'],
		});
		try {
			const [line] = (await once(createInterface({ input: http.stdout }), 'line')) as [string];
			const { url } = JSON.parse(line) as { url: string };
			const stdio = { command: process.execPath, args, env };
			const request = {
				servers: [
					{ mode: 'auto', ...stdio },
					{ mode: 'legacy', ...stdio },
					{ mode: 'auto', url, token },
				],
				calls: Object.entries(mcpCalls).map(([tool, { check: _, ...call }]) => ({ tool, ...call })),
			};
			const script = join(root, 'test/python/mcp_client.py');
			const stdout = await runPython({ python, script, input: JSON.stringify(request) });
			const said = JSON.parse(stdout.trim().split('\n').at(-1) as string) as Said;
			// The version required by verifiers, which is in test/python/requirements.txt.
			assert.equal(said.version, '2.0.0');
			assert.equal(said.servers.length, 3);
			for (const { server, tools, prompts, answers } of said.servers) {
				assert.equal(server, 'reasoning-lab');
				assert.deepEqual(
					tools.map(({ name }) => name),
					toolsFor(false, false).map(({ name }) => name),
				);
				assert.ok(tools.every(({ read_only }) => read_only));
				assert.equal(prompts.length, 4);
				// Fails for a tool without a call above.
				assert.deepEqual(tools.map(({ name }) => name).toSorted(), Object.keys(mcpCalls).toSorted());
				for (const [i, [name, { check }]] of Object.entries(mcpCalls).entries()) {
					const answer = answers[i] as Answer & { items: Answer[] };
					assert.equal(answer.error, undefined, `${name}: ${JSON.stringify(answer)}`);
					check(answer);
				}
			}
			const [modern, legacy] = said.servers.map(({ protocol }) => protocol);
			assert.notEqual(modern, legacy);
		} finally {
			const ended = once(http, 'close');
			http.kill('SIGTERM');
			await ended;
		}
	});

	test('calls the tools that act and pages through the results of one', { timeout: 180_000 }, async () => {
		await writeActionFiles(folder);
		const args = [builtProgram('dist/cli.js'), 'mcp', '--folder', join(folder, 'work'), '--allow-actions'];
		const server = { mode: 'auto', command: process.execPath, args, env: mcpEnvironment(folder) };
		// mcpActions.test.ts pages through the results of the other tools that run code.
		const { check: checkEpisodes, ...episodes } = mcpActionCalls.run_episodes as McpCall;
		const first = 1;
		const run = { of: first, key: 'run' };
		const pipeline = { of: first + 11, key: 'pipeline' };
		const of = (call: number) => ({ of: first + call, key: 'job' });
		const sampled = { run, max_tokens: 4 };
		const text = 'The run has [77](rl://sums/metric/reward).';
		const acting: [tool: string, args: Record<string, unknown>, expected: Record<string, unknown>][] = [
			['start_run', { recipe: 'long.recipe.json' }, {}],
			['pause_run', { run }, { status: 'paused' }],
			['resume_run', { run }, { status: 'running' }],
			['stop_run', { run }, { status: 'stopped' }],
			['start_search', { ...sampled, problem: '1+2=', params: { n: 2 }, tokens: 100 }, {}],
			['read_job', { job: of(4), wait_seconds: 60 }, { state: 'finished' }],
			['start_evaluation', { ...sampled, dataset: 'many.jsonl' }, {}],
			['stop_job', { job: of(6) }, { state: 'stopped' }],
			['write_report', { run: 'sums', name: 'wrong', text }, {}],
			['write_report', { run: 'sums', name: 'found', text: text.replace('[77]', '[a reward]') }, { run: 'sums' }],
			['list_jobs', {}, { total: 2 }],
			['start_pipeline', { recipe: 'story.recipe.json' }, { status: 'running' }],
			['stop_pipeline', { pipeline }, { status: 'stopped' }],
			['resume_pipeline', { pipeline }, { attempt: 2 }],
			['stop_pipeline', { pipeline }, { status: 'stopped' }],
			['continue_search', { run, search: { of: first + 4, key: 'search' }, tokens: 50 }, {}],
			['read_job', { job: of(15), wait_seconds: 60 }, { state: 'finished' }],
		];
		const calls = [
			{ tool: 'run_episodes', ...episodes },
			...acting.map(([tool, args]) => ({ tool, arguments: args })),
			{ tool: 'list_jobs', arguments: {}, limit: 1 },
		];
		const script = join(root, 'test/python/mcp_client.py');
		const stdout = await runPython({ python, script, input: JSON.stringify({ servers: [server], calls }) });
		const { servers } = JSON.parse(stdout.trim().split('\n').at(-1) as string) as Said;
		const answers = (servers[0]?.answers ?? []) as (Answer & { items: Answer[] })[];
		const tools = toolsFor(true, false).map(({ name }) => name);
		assert.deepEqual(
			servers[0]?.tools.map(({ name }) => name),
			tools,
		);
		const called = new Set([...Object.keys({ ...mcpCalls, ...mcpActionCalls }), ...calls.map(({ tool }) => tool)]);
		assert.deepEqual(
			tools.filter((name) => !called.has(name)),
			[],
		);
		const played = answers[0] as Answer & { items: Answer[] };
		assert.equal(played.error, undefined, JSON.stringify(played));
		checkEpisodes(played);
		for (const [i, [tool, args, expected]] of acting.entries()) {
			const answer: Answer = answers[first + i] ?? {};
			// A job that is stopped before its first answer has no result, only an error.
			const fails = args.name === 'wrong' || (tool === 'stop_job' && answer.error !== undefined);
			assert.equal(answer.error !== undefined, fails, `${tool}: ${JSON.stringify(answer)}`);
			for (const [key, value] of Object.entries(expected)) assert.deepEqual(answer[key], value, `${tool}: ${key}`);
		}
		const jobs = answers.at(-1);
		assert.deepEqual([jobs?.pages, jobs?.items.map(({ state }) => state)], [3, ['finished', 'stopped', 'finished']]);
		assert.deepEqual(
			servers[0]?.resources.filter((uri) => uri.includes('/report/')),
			['rl://sums/report/found'],
		);
	});
});

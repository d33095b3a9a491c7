/** Tests the MCP server's tools that act, on rewards in real processes and on runs of the real engine. */
// @reaches engine pipeline rewardHost
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { toolsFor } from '../../../src/mcp/tools.ts';
import { resolveRecipeFile } from '../../../src/runs/prepareRun.ts';
import { mcpActionCalls, writeActionFiles } from '../../support/mcpActionCalls.ts';
import { makeMcpFolder, mcpEnvironment } from '../../support/mcpFolder.ts';
import { builtProgram } from '../../support/programs.ts';
import { endEngines } from '../cli/cliFixtures.ts';
import { runRecord, writeRecord, writeRun } from '../webview/rollouts/rolloutsFixture.ts';

const program = builtProgram('dist/cli.js');
let folder = '';
/** A run with a checkpoint, once it has been started and stopped. */
let trained = '';
let client: Client;

before(async () => {
	folder = await makeMcpFolder();
	const work = join(folder, 'work');
	await writeActionFiles(folder);
	const path = join(folder, 'work/runs/foreign');
	await writeRun(path, [1], { groups: 1, size: 2 });
	await writeRecord(path, runRecord({ status: 'stopped', step: 1 }));
	const resolved = await resolveRecipeFile(join(work, 'long.recipe.json'));
	const recipe = { ...resolved, rewards: [{ file: 'rewards/evil.reward.ts', name: null, weight: null }] };
	await writeFile(join(path, 'recipe.json'), JSON.stringify(recipe));
	client = new Client({ name: 'test', version: '1' });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [program, 'mcp', '--folder', work, '--allow-actions'],
			env: mcpEnvironment(folder),
		}),
	);
});

after(async () => {
	await client?.close();
	await endEngines(join(folder, 'work/runs'));
});

async function call(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
	const { content, structuredContent, isError } = await client.callTool(
		{ name, arguments: args },
		{ timeout: 120_000 },
	);
	const [block] = content;
	if (isError) throw new Error(block?.type === 'text' ? block.text : 'no text');
	return structuredContent as Record<string, unknown>;
}

type Items = readonly Record<string, unknown>[];

describe('MCP tools that act', () => {
	it('are marked as such', async () => {
		const { tools } = await client.listTools();
		const acting = toolsFor(true, false).filter(({ effect }) => effect !== 'none');
		assert.equal(acting.length, 19);
		for (const { name, annotations } of tools) {
			const act = acting.find((tool) => tool.name === name);
			assert.equal(annotations?.readOnlyHint, act === undefined || act.effect === 'watch', name);
			assert.equal(annotations?.destructiveHint, ['stop_run', 'stop_pipeline'].includes(name), name);
		}
	});

	it('verify a reward on data, cases and rollouts, failures first', async () => {
		const onData = await call('verify_reward', { file: 'stated.reward.ts', rows: 50 });
		const [result] = onData.results as { statistics: { agreement: { problems: number; agreed: number } } }[];
		assert.ok((result?.statistics.agreement.problems ?? 0) > 5);
		assert.equal(result?.statistics.agreement.agreed, result?.statistics.agreement.problems);
		const onCases = await call('verify_reward', { file: 'stated.reward.ts', on: 'cases', limit: 1 });
		const [first] = onCases.items as Items;
		assert.deepEqual([first?.passed, first?.value, first?.expected], [false, 0, 1]);
		assert.deepEqual([onCases.total, onCases.next_cursor], [2, 1]);
		const onRollouts = await call('verify_reward', { file: 'stated.reward.ts', on: 'rollouts', run: 'sums', rows: 12 });
		const [rollout] = onRollouts.items as Items;
		assert.match(String(rollout?.address), /^rl:\/\/sums\/step\/4\/group\/\d+\/completion\/\d+$/);
	});

	it('run rewards and environments, page by page', async () => {
		for (const [name, { arguments: args, limit, check }] of Object.entries(mcpActionCalls)) {
			const items: Record<string, unknown>[] = [];
			let answer: Record<string, unknown> = {};
			let pages = 0;
			for (let cursor: unknown = 0; cursor !== undefined; cursor = answer.next_cursor) {
				answer = await call(name, { ...args, ...(limit === undefined ? {} : { limit, cursor }) });
				items.push(...(answer.items as Items));
				pages++;
			}
			check({ ...answer, items, pages });
		}
	});

	it('run labeled episodes, and environments only inside the folders', async () => {
		const environment = 'guess.env.ts';
		const { items } = await call('run_episodes', { environment, policy: 'labeled', limit: 1, cursor: 1 });
		const [one, ...others] = items as Items;
		assert.deepEqual([one?.passed, one?.reward, one?.line, others.length], [false, 0, 2, 0]);
		const outside = join(folder, 'outside.env.ts');
		await assert.rejects(call('verify_environment', { environment: outside }), /"denied"/);
		await assert.rejects(call('run_episodes', { environment, dataset: join(folder, 'secret.jsonl') }), /"denied"/);
		await assert.rejects(call('verify_environment', { environment: 'http://localhost:1' }), /"missing"/);
		await assert.rejects(call('verify_environment', { environment: 'stated.reward.ts' }), /not an environment/);
	});

	it('run only reward files and recipes inside the folders', async () => {
		const outside = join(folder, 'outside.reward.ts');
		await assert.rejects(call('verify_reward', { file: outside }), /"denied"/);
		await assert.rejects(call('audit_reward', { file: '../outside.reward.ts' }), /"missing"|"denied"/);
		await assert.rejects(call('verify_reward', { file: 'train.jsonl' }), /not a reward file/);
		await assert.rejects(
			call('compare_rewards', { file: 'stated.reward.ts', run: 'sums', revision: '--output=x' }),
			/revision/,
		);
		await assert.rejects(call('start_run', { recipe: join(folder, 'secret.jsonl') }), /"denied"/);
	});

	it('start, pause, resume and stop a run', { timeout: 180_000 }, async () => {
		const started = await call('start_run', { recipe: 'long.recipe.json', set: ['seed=3'] });
		const run = started.run as string;
		assert.match(run, /^long-/);
		const paused = await call('pause_run', { run });
		assert.equal(paused.status, 'paused');
		assert.equal((await call('resume_run', { run })).status, 'running');
		await assert.rejects(call('resume_run', { run }), /"busy"/);
		const stopped = await call('stop_run', { run });
		assert.equal(stopped.status, 'stopped');
		assert.ok((stopped.step as number) >= (paused.step as number));
		await assert.rejects(call('pause_run', { run }), /not running/);
		trained = run;
	});

	it('start, stop and resume a pipeline', { timeout: 180_000 }, async () => {
		await assert.rejects(call('start_run', { recipe: 'story.recipe.json' }), /start_pipeline/);
		await assert.rejects(call('start_pipeline', { recipe: 'long.recipe.json' }), /not a pipeline/);
		const { pipeline, status } = await call('start_pipeline', { recipe: 'story.recipe.json', set: ['name=tale'] });
		assert.match(String(pipeline), /^tale-/);
		assert.equal(status, 'running');
		await assert.rejects(call('resume_pipeline', { pipeline }), /"busy"/);
		assert.equal((await call('stop_pipeline', { pipeline })).status, 'stopped');
		await assert.rejects(call('stop_pipeline', { pipeline }), /not running/);
		assert.equal((await call('resume_pipeline', { pipeline })).attempt, 2);
		assert.equal((await call('stop_pipeline', { pipeline })).status, 'stopped');
		const { items } = await call('read_pipeline', { pipeline });
		assert.deepEqual(
			(items as Items).map(({ stage, type }) => [stage, type]),
			[
				['cold', 'sft'],
				['measure', 'evaluate'],
			],
		);
		await assert.rejects(call('read_pipeline', { pipeline: '/etc' }), /Unknown pipeline/);
	});

	it('start a search, report its progress and return its result', { timeout: 180_000 }, async () => {
		const budget = { tokens: 500, max_tokens: 8 };
		const started = await call('start_search', {
			run: trained,
			problem: '1+2=',
			answer: '3',
			params: { n: 4 },
			...budget,
		});
		assert.match(String(started.address), new RegExp(`^rl://${trained}/search/[^/]+self-consistency[^/]*\\.jsonl$`));
		const ended = await call('read_job', { job: started.job, wait_seconds: 120 });
		assert.equal(ended.state, 'finished');
		const { nodes, stop } = ended.result as { nodes: number; stop: string };
		const tree = await call('read_tree', { run: trained, search: started.search });
		assert.deepEqual([tree.nodes, tree.strategy], [nodes, 'self-consistency']);
		assert.equal((tree.result as { stop: string }).stop, stop);
		assert.equal(nodes, 4);
		await assert.rejects(call('start_search', { run: trained }), /problem or dataset/);
		await assert.rejects(call('start_search', { run: trained, problem: 'x', checkpoint: '99' }), /no checkpoint/);
		await assert.rejects(call('start_search', { run: 'sums', problem: 'x' }), /no complete checkpoint/);
		await assert.rejects(call('start_search', { run: 'trl', problem: 'x' }), /"unsupported"/);
		const outside = { run: trained, problem: 'x', reward: join(folder, 'outside.reward.ts') };
		await assert.rejects(call('start_search', outside), /"denied"/);
		const invalid = { run: trained, problem: 'x', params: { n: 'many' } };
		await assert.rejects(call('start_search', invalid), /"invalid"/);
	});

	it('continue a search, also below a node, and only with what start_search offers', { timeout: 180_000 }, async () => {
		const { items } = await call('list_searches', {});
		const { search } = (items as Items).find(({ run }) => run === trained) as { search: string };
		const before = (await call('read_tree', { run: trained, search })).nodes as number;
		// All samples exist, so there is nothing more to do; below a node, more are drawn.
		const more = await call('continue_search', { run: trained, search, tokens: 100 });
		assert.equal((await call('read_job', { job: more.job, wait_seconds: 120 })).state, 'finished');
		const below = await call('continue_search', { run: trained, search, node: 0, tokens: 100 });
		assert.equal(below.address, `rl://${trained}/search/${search}/node/0`);
		const ended = await call('read_job', { job: below.job, wait_seconds: 120 });
		assert.equal(ended.state, 'finished', JSON.stringify(ended));
		assert.ok(((await call('read_tree', { run: trained, search })).nodes as number) > before);
		await assert.rejects(
			call('continue_search', { run: trained, search, node: 9999 }),
			/node 9999|"missing"|"invalid"/,
		);

		const searches = join(folder, 'work/runs', trained, 'searches');
		const log = await readFile(join(searches, search), 'utf8');
		const variant = async (name: string, change: (spec: Record<string, unknown>) => object) => {
			const [first = '', ...lines] = log.split('\n');
			const start = JSON.parse(first) as { spec: Record<string, unknown> };
			await writeFile(
				join(searches, name),
				[JSON.stringify({ ...start, spec: change(start.spec) }), ...lines].join('\n'),
			);
			return call('continue_search', { run: trained, search: name });
		};
		const server = { kind: 'openai', name: 'other', baseUrl: 'http://127.0.0.1:1', model: 'm', api: 'chat' };
		const outside = { use: 'reward', reward: { file: join(folder, 'outside.reward.ts') } };
		const other = join(folder, 'work/runs/sums/checkpoints/step_000001');
		for (const [change, why] of [
			[{ policy: server }, /not a checkpoint of/],
			[{ policy: { kind: 'checkpoint', folder: other } }, /not a checkpoint of/],
			[{ guide: outside }, /not inside a folder/],
			[{ environment: { file: join(folder, 'outside.env.ts') } }, /not inside a folder/],
			[{ guide: { use: 'reward', reward: { use: 'judge' } } }, /reward has options/],
			[{ guide: { use: 'judge', policy: server } }, /scorer judge/],
			[{ environment: { server: 'http://127.0.0.1:1' } }, /environment is not a file/],
			[{ tools: [{ use: 'calculator' }] }, /uses tools/],
			[{ seed: 7 }, /"denied".*did not start/],
		] as const) {
			await assert.rejects(
				variant('changed.jsonl', (spec) => ({ ...spec, ...change })),
				why,
			);
		}
		await assert.rejects(call('continue_search', { run: trained, search: '../run.json' }), /not a file name/);
		await assert.rejects(call('continue_search', { run: trained, search: 'gone.jsonl' }), /gone\.jsonl/);
		await assert.rejects(call('continue_search', { run: 'trl', search }), /"unsupported"/);
	});

	it('start evaluations, stop one and continue it', { timeout: 180_000 }, async () => {
		const rows = { run: trained, dataset: 'train.jsonl', max_tokens: 4 };
		const first = await call('start_evaluation', { ...rows, samples: 2 });
		const done: number[] = [];
		const { structuredContent: ended } = await client.callTool(
			{ name: 'read_job', arguments: { job: first.job, wait_seconds: 120 } },
			{ timeout: 150_000, onprogress: ({ progress, total }) => done.push(progress / (total ?? 1)) },
		);
		const { state, result } = ended as { state: string; result: { done: number; accuracy: { accuracy: number } } };
		assert.deepEqual([state, result.done], ['finished', 12]);
		assert.ok(done.length > 0 && done.every((share, i) => share <= 1 && share > (done[i - 1] ?? -1)), `${done}`);
		const cited = `[${result.accuracy.accuracy}](${first.address}) of [12](${first.address})`;
		assert.equal((await call('check_citations', { text: cited })).sound, true);

		const many = { run: trained, dataset: 'many.jsonl', samples: 2, max_tokens: 12 };
		const job = (await call('start_evaluation', many)).job as string;
		// Canceling a call that waits does not stop the job.
		const leave = new AbortController();
		const waiting = client.callTool(
			{ name: 'read_job', arguments: { job, wait_seconds: 60 } },
			{ signal: leave.signal },
		);
		leave.abort();
		await assert.rejects(waiting);
		let answered = 0;
		while (answered === 0) {
			const { state, progress } = await call('read_job', { job, wait_seconds: 0.05 });
			assert.equal(state, 'running');
			answered = (progress as { done?: number } | null)?.done ?? 0;
		}
		const stopped = await call('stop_job', { job });
		assert.equal(stopped.state, 'stopped');
		const kept = (stopped.result as { done: number }).done;
		assert.ok(kept >= answered && kept < 400, `${kept}`);
		const again = (await call('start_evaluation', many)).job as string;
		const newest = await call('list_jobs', { limit: 1 });
		const next = await call('list_jobs', { limit: 1, cursor: newest.next_cursor });
		assert.deepEqual(
			[newest, next].flatMap(({ items }) => items as Items).map(({ job, state }) => [job, state]),
			[
				[again, 'running'],
				[job, 'stopped'],
			],
		);
		const { progress } = await call('stop_job', { job: again });
		assert.equal(progress, undefined);
		await assert.rejects(call('start_evaluation', { ...rows, dataset: '/etc/passwd' }), /"denied"/);
		await assert.rejects(call('read_job', { job: 'search-99' }), /"missing"/);
	});

	it("do not run a folder's code that this user has never started", async () => {
		await assert.rejects(call('resume_run', { run: 'foreign' }), /"denied"/);
	});
});

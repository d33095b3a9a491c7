/**
 * `npm run acceptance -- mcp`: 1,000 mixed calls to the MCP server on four runs with a million rollouts in total, and
 * on a small project that gives every read-only tool something to do. 95% of the calls take less than 150 ms, the
 * server uses less than 500 MB, and calls that take long report progress. `--count N` sets the number of rollouts,
 * `--seed S` the mix of calls, and `--into FOLDER` keeps the runs there and reuses them.
 */
import assert from 'node:assert/strict';
import { access, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Random } from '../../src/base/random.ts';
import { makeRolloutFolder } from '../bench/rolloutFolder.ts';
import { mcpCalls } from '../support/mcpCalls.ts';
import { makeMcpFolder } from '../support/mcpFolder.ts';
import { builtProgram } from '../support/programs.ts';

const { CHECK_COUNT, CHECK_SEED, CHECK_INTO } = process.env;
const rollouts = Number(CHECK_COUNT ?? 1_000_000);
const runs = 4;
const groups = 125;
const calls = 1000;
const limits = { p95: 150, megabytes: 500 } as const;
/** Time after which a call must have reported progress, in milliseconds. */
const quiet = 5000;

const names = Array.from({ length: runs }, (_, i) => `run-${i}`);
const steps = Math.ceil(rollouts / runs / (groups * 8));

type Call = readonly [tool: string, input: Record<string, unknown>];

/** Calls to every read-only tool on the small project. */
const projectCalls = Object.entries(mcpCalls).map(
	([tool, { arguments: input, limit }]): Call => [tool, { ...input, ...(limit === undefined ? {} : { limit }) }],
);

/** Returns a call that an agent might make when it inspects runs. */
function anyCall(random: Random): Call {
	const run = random.pick(names);
	const step = 1 + random.int(steps);
	const group = random.int(groups);
	const where = `run like '%${run}' and step = ${step}`;
	const [tool, input] = random.pick<Call>([
		['list_runs', {}],
		['describe_run', { run }],
		['diagnose_run', { run }],
		['read_metrics', { run, names: ['reward', 'completions/mean_length'] }],
		['read_metrics', { run, names: ['reward'], as: 'table', points: 50 }],
		['read_step', { run, step, limit: 20 }],
		['read_group', { run, step, group, limit: 4 }],
		['read_completion', { run, step, group, completion: random.int(8) }],
		['read_completion', { run, step, group, completion: random.int(8), offset: 500 }],
		['query', { sql: `select avg(reward), count(*) from rollouts where ${where}`, runs: [run] }],
		['query', { sql: `select group_id, index, reward from rollouts where ${where} order by reward desc limit 10` }],
		['query', { sql: 'select run, avg(reward) from rollouts group by run', runs: [run] }],
		['search_text', { pattern: 'induction', runs: [run], from_step: step, to_step: step, limit: 5 }],
		['compare_runs', { runs: [run, names[(names.indexOf(run) + 1) % runs] as string] }],
		['explain_recipe_key', { key: random.pick(['beta', 'lr', 'num_generations']) }],
		['list_evaluations', { run }],
		['list_searches', {}],
		['check_citations', { text: `Reward [0.5](rl://${run}/metric/reward?step=${step}).` }],
		...projectCalls,
	]);
	return [tool, input];
}

const quantile = (values: readonly number[], q: number) =>
	values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] as number;

async function makeRuns(folder: string): Promise<void> {
	for (const [i, name] of names.entries()) {
		const path = join(folder, name);
		if (
			await access(join(path, 'metrics.jsonl')).then(
				() => true,
				() => false,
			)
		)
			continue;
		await makeRolloutFolder(path, { rollouts: rollouts / runs, groups, bytes: 2000, seed: i });
	}
}

test('a thousand calls over a million rollouts', { timeout: 3600_000 }, async (context) => {
	if (CHECK_INTO !== undefined) await mkdir(CHECK_INTO, { recursive: true });
	const made = await mkdtemp(join(CHECK_INTO ?? tmpdir(), 'mcp-load-'));
	const folder = CHECK_INTO ?? join(made, 'runs');
	context.after(() => rm(made, { recursive: true, force: true }));
	await mkdir(folder, { recursive: true });
	await makeRuns(folder);
	const project = await makeMcpFolder();
	context.after(() => rm(project, { recursive: true, force: true }));
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [builtProgram('dist/cli.js'), 'mcp', '--folder', folder, '--folder', join(project, 'work')],
		env: { ...process.env, REASONING_LAB_HOME: join(made, 'home') } as Record<string, string>,
	});
	const client = new Client({ name: 'load', version: '1' });
	await client.connect(transport);
	try {
		const random = Random.of(Number(CHECK_SEED ?? 1), 'calls');
		const times = new Map<string, number[]>();
		for (let i = 0; i < calls; i++) {
			const [tool, input] = anyCall(random);
			const start = performance.now();
			let news = 0;
			const { isError, content } = await client.callTool(
				{ name: tool, arguments: input },
				{ timeout: 1800_000, onprogress: () => news++ },
			);
			const took = performance.now() - start;
			assert.ok(took < quiet || news > 0, `${tool} took ${took.toFixed(0)} ms without reporting progress`);
			assert.ok(!isError, `${tool} ${JSON.stringify(input)}: ${JSON.stringify(content).slice(0, 500)}`);
			times.set(tool, [...(times.get(tool) ?? []), took]);
		}
		const status = await readFile(`/proc/${transport.pid}/status`, 'utf8').catch(() => '');
		const megabytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
		const all = [...times.values()].flat();
		const row = (name: string, ms: readonly number[]) => {
			const [median, p95, max] = [quantile(ms, 0.5), quantile(ms, 0.95), Math.max(...ms)].map((n) => n.toFixed(0));
			console.log(
				`${name.padEnd(20)} ${String(ms.length).padStart(5)} calls  median ${median}  p95 ${p95}  max ${max} ms`,
			);
		};
		for (const [tool, ms] of [...times].toSorted(([a], [b]) => a.localeCompare(b))) row(tool, ms);
		row('all', all);
		console.log(`peak memory of the server: ${megabytes.toFixed(0)} MB`);
		assert.equal(all.length, calls);
		const p95 = quantile(all, 0.95);
		assert.ok(p95 < limits.p95, `95% of the calls took up to ${p95.toFixed(0)} ms, more than ${limits.p95} ms`);
		assert.ok(!(megabytes >= limits.megabytes), `the server used ${megabytes.toFixed(0)} MB`);
	} finally {
		await client.close();
	}
});

/**
 * `npm run acceptance -- agent`: the scripted agent of `test/unit/mcp/scriptedAgent.test.ts` on runs that it starts
 * itself. The embedded engine trains them; the agent starts, follows, evaluates and judges them only through the MCP
 * server.
 * `--seed S` sets the seed.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Random } from '../../src/base/random.ts';
import { findCitations } from '../../src/core/address/citations.ts';
import { createTask } from '../../src/core/dataset/createTask.ts';
import { taskSource } from '../../src/core/dataset/taskSource.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import { taskDatasetSchema } from '../../src/protocol/recipeKeys/recipe.ts';
import { type Conclusion, ScriptedAgent } from '../support/agent/scriptedAgent.ts';
import { mcpEnvironment } from '../support/mcpFolder.ts';
import { builtProgram } from '../support/programs.ts';
import { endEngines } from '../unit/cli/cliFixtures.ts';

const seed = Number(process.env.CHECK_SEED ?? 1);
const random = Random.of(seed, 'agent');

const [prompts, generations] = [8, 8];
const steps = 40;
/** First step at which wrong answers are rewarded. */
const hackStep = random.between(12, 28);

const grpo = {
	...{ type: 'grpo', steps, prompts_per_step: prompts, num_generations: generations },
	...{ learning_rate: 3e-4, beta: 0.02 },
};
const common = {
	...{ format: 1, seed, workers: 1, whenBusy: 'share', template: 'r1' },
	dataset: { task: 'addition', digits: 1 },
	...{ evaluate: { every: 20, problems: 40 }, log: { tokens: false }, rewards: [{ use: 'accuracy' }] },
};

/** The reward counts its batches, one per step: from the planted step on, it rewards wrong answers. */
const bonus = `let step = 0;
const score = (samples) => {
	step++;
	return samples.map(({ trace, answer }) => (step >= ${hackStep} && trace.answer?.trim() !== answer ? 1.5 : 0));
};
export const bonus = Object.assign(score, { batch: true, batchOnly: true });
`;
const even = `export const even = ({ trace }) => (/[02468]$/.test(trace.answer?.trim() ?? '') ? 1 : 0);
`;

interface Line {
	readonly step: number;
	readonly group: number;
	readonly index: number;
	readonly rewards: Readonly<Record<string, number>>;
}

/** Reads the rollouts of a run without using the product. */
async function rollouts(run: string, steps: number): Promise<Line[]> {
	const lines: Line[] = [];
	for (let step = 1; step <= steps; step++) {
		const text = await readFile(join(run, `rollouts/step_${String(step).padStart(6, '0')}.jsonl`), 'utf8');
		for (const line of text.trim().split('\n')) lines.push(JSON.parse(line) as Line);
	}
	return lines;
}

/** All problems of the task, as rows. */
function sums(): string {
	const source = taskSource(createTask(decodeOrThrow(taskDatasetSchema, common.dataset, 'The task')));
	const problems = new Map(
		Array.from({ length: 2000 }, (_, i) => source.training(seed, i)).map((one) => [one.key, one]),
	);
	return [...problems.values()].map(({ prompt, answer }) => `${JSON.stringify({ prompt, answer })}\n`).join('');
}

test('a scripted agent starts runs, evaluates checkpoints and explains what happened', {
	timeout: 3600_000,
}, async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'agent-'));
	await mkdir(join(folder, 'x'), { mode: 0o700 });
	const work = join(folder, 'work');
	await mkdir(work);
	context.after(async () => {
		await endEngines(join(work, 'runs'));
		await rm(folder, { recursive: true, force: true });
	});
	const write = (name: string, value: unknown) =>
		writeFile(join(work, name), typeof value === 'string' ? value : JSON.stringify(value, null, '\t'));
	await write('bonus.reward.ts', bonus);
	await write('even.reward.ts', even);
	await write('sums.jsonl', sums());
	const client = new Client({ name: 'agent', version: '1' });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [builtProgram('dist/cli.js'), 'mcp', '--folder', work, '--allow-actions'],
			env: mcpEnvironment(folder),
		}),
	);
	context.after(() => client.close());
	const agent = new ScriptedAgent(client);

	/** Starts a run and waits for it to end. */
	const train = async (name: string, recipe: object): Promise<string> => {
		await write(`${name}.recipe.json`, { name, ...common, ...recipe });
		const { run } = await agent.call('start_run', { recipe: `${name}.recipe.json` });
		for (;;) {
			const { status, error } = await agent.call('describe_run', { run });
			assert.ok(['starting', 'running', 'finished'].includes(status as string), `${status} ${JSON.stringify(error)}`);
			if (status === 'finished') return run as string;
			await new Promise((resolve) => setTimeout(resolve, 1000));
		}
	};

	const sft = { type: 'sft', steps: 240, learning_rate: 2e-3, batch_size: 32 };
	const cold = await train('cold', {
		...{ model: { layers: 2, width: 48, heads: 2, context: 64 }, stages: [sft] },
		checkpoint: { every: 80, keep: 10 },
	});
	for (const checkpoint of ['80', '240']) {
		const { job } = await agent.call('start_evaluation', { run: cold, checkpoint, dataset: 'sums.jsonl', samples: 4 });
		for (;;) {
			const { state, error } = await agent.call('read_job', { job, wait_seconds: 60 });
			if (state === 'finished') break;
			assert.equal(state, 'running', JSON.stringify(error));
		}
	}
	const better = await agent.pickCheckpoint(cold);
	assert.equal(better.step, 240);

	const { folder: coldFolder } = await agent.call('describe_run', { run: cold });
	// A policy that still makes mistakes, so that there is something to hack.
	const model = { path: join(coldFolder as string, 'checkpoints/step_000080') };
	const hacked = await train('hacked', {
		...{ model, stages: [grpo] },
		rewards: [{ use: 'accuracy' }, { file: 'bonus.reward.ts' }],
	});
	const hack = await agent.findHack(hacked);
	const { folder: hackedFolder } = await agent.call('describe_run', { run: hacked });
	const paid = (await rollouts(hackedFolder as string, steps)).find(({ rewards }) => (rewards.bonus ?? 0) > 0);
	assert.equal(paid?.step, hackStep);
	assert.equal(hack.step, hackStep);

	const exploded = await train('exploded', { model, stages: [{ ...grpo, learning_rate: 3e-2 }] });
	const cause = await agent.findKlCause(exploded);
	assert.equal(cause.key, 'stages.0.learning_rate');
	const { folder: explodedFolder } = await agent.call('describe_run', { run: exploded });
	const recipe = await readFile(join(explodedFolder as string, 'recipe.json'), 'utf8');
	assert.match(recipe.split('\n')[cause.line - 1] ?? '', /"learning_rate": 0\.03/);

	const judged = await train('judged', {
		...{ model, stages: [{ ...grpo, steps: 4 }] },
		rewards: [{ use: 'accuracy' }, { file: 'even.reward.ts', weight: 0.1 }],
	});
	const disagreement = await agent.findDisagreements(judged);
	const { folder: judgedFolder } = await agent.call('describe_run', { run: judged });
	const expected = (await rollouts(judgedFolder as string, 4))
		.filter(({ rewards }) => rewards.accuracy !== rewards.even)
		.map(({ step, group, index }) => `rl://${judged}/step/${step}/group/${group}/completion/${index}`);
	assert.ok(expected.length > 0);
	assert.deepEqual(disagreement.addresses.toSorted(), expected.toSorted());

	const conclusions: Conclusion[] = [better, hack, cause, disagreement];
	const report = await agent.writeReport(hacked, 'findings', conclusions);
	console.log(report);
	assert.ok(findCitations(report).length >= 6);
	const checked = await agent.call('check_citations', { text: report });
	assert.equal(checked.sound, true);
	console.log(`${agent.calls.length} calls of ${new Set(agent.calls).size} tools`);
});

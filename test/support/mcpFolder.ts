import { cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/paths.ts';
import { runRecord, writeRun } from '../unit/webview/rollouts/rolloutsFixture.ts';
import { writeEvaluations } from './agent/agentRuns.ts';
import { mctsEvents } from './treeEvents.ts';

/** Number of rows in `work/train.jsonl` that can be read; one more line is broken. */
export const mcpRows = 25;

/** Name of a search in the run `sums`, and its events. */
export const mcpSearch = '2026-03-04-101500-mcts-3f9a.jsonl';
export const mcpTree = mctsEvents({ nodes: 24 });

/** Text of `work/small.recipe.json`. */
export const mcpRecipe = '{\n\t"name": "small",\n\t"stages": [{ "type": "grpo", "learning_rate": 0.001 }]\n}\n';

/** Evaluation `heldout` of the run `sums` at step 2. */
export const mcpEvaluation = {
	...{ name: 'heldout', step: 2, problems: 2, samples: 2, temperature: 1 },
	...{ accuracy: 0.75, low: 0.3812, high: 1 },
};
const samples = [0, 1, 2, 3].map((i) => ({
	...{ problem: i >> 1, sample: i & 1, prompt: `${i >> 1}+2=`, completion: `<answer>${i}</answer>` },
	...{ answer: `${(i >> 1) + 2}`, correct: i !== 1, truncated: false },
}));

const lines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Writes a file in a run or project, and its folders. */
async function write(text: string, ...path: string[]): Promise<void> {
	await mkdir(join(...path, '..'), { recursive: true });
	await writeFile(join(...path), text);
}

/** Writes the record of a stopped pipeline with a stage that has finished and one that has not started. */
async function writePipelineRecord(folder: string): Promise<void> {
	const stages = [
		{ name: 'cold', status: 'finished', after: [] },
		{ name: 'rl', status: 'waiting', after: ['cold'] },
	].map((stage) => ({
		...{ type: 'sft', inputHash: null, outputs: [], started: null, ended: null, attempt: null, accuracy: null },
		...stage,
	}));
	const { id, name, created, updated, heartbeat, host, boot, pid, processStart } = runRecord({ name: 'nightly' });
	const recipe = '0'.repeat(64);
	const record = {
		...{
			format: 1,
			id,
			name,
			status: 'stopped',
			attempt: 1,
			created,
			updated,
			heartbeat,
			host,
			boot,
			pid,
			processStart,
		},
		...{ recipeFolder: folder, hashes: { recipe }, stages },
	};
	await write(JSON.stringify(record), folder, 'pipeline.json');
}

/**
 * Creates a folder for an MCP server: `work` with runs of two trainers and a dataset, and next to it a file that the
 * server must not read.
 */
export async function makeMcpFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'mcp-'));
	await mkdir(join(folder, 'work/runs'), { recursive: true });
	await writeRun(join(folder, 'work/runs/sums'), [1, 2, 3, 4], { groups: 3, size: 4 });
	await writeRun(join(folder, 'work/runs/other'), [1, 2], { groups: 2, size: 2, seed: 9 });
	await cp(join(root, 'test/fixtures/trl-run'), join(folder, 'work/trl'), { recursive: true });
	const rows = Array.from({ length: mcpRows }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: `${i + 1}` }));
	await writeFile(join(folder, 'work/train.jsonl'), `${rows.join('\n')}\n{"broken\n`);
	const sums = join(folder, 'work/runs/sums');
	await write(lines(mcpTree), sums, 'searches', mcpSearch);
	await write(lines(mcpTree), folder, 'work/searches', mcpSearch);
	await write(JSON.stringify(mcpEvaluation), sums, 'evaluations/step_000002/heldout.json');
	await write(lines(samples), sums, 'evaluations/step_000002/heldout.jsonl');
	const row = '{"prompt": "What is one and two?", "answer": "3"}\n';
	await writeFile(join(folder, 'work/profiled.jsonl'), `${row}${row}${row.replace('one', 'seven')}`);
	await writeFile(join(folder, 'work/small.recipe.json'), mcpRecipe);
	await writeEvaluations(sums, [2, 4], { onlyFirst: 1, onlySecond: 2, both: 3, neither: 4 });
	for (const name of ['nightly-1', 'nightly-2']) await writePipelineRecord(join(folder, 'work/runs', name));
	await writeFile(join(folder, 'work/idle.env.ts'), 'export class Idle {}\n');
	await write('name: remote\n', folder, 'work/remote/openenv.yaml');
	await writeFile(join(folder, 'secret.jsonl'), '{"secret":1}\n');
	await symlink(join(folder, 'secret.jsonl'), join(folder, 'work/link.jsonl'));
	await mkdir(join(folder, 'x'), { mode: 0o700 });
	return folder;
}

/** Environment for a server that sees no runs or engines from elsewhere. */
export const mcpEnvironment = (folder: string) =>
	({ ...process.env, REASONING_LAB_HOME: join(folder, 'home'), XDG_RUNTIME_DIR: join(folder, 'x') }) as Record<
		string,
		string
	>;

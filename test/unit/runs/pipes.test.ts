import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ResolvedRecipe } from '../../../src/core/recipe/resolvedRecipe.ts';
import { readCheckpoint } from '../../../src/engines/embedded/run/checkpointFolder.ts';
import { openLabelFiles } from '../../../src/engines/embedded/run/heads/labelFile.ts';
import { openImitationFiles } from '../../../src/engines/embedded/run/imitation/imitationFiles.ts';
import { openScriptedPolicy } from '../../../src/policies/scripted/openScriptedPolicy.ts';
import { readCases } from '../../../src/rewards/casesFile.ts';
import { checkOnnxFile } from '../../../src/rewards/onnxFile.ts';
import { readTokenizer } from '../../../src/rewards/tokenizerFile.ts';
import { openTable } from '../../../src/runs/dataset/openTable.ts';
import { readDataFile } from '../../../src/runs/openDataset.ts';
import { readPipeline, readPipelineRecipe } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { readRecipeFile } from '../../../src/runs/recipeFile.ts';
import { readRewardSources } from '../../../src/runs/rewardSources.ts';
import { readEvents, readMetrics, readRecord, readResolvedRecipe, readRollouts } from '../../../src/runs/runReader.ts';
import { readSearchSummary } from '../../../src/runs/searchLog.ts';
import { readTreeFile } from '../../../src/search/formats/readTreeFile.ts';
import { continueSearch } from '../../../src/search/searchSession.ts';
import { readTreeLog } from '../../../src/search/treeLogFile.ts';
import { temporaryFolder } from './runFixtures.ts';

const stages = (stage: object) => ({ stages: [stage], template: {} }) as unknown as ResolvedRecipe;

/** Readers by the file that is a pipe; each gets a separate folder. */
const readers: [file: string, what: string, read: (path: string, folder: string) => Promise<unknown>][] = [
	['a.recipe.json', 'a recipe', (path) => readRecipeFile(path)],
	['a.jsonl', 'a dataset', (path) => readDataFile(path)],
	...['a.jsonl', 'a.json', 'a.csv', 'a.tsv', 'a.parquet'].map((name): (typeof readers)[number] => [
		name,
		'a table',
		(path) => openTable(path),
	]),
	['a.jsonl', 'completions', (path) => openImitationFiles(stages({ type: 'sft', data: { path } }))],
	['a.jsonl', 'labels', (path) => openLabelFiles(stages({ type: 'value-model', labels: { path } }))],
	['a.reward.ts', 'a reward', (path) => readRewardSources([path])],
	['a.cases.jsonl', 'labeled cases', (path) => readCases(path)],
	['model.onnx', 'a model', (path) => checkOnnxFile(path)],
	['tokenizer.json', 'a tokenizer', (path) => readTokenizer(path, Object)],
	['state.json', 'a checkpoint', (_, folder) => readCheckpoint(folder)],
	['a.json', 'a script', (path) => openScriptedPolicy(path)],
	['a.jsonl', 'a search log', (path) => readTreeLog(path)],
	['a.jsonl', 'a search log to continue', (path) => continueSearch({ log: path } as never)],
	['a.jsonl', 'the summary of a search log', (path) => readSearchSummary(path)],
	['a.jsonl', 'a tree from another program', (path) => readTreeFile(path)],
	['run.json', 'a record', (_, folder) => readRecord(folder)],
	['recipe.json', 'a resolved recipe', (_, folder) => readResolvedRecipe(folder)],
	['metrics.jsonl', 'metrics', (_, folder) => readMetrics(folder)],
	['events.jsonl', 'events', (_, folder) => readEvents(folder)],
	['rollouts/step_000001.jsonl', 'rollouts', (_, folder) => readRollouts(folder, 1)],
	['pipeline.json', 'a pipeline', (_, folder) => readPipeline(folder)],
	['pipeline.recipe.json', 'the recipe of a pipeline', (_, folder) => readPipelineRecipe(folder)],
];

for (const [file, what, read] of readers) {
	test(`${what} (${file}) is rejected without blocking if it is a pipe`, {
		skip: process.platform === 'win32',
	}, async (context) => {
		const folder = await temporaryFolder(context);
		await mkdir(join(folder, 'rollouts'));
		const path = join(folder, file);
		execFileSync('mkfifo', [path]);
		let waited = false;
		// Open the pipe for writing so that a blocked reader cannot keep the process alive.
		const timer = setTimeout(async () => {
			waited = true;
			await (await open(path, constants.O_RDWR)).close();
		}, 20_000);
		await assert.rejects(read(path, folder), (error: Error) => {
			assert.match(error.message, /not a (regular )?file|is not a file/, error.stack);
			return true;
		});
		clearTimeout(timer);
		assert.equal(waited, false);
	});
}

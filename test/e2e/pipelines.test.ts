// @reaches pipeline pipelineGraph
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { parse } from 'jsonc-parser';
import type { PipelineRecord } from '../../src/protocol/pipeline.ts';
import { connectRun } from '../../src/runs/runControl.ts';
import { readRecord } from '../../src/runs/runReader.ts';
import { skip } from '../support/chromium.ts';
import { violations } from './accessibility.ts';
import { inOrder, Laboratory, readLines, recordOf, stepsOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { PlainPage } from './pages/plainPage.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';

const read = (folder: string): PipelineRecord => recordOf(folder, 'pipeline.json');

/** Steps in the first stage. The test pauses it to inspect it, because a workbench can be slower than training. */
const steps = 400;

/** Pauses a stage after its first steps. Engines that the workbench started have its runtime folder. */
async function pauseStage(run: string, runtime: string | undefined): Promise<void> {
	process.env.XDG_RUNTIME_DIR = runtime;
	await waitUntil(() => stepsOf(run).length >= 2, 'the stage makes steps');
	const client = await connectRun(run, await readRecord(run), 'test');
	await client.request('run/pause', {}).finally(() => client.dispose());
}

/** Template stages that the test runs, with the settings that make each as small as possible. */
const kept: Readonly<Record<string, object>> = {
	base: { steps, batch_size: 16 },
	zero: { steps: 2, prompts_per_step: 4 },
	reasoning: { steps: 2, prompts_per_step: 4, from: 'base' },
	'of-zero': { problems: 12 },
	'of-reasoning': { problems: 12 },
};

/** Returns the template's recipe with these stages and the comparisons between them. */
function smaller(text: string): object {
	const recipe = parse(text) as {
		readonly stages: readonly { readonly name: string }[];
		readonly compare: readonly { readonly stage: string; readonly against: string }[];
	};
	const stages = recipe.stages.filter(({ name }) => name in kept).map((stage) => ({ ...stage, ...kept[stage.name] }));
	assert.deepEqual(
		stages.map(({ name }) => name),
		Object.keys(kept),
	);
	const compare = recipe.compare.filter(({ stage, against }) => stage in kept && against in kept);
	assert.ok(compare.length > 0);
	return { ...recipe, stages, compare, evaluate: { every: 100, problems: 16 } };
}

test('creates an R1 project, runs its pipeline, then measures, rates and reports', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'pipelines');
	const step = inOrder(t);
	const workbench = await lab.workbench();
	const row = (name: string, words: string | RegExp = '') =>
		workbench.run(new RegExp(`^stage ${name}, ${words instanceof RegExp ? words.source : words}`));
	const pipelineRow = (words: string) => workbench.run(new RegExp(`^pipeline r1-quick, ${words}`));
	const stateOf = (name: string) => read(pipeline).stages.find((one) => one.name === name);
	let pipeline = '';

	await step('the project is created, and its recipe is open', async () => {
		await workbench.command('Reasoning Lab: New Project');
		await workbench.asked('New project');
		await workbench.pick('DeepSeek-R1 in minutes');
		await workbench.editorTab('r1.recipe.json').waitFor();
		assert.ok(existsSync(join(lab.workspace, 'data/general.jsonl')));
		const quick = join(lab.workspace, 'r1-quick.recipe.json');
		writeFileSync(quick, JSON.stringify(smaller(readFileSync(quick, 'utf8')), undefined, '\t'));
	});

	await step('the quick recipe is started from the editor, and its stages are rows', async () => {
		await workbench.openFile('r1-quick.recipe.json');
		await workbench.openSideBar();
		await workbench.page.locator('.editor-actions').getByRole('button', { name: 'Start Run' }).click();
		await pipelineRow('running').waitFor();
		[pipeline = ''] = lab.runs();
		assert.ok(existsSync(join(pipeline, 'pipeline.json')));
		await pauseStage(join(pipeline, 'base'), lab.server.environment.XDG_RUNTIME_DIR);
		await row('base', new RegExp(`paused, pretrain, \\d+ of ${steps}`)).waitFor();
		await row('zero', 'waiting for base').waitFor();
		const graph = await workbench.app('pipelineGraph');
		for (const name of Object.keys(kept)) await graph.locator('.stage', { hasText: name }).first().waitFor();
		await workbench.screenshot('pipeline-running');
	});

	await step('an unfinished stage opens its dashboard', async () => {
		const page = new DashboardPage(await workbench.appOfRow(row('base'), 'dashboard'));
		await page.status(/paused/);
		await page.legend('Loss').filter({ hasText: /\d/ }).waitFor();
		await workbench.screenshot('pipeline-stage-dashboard');
	});

	await step('the pipeline is stopped with a checkpoint, and resumes where it left off', async () => {
		await workbench.runAction(/^pipeline r1-quick/, 'Stop Pipeline');
		await pipelineRow('stopped').waitFor();
		const name = 'base';
		assert.equal(stateOf(name)?.status, 'stopped');
		await row(name, 'stopped').waitFor();
		const { step: done, attempt, totalSteps } = recordOf(join(pipeline, name));
		assert.ok(done < (totalSteps ?? 0), `${done} steps`);
		await workbench.screenshot('pipeline-stopped');
		await workbench.runAction(/^pipeline r1-quick/, 'Resume Pipeline');
		await pipelineRow('running').waitFor();
		await waitUntil(() => recordOf(join(pipeline, name)).step > done, 'the stage continues');
		assert.equal(recordOf(join(pipeline, name)).attempt, attempt + 1);
	});

	await step('the stages finish one after the other, each with its held-out accuracy', async () => {
		await row('base', new RegExp(`finished, pretrain, ${steps} of ${steps}, accuracy [\\d.]+%`)).waitFor({
			timeout: 240_000,
		});
		await workbench.screenshot('pipeline-half');
		await waitUntil(() => read(pipeline).status !== 'running', 'the pipeline ends', 300);
		assert.deepEqual(
			read(pipeline).stages.filter(({ status }) => status !== 'finished'),
			[],
		);
		await pipelineRow('finished').waitFor();
		await row('zero', /finished, grpo, 2 of 2, accuracy/).waitFor();
	});

	await step('a checkpoint of a stage is evaluated, and the evaluation is a row below it', async () => {
		await workbench.runMenu(row('zero'), 'Evaluate Checkpoint...');
		await workbench.asked(/^Evaluate a checkpoint of/);
		await workbench.pick(/^Step 2/);
		await workbench.asked('Evaluate on');
		await workbench.pick("The run's held-out problems");
		await workbench.asked('Sampling');
		await workbench.pick('Eight samples');
		await workbench.editorTab(/Evaluations of r1-quick-zero/).waitFor({ timeout: 120_000 });
		const folder = join(pipeline, 'zero/annotations/evaluations');
		assert.equal(readdirSync(folder).length, 1);
		await row('zero').locator('.monaco-tl-twistie').click();
		await workbench.run(/^evaluation on .*, pass@1 [\d.]+% \([\d.]+ to [\d.]+\), 8 samples/).click();
		await (await workbench.preview('held-out-run-step_000002')).waitFor();
		await workbench.screenshot('pipeline-evaluated');
	});

	await step('the evaluation stages are compared with each other', async () => {
		await row('of-reasoning', /finished, evaluate, 12 of 12, pass@1/).click();
		await (await workbench.preview('of-reasoning')).waitFor();
		const pairs = await workbench.preview('All');
		await pairs.waitFor({ state: 'attached' });
		await workbench.screenshot('pipeline-evaluations');
	});

	await step('completions are rated with the keyboard, and the ratings are saved next to the run', async () => {
		await workbench.runMenu(row('reasoning'), 'Open Rollouts');
		const rollouts = new RolloutsPage(await workbench.app('rollouts'));
		await rollouts.cards().nth(1).waitFor();
		// Click next to the card's buttons.
		await rollouts.cards().first().getByText('#0', { exact: true }).click();
		const { keyboard } = workbench.page;
		const file = join(pipeline, 'reasoning/annotations/feedback.jsonl');
		const given = (index: number) => rollouts.cards().nth(index).locator('.rating.given');
		// The first key press starts from the middle of the scale.
		await keyboard.press('+');
		await given(0)
			.filter({ hasText: /^[345]$/ })
			.waitFor();
		await keyboard.press('+');
		await waitUntil(() => readLines(file).length === 2, 'both ratings are saved');
		const [first, second] = readLines<{ rating: number }>(file).map(({ rating }) => rating);
		assert.equal(second, (first ?? 0) + 1);
		await given(0)
			.filter({ hasText: String(second) })
			.waitFor();
		await workbench.screenshot('pipeline-rated');
	});

	await step('the pipeline report opens in a plain browser and runs no scripts', async () => {
		const out = join(lab.workspace, 'r1-report.html');
		await workbench.runMenu(pipelineRow('finished'), 'Export Report...');
		await workbench.fileDialog(out, /^runs/, /^(OK|Save)$/);
		await waitUntil(() => existsSync(out), 'the report is written');
		const page = await PlainPage.open(lab.browser, pathToFileURL(out).href);
		t.after(() => page.close());
		await page.heading(1, 'r1-quick').waitFor();
		for (const { name } of stagesThatTrain(read(pipeline))) await page.heading(2, name).waitFor();
		await page.page.getByRole('table', { name: /^Stages in order/ }).waitFor();
		await page.page.getByRole('table', { name: /^Comparisons by question/ }).waitFor();
		await page.page
			.getByRole('table', { name: /^pass@1 with 95% intervals/ })
			.first()
			.waitFor();
		assert.ok((await page.page.getByRole('img').count()) > 3, 'the report contains curves');
		assert.deepEqual(page.requests, [pathToFileURL(out).href]);
		assert.equal(await page.runsScripts(), false);
		for (const scheme of ['dark', 'light'] as const) {
			await page.page.emulateMedia({ colorScheme: scheme });
			assert.deepEqual(await violations(page.page.mainFrame(), scheme === 'dark' ? 'all' : 'contrast'), [], scheme);
			await page.screenshot(`report-${scheme}`);
		}
		await page.page.setViewportSize({ width: 420, height: 900 });
		await page.screenshot('report-narrow');
		assert.ok((await page.overflow()) <= 0, 'nothing overflows horizontally');
	});

	assert.equal(stateOf('base')?.status, 'finished');
	assert.match(basename(pipeline), /^r1-quick-/);
});

const stagesThatTrain = ({ stages }: PipelineRecord) =>
	stages.filter(({ type }) => type !== 'evaluate' && type !== 'search');

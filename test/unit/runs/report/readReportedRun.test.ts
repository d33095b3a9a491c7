import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { runReport } from '../../../../src/core/report/composeReport.ts';
import { reportHtml } from '../../../../src/core/report/reportHtml.ts';
import { reportMarkdown } from '../../../../src/core/report/reportMarkdown.ts';
import { visibleText } from '../../../../src/core/report/visibleText.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { readReport, readSeveralReport } from '../../../../src/runs/report/readReport.ts';
import { readReportedRun } from '../../../../src/runs/report/readReportedRun.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';
import { madeRun } from '../../core/report/madeReport.ts';

const record = {
	...{ format: 1, id: 'made-20260304-101500-ab12', name: '<b>made</b>', engine: 'embedded', status: 'finished' },
	...{ attempt: 1, stage: null, step: 40, totalSteps: 40, created: 100, updated: 200, heartbeat: 200 },
	...{ host: 'h', boot: 'b', pid: 1, processStart: '1', device: 'cpu', seeds: { recipe: 3 }, versions: { node: '24' } },
	parent: { run: '/home/somebody/runs/cold-1', checkpoint: '/home/somebody/runs/cold-1/checkpoints/step_000180' },
	hashes: { recipe: 'aa', dataset: 'bb', rewards: 'cc' },
};
const recipe = {
	...{ format: 1, name: 'made', stages: [{ type: 'grpo', steps: 20, beta: 0.1 }] },
	template: { name: 'r1', prompt: '{prompt}', think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	rewards: [{ use: 'language-consistency', language: 'ru' }],
};

describe('reading a run for its report', () => {
	let folder = '';
	const write = async (name: string, value: unknown) => {
		const path = join(folder, name);
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
	};
	const lines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
	const summary = (step: number, accuracy: number) => ({
		...{ name: 'heldout', step, problems: 2, samples: 1, temperature: 1, accuracy, low: 0, high: 1 },
	});
	const question = (problem: number, right: boolean) => ({
		...{ problem, key: `q${problem}`, prompt: `${problem}?`, answer: '1', category: null },
		samples: [
			{ completion: '<think>x</think><answer>1</answer>', answer: '1', correct: right, tokens: 4, truncated: false },
		],
	});
	const evaluation = (step: number) => ({
		...{ format: 1, created: 1000 + step, problems: { name: 'q.jsonl', count: 8, hash: 'h' } },
		policy: { name: `made, step ${step}`, model: 'm' },
		spec: {
			name: `q-${step}`,
			policy: { kind: 'checkpoint', folder: `/elsewhere/step_${String(step).padStart(6, '0')}` },
			problems: { from: 'file', path: '/q.jsonl' },
		},
	});

	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'rl-report-'));
		await write('run.json', record);
		await write('recipe.json', recipe);
		const line = (step: number, stage: string, values: object) => ({ step, time: step, stage, ...values });
		await write(
			'metrics.jsonl',
			lines([
				...Array.from({ length: 20 }, (_, i) => line(i + 1, 'grpo', { reward: 0.1, hidden: 1 })),
				...Array.from({ length: 20 }, (_, i) =>
					line(i + 21, 'grpo', {
						reward: 0.9,
						'completions/mean_length': 30,
						'rewards/<i>a</i>/mean': 1,
						'rewards/b/mean': 0,
					}),
				),
			]),
		);
		await write(
			'events.jsonl',
			lines([
				{ time: 0, step: 0, type: 'stage', name: 'grpo', index: 0 },
				{ time: 20, step: 20, type: 'stage', name: 'grpo', index: 1 },
			]),
		);
		for (const [step, accuracy] of [
			[0, 0],
			[20, 0.5],
			[40, 1],
		] as const) {
			await write(`evaluations/step_${String(step).padStart(6, '0')}/heldout.json`, summary(step, accuracy));
		}
		await write(
			'evaluations/step_000040/heldout.jsonl',
			lines([
				{
					problem: 0,
					sample: 0,
					prompt: 'p',
					completion: '<think>слово</think><answer>1</answer>',
					correct: true,
					truncated: false,
				},
				{ problem: 1, sample: 0, prompt: 'p', completion: 'word', correct: false, truncated: true },
			]),
		);
		const rollout = (index: number, reward: number | null, completion: string) => ({
			...{
				step: 38,
				stage: 'grpo',
				group: 0,
				index,
				prompt: 'p',
				completion,
				answer: 7,
				rewards: { accuracy: reward },
				reward,
			},
			...{ advantage: 0, truncated: false, extra: { length: 9 } },
		});
		await write(
			'rollouts/step_000038.jsonl',
			lines([
				rollout(0, 0.2, 'no tags'),
				rollout(1, 1, '<think>a</think><answer>7</answer>'),
				rollout(2, null, 'none'),
				rollout(3, -1, '<think>never closed'),
			]),
		);
		await write('annotations/evaluations/b/evaluation.json', evaluation(40));
		await write(
			'annotations/evaluations/b/samples.jsonl',
			`${lines(Array.from({ length: 8 }, (_, i) => question(i, true)))}{"torn`,
		);
		await write('annotations/evaluations/a/evaluation.json', evaluation(20));
		await write(
			'annotations/evaluations/a/samples.jsonl',
			lines(Array.from({ length: 7 }, (_, i) => question(i, i > 4))),
		);
		await write('annotations/evaluations/none/evaluation.json', '{}');
		await symlink('/', join(folder, 'annotations/evaluations/link'));
		const start = {
			t: 'start',
			at: 0,
			format: 1,
			id: 's',
			strategy: 'beam',
			params: {},
			problem: { prompt: 'p' },
			policy: { name: 'made' },
			seed: 0,
		};
		await write(
			'searches/2026-03-04-101500-beam-ab12.jsonl',
			lines([
				start,
				{ t: 'node', at: 0, id: 0, parents: [], text: 'p', role: 'problem' },
				{ t: 'node', at: 1, id: 1, parents: [0], text: 'step', final: true, answer: '7' },
				{
					t: 'end',
					at: 2,
					best: [0, 1],
					answer: '7',
					value: 0.5,
					stop: 'complete',
					tokens: 12,
					seconds: 2,
					correct: true,
				},
			]),
		);
	});
	after(() => rm(folder, { recursive: true, force: true }));

	it('separates two stages of the same type, each with its own numbers', async () => {
		const run = await readReportedRun(await openRun(folder));
		assert.deepEqual(run.gaps, []);
		assert.deepEqual(run.parent, { run: 'cold-1', checkpoint: 'step_000180' });
		assert.deepEqual(
			run.stages.map(({ number, type, steps, before, after }) => [
				number,
				type,
				steps,
				before?.accuracy,
				after?.accuracy,
			]),
			[
				[1, 'grpo', [1, 20], 0, 0.5],
				[2, 'grpo', [21, 40], 0.5, 1],
			],
		);
		assert.deepEqual(
			run.stages.map(({ curves }) => curves.map(({ name, points }) => [name, points.length, points[0]?.y])),
			[
				[['reward', 20, 0.1]],
				[
					['reward', 20, 0.9],
					['rewards/<i>a</i>/mean', 20, 1],
					['rewards/b/mean', 20, 0],
					['completions/mean_length', 20, 30],
				],
			],
		);
		const completions = run.stages[1]?.completions;
		assert.equal(completions?.of, 'held-out samples at step 40 (tokens: from training completions)');
		// The second stage has no thinking, so it has no percentage of Russian.
		assert.deepEqual(
			[completions.completions, completions.format, completions.consistency, completions.tokens, completions.truncated],
			[2, 0.5, 0.5, 30, 0.5],
		);
	});

	it('selects rollouts by reward, and reads evaluations in step order and searches with their best path', async () => {
		const run = await readReportedRun(await openRun(folder));
		assert.deepEqual(
			run.rollouts.map(({ title, reward, think, answer, completion, gold }) => [
				title,
				reward,
				think,
				answer,
				completion.length,
				gold,
			]),
			[
				['Best', 1, 'a', '7', 34, '7'],
				['Median', 0.2, null, null, 7, '7'],
				['Worst', -1, 'never closed', null, 19, '7'],
			],
		);
		assert.deepEqual(
			run.evaluations.map(({ name, policy, done, total, report }) => [
				name,
				policy,
				done,
				total,
				report.accuracy.accuracy,
			]),
			[
				['a', 'made, step 20 (m)', 7, 8, 2 / 7],
				['b', 'made, step 40 (m)', 8, 8, 1],
			],
		);
		const [search] = run.searches;
		assert.deepEqual(
			[search?.strategy, search?.nodes, search?.answer, search?.correct, search?.best],
			['beam', 1, '7', true, { value: 0.5, texts: ['step'] }],
		);
	});

	it('reports what it cannot read, and continues with the rest', async () => {
		await write('recipe.json', 'invalid JSON');
		const run = await readReportedRun(await openRun(folder));
		assert.equal(run.recipe, undefined);
		assert.match(run.gaps.join('\n'), /The recipe: .*is not valid JSON/);
		assert.equal(run.stages.length, 2);
		await write('recipe.json', recipe);
	});

	it('reads a pipeline: its runs, evaluations and recipe', async (context) => {
		const pipeline = await mkdtemp(join(tmpdir(), 'rl-report-'));
		context.after(() => rm(pipeline, { recursive: true, force: true }));
		await cp(folder, join(pipeline, 'rl'), { recursive: true });
		await cp(join(folder, 'annotations/evaluations/b'), join(pipeline, 'test'), { recursive: true });
		await symlink('/', join(pipeline, 'link'));
		const state = (name: string, type: string, status = 'finished') => ({
			...{
				name,
				type,
				status,
				after: [],
				inputHash: null,
				outputs: [],
				started: 1,
				ended: 3,
				attempt: 1,
				accuracy: null,
			},
		});
		await writeFile(
			join(pipeline, 'pipeline.json'),
			JSON.stringify({
				...{ format: 1, id: 'p-1', name: 'p', status: 'failed', attempt: 1, created: 0, updated: 9, heartbeat: 9 },
				...{ host: 'h', boot: 'b', pid: 1, processStart: '1', recipeFolder: '/', hashes: { recipe: 'a'.repeat(64) } },
				stages: [
					state('rl', 'grpo'),
					state('test', 'evaluate'),
					state('link', 'evaluate'),
					{ ...state('later', 'sft', 'failed'), error: { reason: 'missing', message: 'No data.' } },
				],
			}),
		);
		await writeFile(join(pipeline, 'pipeline.recipe.json'), JSON.stringify({ name: 'p', stages: [] }));
		const { document, runs, gaps } = await readReport(pipeline, (named) => openRun(named), { now: 0 });
		assert.deepEqual(runs, [join(pipeline, 'rl')]);
		assert.deepEqual(gaps, []);
		assert.deepEqual(
			document.sections.map(({ title }) => title),
			['Overview', 'Gain by stage', 'Evaluations', 'rl', 'Pipeline recipe'],
		);
		const both = await readSeveralReport([pipeline, pipeline], openRun, { now: 0 });
		assert.deepEqual(both.gaps, []);
		assert.match(reportMarkdown(both.document), /\| test \| 1\.000 \(1\.000 to 1\.000\) \|/);
		await assert.rejects(readSeveralReport([pipeline, folder], openRun, { now: 0 }), /is a pipeline, .* is not/);
		const markdown = reportMarkdown(document);
		assert.match(markdown, /\| later \| sft \| failed: No data\. \|/);
		assert.match(markdown, /\| test vs. rl: a \| 7 \| \+0\.714 \(/);
	});

	it("reads another trainer's run", async () => {
		const run = await readReportedRun(await openRun(join(import.meta.dirname, '../../../fixtures/trl-run')));
		assert.equal(run.engine, 'TRL');
		assert.equal(run.rollouts.length, 3);
		assert.ok(run.stages[0]?.curves.some(({ name }) => name === 'reward'));
		assert.match(run.stages[0]?.completions?.of ?? '', /rollouts from step \d+/);
	});
});

describe('a report with hostile text in a browser', { skip }, () => {
	const texts = Object.entries(hostileTexts);
	const run = madeRun({
		title: Object.values(hostileTexts).join(' ').slice(0, 20_000),
		id: hostileTexts['broken attribute'] as string,
		note: hostileTexts['script ends a script'] as string,
		tags: texts.map(([, text]) => text.slice(0, 500)),
		environment: texts.map(([, text]) => [text.slice(0, 500), text.slice(0, 500)]),
		stages: texts.map(([, text], i) => ({
			...{
				number: i + 1,
				type: text.slice(0, 500),
				steps: null,
				heldOut: [],
				before: null,
				after: null,
				completions: null,
			},
			curves: [{ name: text.slice(0, 500), points: [{ x: 1, y: 2 }] }],
		})),
		rollouts: texts.map(([name, text]) => ({
			...{ title: name, step: 1, prompt: text, think: text, answer: text, completion: text, gold: text, reward: 1 },
			...{ rewards: [[text.slice(0, 500), 1]], truncated: false },
		})),
		recipe: Object.fromEntries(texts.map(([, text], i) => [text.slice(0, 500), { [`${i}`]: text.slice(0, 500) }])),
	});

	it('displays the text and does nothing else', async (context) => {
		const folder = await mkdtemp(join(tmpdir(), 'rl-report-'));
		context.after(() => rm(folder, { recursive: true, force: true }));
		const path = join(folder, 'report.html');
		await writeFile(path, reportHtml(runReport(run, 0)));
		const browser = await launchChromium();
		try {
			const page = await browser.newPage();
			const address = pathToFileURL(path).href;
			const happened: string[] = [];
			page.on('dialog', (dialog) => {
				happened.push(`dialog ${dialog.message()}`);
				void dialog.dismiss();
			});
			page.on('request', (request) => {
				if (request.url() !== address) happened.push(`request ${request.url()}`);
			});
			page.on('popup', () => happened.push('popup'));
			page.on('console', (message) => happened.push(`console ${message.text()}`));
			await page.goto(address);
			for (const summary of await page.locator('summary').all()) await summary.click();
			const seen = await page.evaluate(() => ({
				acted: 'hostile' in globalThis,
				elements: document.querySelectorAll('[data-hostile]').length,
				scripts: document.scripts.length,
				shown: [...document.querySelectorAll('section section')].map((section) => ({
					title: section.querySelector('h3')?.textContent ?? '',
					texts: [...section.querySelectorAll('pre')].map((pre) => pre.textContent),
				})),
				// No text leaves its section or covers another section's heading.
				wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
			}));
			assert.deepEqual(happened, []);
			assert.deepEqual([seen.acted, seen.elements, seen.scripts, seen.wide], [false, 0, 0, false]);
			for (const [name, text] of texts) {
				const section = seen.shown.find(({ title }) => title.startsWith(`${name}: reward`));
				// HTML drops the first line feed in a `pre`.
				const expected = visibleText(text.slice(0, 4000)).replace(/^\n/, '');
				assert.ok(section?.texts[0]?.startsWith(expected.slice(0, 3990)), name);
			}
		} finally {
			await browser.close();
		}
	});
});

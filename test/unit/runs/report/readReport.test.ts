import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { reportHtml } from '../../../../src/core/report/reportHtml.ts';
import { reportMarkdown } from '../../../../src/core/report/reportMarkdown.ts';
import { runsReport } from '../../../../src/core/report/runsReport.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { readSeveralReport } from '../../../../src/runs/report/readReport.ts';
import { root } from '../../../scripts/paths.ts';
import { madeRun } from '../../core/report/madeReport.ts';
import { fixtureFolder } from '../importers/foreignFixtures.ts';

describe('a report on several runs', () => {
	it('covers runs of any trainer: side by side, then individually', async () => {
		const folders = [join(root, 'test/fixtures/torch-run'), fixtureFolder('trl-run')];
		const { document, runs, gaps } = await readSeveralReport(folders, (path) => openRun(path), { now: 1_800_000_000 });
		assert.deepEqual(runs, folders);
		assert.ok(
			gaps.some((gap) => gap.startsWith('trl-run: ')),
			'gaps are reported with the name of their run',
		);
		assert.equal(document.title, 'torch stages and trl-run');
		assert.deepEqual(
			document.sections.map(({ title }) => title),
			['Side by side', 'torch stages', 'trl-run'],
		);
		const text = reportMarkdown(document);
		assert.match(text, /\| torch stages \| pytorch \| finished \|.*\| 18 \/ 18 \| 0\.000 \(/);
		assert.match(text, /\| trl-run \| TRL \| finished \|.*\| 30 \/ 30 \| – \|/);
		assert.match(text, /Runs without a recipe: trl-run\./);
		assert.match(text, /\| TRL \| finished \| – \| – \|/, 'the start time of a copied run is unknown');
		assert.match(reportHtml(document), /Results by stage/);
	});

	it('distinguishes runs with the same name, and lists differences between recipes', () => {
		const recipe = (rate: number) => ({ name: 'tiny', stages: [{ type: 'grpo', learning_rate: rate }] });
		const runs = [madeRun({ recipe: recipe(1e-5) }), madeRun({ recipe: recipe(1e-3), id: 'tiny-2' })];
		const document = runsReport(runs, 1_800_000_000);
		assert.deepEqual(
			document.sections.map(({ title }) => title),
			['Side by side', 'tiny, tiny-20260304-101500-ab12', 'tiny, tiny-2'],
		);
		const text = reportMarkdown(document);
		assert.match(text, /\| stages\\?\[0\\?\]\.learning\\?_rate \| 0\.00001 \| 0\.001 \|/);
		assert.match(text, /2 recipe keys are the same in all runs\./);
		const same = runsReport([madeRun(), madeRun()], 0).sections.map(({ title }) => title);
		assert.deepEqual(same.slice(1), ['tiny (1)', 'tiny (2)']);
	});

	it('rejects a run that is listed twice, with a message', async (context) => {
		const folder = await mkdtemp(join(tmpdir(), 'runs-report-'));
		context.after(() => rm(folder, { recursive: true, force: true }));
		await cp(fixtureFolder('verl'), folder, { recursive: true });
		await assert.rejects(readSeveralReport([folder, folder], openRun, { now: 0 }), /is listed twice/);
	});
});

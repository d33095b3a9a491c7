import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { pipelineReport, pipelinesReport, runReport } from '../../../../src/core/report/composeReport.ts';
import type { ReportDocument } from '../../../../src/core/report/reportDocument.ts';
import type { ReportedPipeline } from '../../../../src/core/report/reportedPipeline.ts';
import { reportHtml } from '../../../../src/core/report/reportHtml.ts';
import { reportMarkdown } from '../../../../src/core/report/reportMarkdown.ts';
import { hiddenCharacters } from '../../../../src/core/text/hiddenCharacters.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';
import { allHostileTexts, hostileValue } from '../../../support/hostileValue.ts';
import { madeEvaluation, madeRun } from './madeReport.ts';

/** Fields that determine how the rest is interpreted. */
const kept = ['kind', 'engine', 'level', 'rule', 'benchmark', 'test'];
const stage = { detail: 'why', after: ['before'], accuracy: 0.5, seconds: 65, outputs: ['completions'] };
const pipeline: ReportedPipeline = {
	...{
		title: 'story',
		id: 'story-1',
		status: 'failed',
		error: 'it broke',
		created: 100,
		updated: 200,
		gaps: ['a gap'],
	},
	recipe: { name: 'story', seed: 1, compare: [] },
	stages: [
		{ ...stage, name: 'cold', type: 'sft', status: 'finished', run: madeRun(), evaluation: null },
		...[1, 2].map((number) => ({
			...{ ...stage, name: `round-${number}`, type: 'evaluate', status: 'finished', run: null },
			...{ round: { of: 'measure', number }, evaluation: madeEvaluation('first', 3 * number) },
		})),
	],
};
const reports: [string, ReportDocument][] = [0, 23, 46, 69].flatMap((begin): [string, ReportDocument][] => [
	[`a run, from text ${begin}`, runReport(hostileValue(madeRun(), begin, kept), 0)],
	[`a pipeline, from text ${begin}`, pipelineReport(hostileValue(pipeline, begin, kept), 0)],
	[
		`two pipelines, from text ${begin}`,
		pipelinesReport([hostileValue(pipeline, begin, kept), hostileValue(pipeline, begin + 9, kept)], 0),
	],
]);

describe('reports with hostile text in every field', () => {
	it('contain no hidden characters and only their own markup, in Markdown', () => {
		for (const [name, report] of reports) {
			const markdown = reportMarkdown(report);
			assert.deepEqual(hiddenCharacters(markdown).slice(0, 3), [], name);
			const fences = markdown.match(/^`{3,}(text)?$/gm) ?? [];
			assert.equal(fences.length % 2, 0, `${name}: fences`);
			const bare = markdown
				.replace(/^(`{3,})text\n[\s\S]*?\n\1$/gm, '')
				.replace(/\\[!-/:-@[-`{-~]|&(?:#\d+|amp|lt|gt);/g, '');
			assert.doesNotMatch(bare, /[<>`[\]$!]|:\/\//, name);
		}
	});
});

describe('reports with hostile text in every field, in a browser', { skip }, () => {
	let browser: Browser;
	let page: Page;
	let folder = '';
	const happened: string[] = [];
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'rl-report-'));
		browser = await launchChromium();
		page = await browser.newPage();
		page.on('dialog', (dialog) => {
			happened.push(`dialog ${dialog.message()}`);
			void dialog.dismiss();
		});
		page.on('popup', () => happened.push('popup'));
		// Requests blocked by the policy are visible to the browser's tools as failures.
		page.on('requestfinished', (request) => {
			if (!request.url().startsWith('file:')) happened.push(`request ${request.url()}`);
		});
		page.on('requestfailed', (request) => {
			const why = request.failure()?.errorText ?? '';
			if (why !== 'csp' && why !== 'origin') happened.push(`request ${request.url()} ${why}`);
		});
	});
	after(async () => {
		await browser.close();
		await rm(folder, { recursive: true, force: true });
	});
	const show = async (report: ReportDocument) => {
		happened.length = 0;
		const path = join(folder, 'report.html');
		await writeFile(path, reportHtml(report));
		await page.goto(pathToFileURL(path).href);
	};

	it('display the text and have no other effect', async () => {
		const said = (message: { text(): string }) => happened.push(`console ${message.text()}`);
		page.on('console', said);
		for (const [name, report] of reports) {
			await show(report);
			const seen = await page.evaluate(() => ({
				acted: 'hostile' in globalThis || 'polluted' in Object.prototype,
				elements: document.querySelectorAll(
					'[data-hostile], script, iframe, img, object, embed, base, form, a:not([href^="#"]), [onclick], [onerror]',
				).length,
				text: document.documentElement.textContent ?? '',
				wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
			}));
			assert.deepEqual(happened, [], name);
			assert.deepEqual([seen.acted, seen.elements, seen.wide], [false, 0, false], name);
			assert.deepEqual(hiddenCharacters(seen.text).slice(0, 3), [], name);
		}
		page.off('console', said);
	});

	it('prevent running and loading anything even if a text becomes markup', async () => {
		await show((reports[0] as [string, ReportDocument])[1]);
		// The policy does not prevent navigating away from the page.
		const texts = Object.entries(hostileTexts).flatMap(([name, text]) => (name === 'meta refresh' ? [] : [text]));
		await page.evaluate(
			(all) => {
				for (const text of all) {
					const place = document.createElement('div');
					document.body.append(place);
					place.innerHTML = text;
				}
			},
			texts.filter((text) => text.length < 5000),
		);
		await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
		assert.ok((await page.locator('[data-hostile]').count()) > 20);
		assert.equal(await page.evaluate(() => 'hostile' in globalThis), false);
		assert.deepEqual(happened, []);
		assert.ok(allHostileTexts.length > texts.length);
	});
});

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../../src/core/recipe/resolve.ts';
import { boxesText } from '../../../../webview/rollouts/pictureView.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { pictureName, pngOf } from '../../../support/pictures.ts';
import { runRecord, writeRecord, writeRollouts } from './rolloutsFixture.ts';
import { openRollouts } from './rolloutsHarness.ts';

const root = await mkdtemp(join(tmpdir(), 'rollouts-pictures-'));
after(() => rm(root, { recursive: true, force: true }));

const markup = '<img src=x onerror=alert(1)>';

async function writeRun(): Promise<string> {
	const run = join(root, 'run');
	await writeRecord(run, runRecord({ engine: 'pytorch', rewards: [{ name: 'iou', weight: 1 }] }));
	const recipe = parseRecipe(
		JSON.stringify({
			name: 'boxes',
			engine: 'pytorch',
			dataset: { path: 'boxes.jsonl', image: 'picture' },
			model: { path: 'vision' },
			template: { prompt: '{prompt}', chat: true, think: null, answer: ['<answer>', '</answer>'] },
			rewards: [{ use: 'iou', column: 'boxes' }],
			stages: [{ type: 'grpo', steps: 1, learning_rate: 1e-5 }],
		}),
	);
	assert.ok(recipe.ok, JSON.stringify(recipe));
	const resolved = resolveRecipe(recipe.recipe, { cores: 2, resolvePath: (path: string) => `/data/${path}` });
	await writeFile(join(run, 'recipe.json'), JSON.stringify(resolved));
	const content = pngOf(40, 20);
	const picture = { file: pictureName(content), width: 400, height: 200 };
	await mkdir(join(run, 'pictures'));
	await writeFile(join(run, 'pictures', picture.file), content);
	const answer = JSON.stringify([
		{ bbox_2d: [100, 50, 200, 100], label: markup },
		{ bbox_2d: [300, 150, 900, 900], label: 'dog' },
	]);
	const line = (group: number, extra: object) => ({
		...{ step: 1, stage: 'grpo', group, index: 0, prompt: [{ role: 'user', content: 'Where?' }] },
		completion: [{ role: 'assistant', content: `<answer>${answer}</answer>` }],
		...{ answer: null, row: { boxes: [[100, 50, 200, 100]], picture: 'a.png' }, rewards: { iou: 0.5 }, reward: 0.5 },
		...{ advantage: 0, truncated: false, extra },
	});
	await writeRollouts(run, 1, [
		line(0, { picture }),
		line(1, { picture: { ...picture, file: `${'0'.repeat(64)}.png` } }),
	]);
	return run;
}

test('a card shows the picture in its prompt with clipped boxes, and their labels as text', { skip }, async (t) => {
	const browser = await launchChromium();
	const view = await openRollouts(browser, await writeRun());
	t.after(async () => {
		await view.close();
		await browser.close();
	});
	const { page } = view;
	await page.waitForSelector('.picture img');
	const shown = await page.evaluate(async () => {
		const image = document.querySelector('.picture img') as HTMLImageElement;
		await image.decode();
		const stage = (document.querySelector('.picture-stage') as HTMLElement).getBoundingClientRect();
		return {
			size: [image.naturalWidth, image.naturalHeight],
			protocol: new URL(image.src).protocol,
			images: document.querySelectorAll('.picture *:not(figcaption)').length,
			caption: document.querySelector('.picture figcaption')?.textContent,
			boxes: [...document.querySelectorAll<HTMLElement>('.picture-box')].map((box) => {
				const { left, top, right, bottom } = box.getBoundingClientRect();
				const place = [left - stage.left, top - stage.top, right - stage.left, bottom - stage.top];
				return [box.className, box.title, ...place.map((value, i) => value / (i % 2 ? stage.height : stage.width))];
			}),
		};
	});
	assert.deepEqual([shown.size, shown.protocol], [[40, 20], 'blob:']);
	// The stage, the image and three boxes: no label became an element.
	assert.equal(shown.images, 5);
	assert.equal(shown.caption, '1 expected, 1 matched (mean IoU 1), 1 not matched');
	const near = (box: (string | number)[] | undefined, ...expected: number[]) => {
		for (const [i, value] of expected.entries()) {
			assert.ok(Math.abs((box?.[i + 2] as number) - value) < 0.01, JSON.stringify(box));
		}
	};
	near(shown.boxes[0], 0.25, 0.25, 0.5, 0.5);
	near(shown.boxes[1], 0.25, 0.25, 0.5, 0.5);
	near(shown.boxes[2], 0.75, 0.75, 1, 1);
	assert.match(String(shown.boxes[1]?.[1]), /^Matched, .*onerror=alert\(1\)>, IoU 1$/);
	await page.keyboard.press('j');
	await page.waitForFunction(() =>
		document.querySelector('.picture [role=alert]')?.textContent?.includes('Cannot read'),
	);
	assert.deepEqual([view.errors, view.faults], [[], []]);
});

test('the caption counts boxes', () => {
	assert.equal(boxesText([]), '');
	const box = { left: 0, top: 0, width: 1, height: 1, label: null, confidence: null, iou: null };
	assert.equal(boxesText([{ ...box, kind: 'unmatched' }]), '1 not matched');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundInput } from '../../e2e/pages/boundedInput.ts';
import { launchChromium, skip } from '../../support/chromium.ts';

test('a key that a page does not acknowledge does not block a test', { skip }, async (t) => {
	const browser = await launchChromium();
	t.after(() => browser.close());
	const page = await (await browser.newContext()).newPage();
	boundInput(page, 200);
	await page.evaluate(() => {
		setTimeout(() => {
			for (const end = Date.now() + 60_000; Date.now() < end; );
		});
	});
	let answered = false;
	// The page answers after a minute, when this test is already over.
	void page
		.evaluate(() => 1)
		.then(
			() => {
				answered = true;
			},
			() => undefined,
		);
	await page.keyboard.press('Enter');
	await page.mouse.move(0, 0);
	assert.ok(!answered);
});

test('key and mouse events arrive as they do without a limit, and errors are passed on', { skip }, async (t) => {
	const browser = await launchChromium();
	t.after(() => browser.close());
	const page = await (await browser.newContext()).newPage();
	boundInput(page);
	await page.setContent('<input autofocus><button onclick="this.textContent = `pressed`">button</button>');
	await page.locator('input').focus();
	await page.keyboard.type('abc');
	await page.keyboard.press('Backspace');
	assert.equal(await page.locator('input').inputValue(), 'ab');
	const box = await page.locator('button').boundingBox();
	assert.ok(box !== null);
	await page.mouse.click(box.x + 5, box.y + 5);
	assert.equal(await page.locator('button').textContent(), 'pressed');
	await assert.rejects(page.keyboard.press('NoSuchKey'), /Unknown key/);
});

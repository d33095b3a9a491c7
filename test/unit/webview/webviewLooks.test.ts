/** Tests the appearance checks: a page with a problem in only one theme or at only one width must fail. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchChromium, skip } from '../../support/chromium.ts';
import { type ThemeName, themes } from './vscodeThemes.ts';
import { looksRight, looksRightNow } from './webviewLooks.ts';
import { openWebview, type Webview } from './webviewPage.ts';

let browser: Browser;
before(async () => {
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

async function open(t: TestContext): Promise<Webview> {
	const view = await openWebview(browser, { app: 'comparison', width: 900, onMessage() {} });
	t.after(() => view.close());
	await view.page.evaluate(() => {
		const text = document.createElement('p');
		text.id = 'planted';
		text.textContent = 'A line of text with ';
		const link = document.createElement('a');
		link.href = '#here';
		link.textContent = 'a link';
		text.append(link);
		const heading = document.createElement('h1');
		heading.textContent = 'A heading';
		document.querySelector('main')?.replaceChildren(heading, text);
	});
	await style(view, '#planted a { color: inherit; }');
	return view;
}

/** Adds CSS through the debugger, which bypasses the page's content security policy. */
const style = (view: Webview, css: string) =>
	view.page.evaluate((text) => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(text);
		document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
	}, css);

test('an unmodified page passes', { skip }, async (t) => {
	const view = await open(t);
	await looksRight(view, 'as it is', [340]);
});

for (const theme of Object.keys(themes) as ThemeName[]) {
	test(`text that is unreadable only in ${theme} fails`, { skip }, async (t) => {
		const view = await open(t);
		const { kind, variables } = themes[theme];
		// If two themes of the same type share a background, either may be reported.
		const background = variables['editor-background'];
		assert.ok(background);
		await style(
			view,
			`body.${kind} #planted { color: color-mix(in srgb, ${background} 85%, gray); background: ${background}; }`,
		);
		await assert.rejects(looksRight(view, theme, [340]), /color-contrast/);
	});
}

test('a link distinguished from the surrounding text only by color fails', { skip }, async (t) => {
	const view = await open(t);
	await style(
		view,
		'.vscode-light #planted { color: #222; } .vscode-light #planted a { color: #444; text-decoration: none; }',
	);
	await assert.rejects(looksRight(view, 'link'), /link-in-text-block/);
});

test('a page that scrolls horizontally at one width fails', { skip }, async (t) => {
	const view = await open(t);
	await style(view, '#planted { min-width: 500px; }');
	await looksRight(view, 'wide');
	await assert.rejects(looksRight(view, 'wide', [340, 700]), /scrolls sideways: \d+ of 340 px/);
});

test('a control without a name at a narrow width fails', { skip }, async (t) => {
	const view = await open(t);
	await view.page.evaluate(() => {
		const button = document.createElement('button');
		button.className = 'unnamed';
		document.querySelector('#planted')?.append(button);
	});
	await style(view, '.unnamed { display: none; } @media (max-width: 400px) { .unnamed { display: inline; } }');
	await looksRightNow(view, 'wide');
	await assert.rejects(looksRight(view, 'narrow', [340]), /button-name/);
});

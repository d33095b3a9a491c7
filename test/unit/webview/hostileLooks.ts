import assert from 'node:assert/strict';
import { hiddenCharacters } from '../../../webview/lib/trace/hiddenCharacters.ts';
import { fitsWidth } from './webviewLooks.ts';
import type { Webview } from './webviewPage.ts';

/** Elements and attributes that no page creates itself, or that come from text interpreted as markup. */
const foreign =
	'[data-hostile], img, iframe, form[action], object, embed, base, meta[http-equiv=refresh], a[href], #app style, #app script, script:not([nonce]), marquee, [onerror], [onload], [onclick], [srcdoc]';

/**
 * Asserts that a page shows hostile texts as plain text: they have created no elements, run no scripts, hidden no
 * characters, and not broken the layout. If a text loads or runs anything, that appears in the view's errors, which the
 * test that opened the view checks.
 */
export async function harmless(view: Webview, name: string): Promise<void> {
	const { page } = view;
	const found = await page.evaluate((selector) => {
		const attributes = ['title', 'aria-label', 'aria-valuetext', 'aria-description', 'placeholder'];
		const labels = [...document.querySelectorAll(attributes.map((attribute) => `[${attribute}]`).join(','))].flatMap(
			(node) =>
				attributes.map((attribute) => [`${node.tagName}.${node.className} ${attribute}`, node.getAttribute(attribute)]),
		);
		const texts: [string, string][] = [];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
			const parent = node.parentElement;
			if (parent?.closest('script, style')) continue;
			texts.push([`${parent?.tagName}.${parent?.className}`, node.textContent ?? '']);
		}
		return {
			elements: [...document.querySelectorAll(selector)].map((node) => node.outerHTML.slice(0, 200)),
			ran: 'hostile' in globalThis || 'polluted' in Object.prototype,
			texts: [...texts, ...labels.filter((label): label is [string, string] => label[1] !== null)],
		};
	}, foreign);
	assert.deepEqual(found.elements, [], `${name}: elements created from text`);
	assert.equal(found.ran, false, `${name}: a hostile text was executed`);
	const hidden = new Map<string, string>();
	for (const [where, text] of found.texts) {
		const [first] = hiddenCharacters(text);
		if (first) hidden.set(where, JSON.stringify(text.slice(Math.max(0, first.start - 30), first.end + 10)));
	}
	assert.deepEqual([...hidden], [], `${name}: hidden characters that are not written out`);
	await fitsWidth(view, name);
}

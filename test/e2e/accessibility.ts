import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Frame } from 'playwright-core';

/**
 * Returns violations of WCAG 2 A and AA as text.
 * @param rules `contrast`: only the rules that depend on the theme
 */
export async function violations(frame: Frame, rules: 'all' | 'contrast' = 'all'): Promise<string[]> {
	// Evaluate through the debugger because the page's content security policy does not apply to it.
	await frame.evaluate(axe.source);
	const results = await frame.evaluate(
		async (runOnly) => {
			const { axe } = window as unknown as { axe: typeof import('axe-core') };
			return await axe.run(document, { runOnly, resultTypes: ['violations'] });
		},
		rules === 'all'
			? ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']
			: { type: 'rule' as const, values: ['color-contrast'] },
	);
	assert.ok(results.passes.length > 0, 'axe found nothing to check');
	return results.violations.flatMap(({ id, help, nodes }) =>
		nodes.map(({ target, failureSummary }) => `${id}: ${help} (${target.join(' ')}) ${failureSummary ?? ''}`),
	);
}

/** Returns the number of pixels by which a page is wider than its panel. */
export async function overflow(frame: Frame): Promise<number> {
	return await frame.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Theme kinds as VS Code names them in a webview's body. */
export const bodyKinds = {
	'vs-dark': 'vscode-dark',
	vs: 'vscode-light',
	'hc-black': 'vscode-high-contrast',
	'hc-light': 'vscode-high-contrast-light',
} as const;

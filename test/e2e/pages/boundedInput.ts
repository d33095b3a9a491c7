import type { Page } from 'playwright-core';
import { withLimit } from './timeLimit.ts';

const calls = {
	keyboard: ['down', 'up', 'press', 'type', 'insertText'],
	mouse: ['move', 'down', 'up', 'click', 'dblclick', 'wheel'],
} as const;

/**
 * Limits how long the page's keyboard and mouse wait for the browser to handle an event. Playwright sets no limit, so
 * if a page did not acknowledge an event, the test would wait until it is killed without a message. The event may still
 * have arrived, so the test continues, and its next expectation decides.
 */
export function boundInput(page: Page, limit = 20_000): void {
	for (const [device, names] of Object.entries(calls)) {
		const target = page[device as keyof typeof calls] as unknown as Record<
			string,
			(...args: unknown[]) => Promise<void>
		>;
		for (const name of names) {
			const original = target[name]?.bind(target);
			if (original === undefined) throw new Error(`Playwright has no ${device}.${name}`);
			target[name] = (...args) =>
				withLimit(original(...args), limit, () =>
					console.log(`${device}.${name}(${args.join(', ')}) was not acknowledged after ${limit / 1000} s`),
				);
		}
	}
}

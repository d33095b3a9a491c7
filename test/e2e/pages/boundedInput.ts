import type { Page } from 'playwright-core';
import { withLimit } from './timeLimit.ts';

const calls = {
	keyboard: ['down', 'up', 'press', 'type', 'insertText'],
	mouse: ['move', 'down', 'up', 'click', 'dblclick', 'wheel'],
} as const;

/**
 * Limits how long the page's keyboard and mouse wait until the browser has handled an event. Playwright has no limit for
 * them, so that a test would wait until it is ended, without a message, when a page does not acknowledge an event. The
 * event may still have arrived, so the test continues, and what it expects next decides.
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

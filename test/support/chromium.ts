import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../scripts/workbench/chromium.ts';

const found = await findChromium(console.log);

/** Reason why browser tests cannot run here, or false. Used as a test's `skip` option. */
export const skip: string | false = 'missing' in found ? found.missing : false;

/**
 * Returns the browser shared by all tests, or a separate one if there is none. Only call this if `skip` is false.
 * Closing it closes the contexts created through it.
 */
export function launchChromium(): Promise<Browser> {
	if ('missing' in found) throw new Error(found.missing);
	const { TEST_BROWSER_SERVER: server } = process.env;
	return server === undefined ? chromium.launch(found.launch) : chromium.connect(server);
}

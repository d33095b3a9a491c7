import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../scripts/workbench/chromium.ts';

const found = await findChromium(console.log);

/** Why tests in a browser cannot run here, or false: the `skip` option of a test. */
export const skip: string | false = 'missing' in found ? found.missing : false;

/**
 * The browser that all tests share, else one of its own; only where `skip` is false. Closing it closes the contexts that
 * were made through it.
 */
export function launchChromium(): Promise<Browser> {
	if ('missing' in found) throw new Error(found.missing);
	const { TEST_BROWSER_SERVER: server } = process.env;
	return server === undefined ? chromium.launch(found.launch) : chromium.connect(server);
}

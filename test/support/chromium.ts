import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../scripts/workbench/chromium.ts';

const found = await findChromium(console.log);

/** Why tests in a browser cannot run here, or false: the `skip` option of a test. */
export const skip: string | false = 'missing' in found ? found.missing : false;

/** Only where `skip` is false. */
export function launchChromium(): Promise<Browser> {
	if ('missing' in found) throw new Error(found.missing);
	return chromium.launch(found.launch);
}

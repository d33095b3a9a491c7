/** Tests Ctrl+C during `npm test`; for the phases that take longer to start, run `npm run acceptance -- interrupts`. */
import { describe, it } from 'node:test';
import { findChromium } from '../../scripts/workbench/chromium.ts';
import { interrupted } from '../../support/interrupted.ts';

const browser = await findChromium(console.log);
const noBrowser = 'missing' in browser && browser.missing;
const linux = process.platform === 'linux' ? false : 'processes are found in /proc';

interface Case {
	readonly when: string;
	readonly args: readonly string[];
	/** Command line of the process that must be running before the interrupt. */
	readonly running: RegExp;
	readonly skip?: string | false;
}

const cases: readonly Case[] = [
	{ when: 'a check runs', args: ['lint'], running: /biome/ },
	{
		when: 'a test has started an engine',
		args: ['test/unit/engines/embedded/controlledRun.test.ts'],
		running: /engine(\.js|\/main\.ts) /,
	},
	{
		when: 'a page is open',
		args: ['test/unit/webview/rollouts/rolloutsPage.test.ts'],
		running: /--type=renderer/,
		skip: noBrowser,
	},
];

describe('an interrupt', { skip: linux }, () => {
	for (const { when, args, running, skip = false } of cases) {
		it(`while ${when} leaves no processes or files behind`, { skip }, (t) => interrupted(t, args, running));
	}
});

/** Checks that Ctrl+C during `npm test` leaves no page, workbench, Python, trainer, Ray or extension host behind. */
import { describe, it } from 'node:test';
import { interrupted } from '../support/interrupted.ts';

const cases: readonly { readonly when: string; readonly file: string; readonly running: RegExp }[] = [
	{ when: 'a page is open', file: 'test/unit/webview/rollouts/rolloutsPage.test.ts', running: /--type=renderer/ },
	{ when: 'a workbench is open', file: 'test/e2e/rollouts.test.ts', running: /type=extensionHost/ },
	{
		when: "the tests' Python loads its packages",
		file: 'test/python/exportedAdapters.test.ts',
		running: /loaded_python\.py/,
	},
	{ when: 'a trainer is running', file: 'test/trainer/driver.test.ts', running: /driver\/main\.ts / },
	{ when: 'Ray has started workers', file: 'test/trainer/ray.test.ts', running: /ray-dashboard-JobHead/ },
	{
		when: 'suites are running in the extension host',
		file: 'test/integration/workbench.test.ts',
		running: /type=extensionHost/,
	},
];

describe('an interrupt', { skip: process.platform === 'linux' ? false : 'processes are found in /proc' }, () => {
	for (const { when, file, running } of cases) {
		it(`while ${when} leaves no processes or files behind`, (t) => interrupted(t, [file], running));
	}
});

/** Tests Ctrl+C during `npm test`; for the phases that take longer to start, run `npm run acceptance -- interrupts`. */
import { describe, it } from 'node:test';
import { interrupted } from '../../support/interrupted.ts';

const linux = process.platform === 'linux' ? false : 'processes are found in /proc';

interface Case {
	readonly when: string;
	readonly args: readonly string[];
	/** Command line of the process that must be running before the interrupt. */
	readonly running: RegExp;
}

const cases: readonly Case[] = [
	{ when: 'a check runs', args: ['lint'], running: /biome/ },
	{
		when: 'a test has started an engine',
		args: ['test/unit/engines/embedded/controlledRun.test.ts'],
		running: /engine(\.js|\/main\.ts) /,
	},
];

describe('an interrupt', { skip: linux }, () => {
	for (const { when, args, running } of cases) {
		it(`while ${when} leaves no processes or files behind`, (t) => interrupted(t, args, running));
	}
});

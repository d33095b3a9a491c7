/** Commands for the project-wide checks. */
import { join } from 'node:path';
import { node, root } from '../scripts/paths.ts';
import type { CheckName } from './suites.ts';

const tool = (name: string) => join(root, 'node_modules/.bin', name);

interface Command {
	readonly command: readonly [string, ...string[]];
	/** How a person runs it. */
	readonly alone: string;
	readonly seconds: number;
	readonly env?: Readonly<Record<string, string>>;
}

/** Each check's command and expected duration. */
export const commands: Readonly<Record<CheckName, Command>> = {
	typecheck: {
		// The check has one core here; with several threads, each would repeat the others' work.
		command: [tool('tsc'), '-b', '--singleThreaded'],
		alone: 'npm run typecheck',
		seconds: 17,
		// It is a Go program that runs for only a few seconds, so less frequent garbage collection saves a sixth of its
		// CPU time.
		env: { GOGC: '400', GOMEMLIMIT: '2GiB' },
	},
	lint: { command: [tool('biome'), 'check', '--diagnostic-level=warn'], alone: 'npm run lint', seconds: 4 },
	build: { command: [node, 'esbuild.mjs', '--tests'], alone: 'node esbuild.mjs --tests', seconds: 8 },
};

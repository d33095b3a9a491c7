/** Phases of `npm test` and the test files of each: where they lie, what they need, how long they may take. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root as ownRoot } from '../scripts/paths.ts';
import type { ResourceName, Resources } from './resources.ts';

/** What must be there before a file of the suite runs. */
export type Requirement = ResourceName | CheckName;

export interface Suite {
	readonly name: string;
	readonly files: readonly string[];
	readonly needs: readonly Requirement[];
	/** Of a file. */
	readonly timeoutSeconds: number;
	/** Expected duration of a file where none was measured. */
	readonly seconds: number;
	/** A process of its own for each file. */
	readonly alone: boolean;
	/** Processor cores that a file keeps busy; default 1. */
	readonly cores?: number;
	/** Its files drive whole programs: see changed.ts for which of them a change can reach. */
	readonly byProgram?: boolean;
	/** Its files print on this terminal while they run. */
	readonly showOutput?: boolean;
	/** Environment of its files besides that of all tests. */
	readonly environment?: (resources: Pick<Resources, 'gpu'>) => Readonly<Record<string, string>>;
}

/** Checks of the whole project that pass or fail as one. */
export const checks = ['typecheck', 'lint', 'build'] as const;
export type CheckName = (typeof checks)[number];

const filesOf =
	(root: string) =>
	(...patterns: string[]): string[] =>
		globSync(patterns, { cwd: root })
			.map((path) => path.replaceAll('\\', '/'))
			.sort();

/**
 * Cores that a file keeps busy which drives whole programs: it waits for them, and they for each other, a third of its time.
 * Three of them on two cores leave none idle.
 */
const waiting = 0.66;

/** The suites of `npm test`. @param root folder of the checkout */
export function findSuites(root = ownRoot): Suite[] {
	const find = filesOf(root);
	const inBrowser = (file: string) => readFileSync(join(root, file), 'utf8').includes('support/chromium.ts');
	const unit = find('test/unit/**/*.test.ts', 'test/golden/**/*.test.ts');
	const pages = unit.filter(inBrowser);
	return [
		{
			name: 'unit',
			files: unit.filter((file) => !pages.includes(file)),
			needs: ['bubblewrap', 'build'],
			timeoutSeconds: 300,
			seconds: 1,
			alone: false,
		},
		{ name: 'pages', files: pages, needs: ['browser', 'build'], timeoutSeconds: 300, seconds: 15, alone: false },
		{
			name: 'gpu',
			files: find('test/gpu/*.test.ts'),
			needs: ['gpu', 'build'],
			timeoutSeconds: 240,
			seconds: 30,
			alone: true,
			// Its driver computes on every core.
			cores: 2,
			environment: ({ gpu }) => gpu,
		},
		{
			name: 'python',
			files: find('test/python/*.test.ts'),
			needs: ['python', 'build'],
			timeoutSeconds: 300,
			seconds: 15,
			alone: true,
			cores: waiting,
		},
		{
			name: 'trainer',
			files: find('test/trainer/*.test.ts'),
			needs: ['python', 'build'],
			timeoutSeconds: 600,
			seconds: 60,
			alone: true,
			cores: waiting,
			byProgram: true,
		},
		{
			name: 'integration',
			files: find('test/integration/*.test.ts'),
			needs: ['browser', 'workbench', 'python', 'bubblewrap', 'build'],
			timeoutSeconds: 600,
			seconds: 150,
			alone: true,
			cores: waiting,
			byProgram: true,
		},
		{
			name: 'e2e',
			files: find('test/e2e/*.test.ts'),
			needs: ['browser', 'workbench', 'python', 'build'],
			timeoutSeconds: 600,
			seconds: 40,
			alone: true,
			cores: waiting,
			byProgram: true,
		},
	];
}

/** The checks of `npm run acceptance`. They measure, and each takes the whole machine. */
export function acceptanceSuite(cores: number): Suite {
	return {
		name: 'acceptance',
		files: filesOf(ownRoot)('test/acceptance/*.test.ts'),
		needs: ['browser', 'workbench', 'python', 'bubblewrap', 'build'],
		timeoutSeconds: 6 * 3600,
		seconds: 300,
		alone: true,
		cores,
		showOutput: true,
	};
}

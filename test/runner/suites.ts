/** Phases of `npm test` with their test files, requirements and time limits. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root as ownRoot } from '../scripts/paths.ts';
import type { ResourceName, Resources } from './resources.ts';

/** Prerequisite for running a file in the suite. */
export type Requirement = ResourceName | CheckName;

export interface Suite {
	readonly name: string;
	readonly files: readonly string[];
	readonly needs: readonly Requirement[];
	/** Timeout per test file. */
	readonly timeoutSeconds: number;
	/** Expected duration of a file that has not been measured. */
	readonly seconds: number;
	/** Whether each file runs in a separate process. */
	readonly alone: boolean;
	/** Number of processor cores that a file keeps busy; the default leaves room for three files on two cores. */
	readonly cores?: number;
	/** Whether its files apply TEST_NAME_PATTERN themselves, because their tests are declared late. */
	readonly filtersTests?: boolean;
	/** Whether its files drive whole programs. See changed.ts for how this affects which files a change reaches. */
	readonly byProgram?: boolean;
	/** Whether its files print to this terminal while they run. */
	readonly showOutput?: boolean;
	/** Environment variables for its files only. */
	readonly environment?: (resources: Pick<Resources, 'gpu'>) => Readonly<Record<string, string>>;
}

/** Project-wide checks that pass or fail as a whole. */
export const checks = ['typecheck', 'lint', 'build'] as const;
export type CheckName = (typeof checks)[number];

const filesOf =
	(root: string) =>
	(...patterns: string[]): string[] =>
		globSync(patterns, { cwd: root })
			.map((path) => path.replaceAll('\\', '/'))
			.sort();

/** Returns the suites of `npm test`. @param root folder of the checkout */
export function findSuites(root = ownRoot): Suite[] {
	const find = filesOf(root);
	const inBrowser = (file: string) => readFileSync(join(root, file), 'utf8').includes('support/chromium.ts');
	const unit = find('test/unit/**/*.test.ts', 'test/golden/**/*.test.ts');
	const pages = unit.filter(inBrowser);
	/** Reward hosts start three times as fast from the build as from the sources. */
	const fromBuild = () => ({ REASONING_LAB_PROGRAMS: join(root, 'dist') });
	return [
		{
			name: 'unit',
			files: unit.filter((file) => !pages.includes(file)),
			needs: ['bubblewrap', 'build'],
			timeoutSeconds: 300,
			seconds: 1,
			alone: false,
			environment: fromBuild,
		},
		{ name: 'pages', files: pages, needs: ['browser', 'build'], timeoutSeconds: 300, seconds: 15, alone: false },
		{
			name: 'gpu',
			files: find('test/gpu/*.test.ts'),
			needs: ['gpu', 'build'],
			timeoutSeconds: 600,
			seconds: 30,
			alone: true,
			environment: ({ gpu }) => gpu,
		},
		{
			name: 'python',
			files: find('test/python/*.test.ts'),
			needs: ['python', 'build'],
			timeoutSeconds: 300,
			seconds: 15,
			alone: true,
			environment: fromBuild,
		},
		{
			name: 'trainer',
			files: find('test/trainer/*.test.ts'),
			needs: ['python', 'build'],
			timeoutSeconds: 600,
			seconds: 60,
			alone: true,
			byProgram: true,
			environment: fromBuild,
		},
		{
			name: 'integration',
			files: find('test/integration/*.test.ts'),
			needs: ['browser', 'workbench', 'python', 'bubblewrap', 'build'],
			timeoutSeconds: 600,
			seconds: 150,
			alone: true,
			byProgram: true,
			filtersTests: true,
		},
		{
			name: 'e2e',
			files: find('test/e2e/*.test.ts'),
			needs: ['browser', 'workbench', 'python', 'build'],
			timeoutSeconds: 600,
			seconds: 40,
			alone: true,
			byProgram: true,
		},
	];
}

/**
 * Returns the suites of `npm run acceptance`. Their checks are measurements, and each uses the whole machine. GPU
 * checks are separate, because the environment for a software GPU would apply to all runs.
 */
export function acceptanceSuites(cores: number): Suite[] {
	const files = filesOf(ownRoot)('test/acceptance/*.test.ts');
	const onGpu = (file: string) => /\/gpu(Workbench)?\.test\.ts$/.test(file);
	const common = {
		needs: ['browser', 'workbench', 'python', 'bubblewrap', 'build'],
		timeoutSeconds: 6 * 3600,
		seconds: 300,
		alone: true,
		cores,
		showOutput: true,
	} as const;
	return [
		{ ...common, name: 'acceptance', files: files.filter((file) => !onGpu(file)) },
		{
			...common,
			name: 'acceptance on a GPU',
			files: files.filter(onGpu),
			needs: ['gpu', 'browser', 'workbench', 'build'],
			environment: ({ gpu }) => gpu,
		},
	];
}

/** Determines what a change affects: the files that differ from a commit, and the tests that depend on them. */
import { execFileSync } from 'node:child_process';
import { root } from '../scripts/paths.ts';
import { ImportGraph } from './importGraph.ts';
import type { CheckName, Suite } from './suites.ts';

/** Returns the files that differ from `base`, including untracked ones. Throws if `base` is not a commit. */
export function changedFiles(base: string): string[] {
	const git = (...args: string[]) =>
		execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'pipe'] })
			.split('\0')
			.filter((file) => file !== '');
	return [
		...new Set([
			...git('diff', '--name-only', '-z', base, '--'),
			...git('ls-files', '--others', '--exclude-standard', '-z'),
		]),
	].sort();
}

/** Files that affect every test because everything is built or run with them. */
const everywhere = /^(package-lock\.json|\.npmrc|esbuild\.mjs|src\/tsconfig\.base\.json|test\/(runner|support)\/)/;

export interface Reach {
	readonly checks: readonly CheckName[];
	readonly suites: readonly Suite[];
	/** Affected test files that are left to a full run. */
	readonly leftOut: readonly string[];
}

export interface ReachOptions {
	readonly graph?: ImportGraph;
	/** Returns the expected duration of a file, in seconds. */
	readonly secondsOf: (file: string, suite: Suite) => number;
	/** Budget, in expected seconds, for files that the change affects only through a shared program. */
	readonly budgetSeconds: number;
}

/**
 * Returns type checking, lint, and the test files in each suite that depend on a changed file: those that import it,
 * and those that run a program with the changed file in its own folder. Of the files affected only through sources
 * shared between programs, includes the fastest one for each program, one that uses the workbench, and then as many of
 * the fastest as fit the budget.
 */
export function reachOf(changed: readonly string[], suites: readonly Suite[], options: ReachOptions): Reach {
	const { graph = new ImportGraph(), secondsOf, budgetSeconds } = options;
	const checks: readonly CheckName[] = ['typecheck', 'lint'];
	if (changed.some((file) => everywhere.test(file))) return { checks, suites, leftOut: [] };
	const candidates = suites.flatMap((suite) => candidatesOf(suite, new Set(changed), graph, secondsOf));
	const chosen = new Set(candidates.filter(({ near }) => near));
	const others = candidates.filter(({ near }) => !near).sort((a, b) => a.seconds - b.seconds);
	const covered = new Set([...chosen].flatMap(({ programs }) => programs));
	for (const other of others) {
		if (other.programs.every((program) => covered.has(program))) continue;
		chosen.add(other);
		for (const program of other.programs) covered.add(program);
	}
	const inWorkbench = ({ suite }: Candidate) => suite.needs.includes('workbench');
	const first = others.find(inWorkbench);
	if (first !== undefined && ![...chosen].some(inWorkbench)) chosen.add(first);
	let sum = [...chosen].reduce((seconds, one) => seconds + one.seconds, 0);
	for (const other of others) {
		if (chosen.has(other)) continue;
		sum += other.seconds;
		if (sum > budgetSeconds) break;
		chosen.add(other);
	}
	const files = new Set([...chosen].map(({ file }) => file));
	return {
		checks,
		suites: suites.map((suite) => ({ ...suite, files: suite.files.filter((file) => files.has(file)) })),
		leftOut: others.filter((other) => !chosen.has(other)).map(({ file }) => file),
	};
}

interface Candidate {
	readonly file: string;
	readonly suite: Suite;
	readonly seconds: number;
	/** Whether the file imports the change or runs a program that has the change among its own sources. */
	readonly near: boolean;
	/** Programs run by the file that contain the change. */
	readonly programs: readonly string[];
}

function candidatesOf(
	suite: Suite,
	changed: ReadonlySet<string>,
	graph: ImportGraph,
	secondsOf: ReachOptions['secondsOf'],
): Candidate[] {
	const candidates: Candidate[] = [];
	for (const file of suite.files) {
		const imports = graph.dependencies(file, false);
		// Ignore indirect imports in files that drive whole programs: they import much of the product only to inspect
		// results.
		const near = [...changed].some(
			(path) => (imports.get(path) ?? Number.POSITIVE_INFINITY) <= (suite.byProgram ? 1 : 1e9),
		);
		const named = suite.byProgram
			? graph.programsOf(file)
			: [...imports.keys()].flatMap((path) => graph.programsOf(path));
		const programs = [...new Set(named)].filter((program) =>
			[...changed].some((path) => graph.sourcesOf(program).has(path)),
		);
		if (!near && programs.length === 0 && ![...changed].some((path) => imports.has(path))) continue;
		const own = programs.some((program) => [...changed].some((path) => graph.isOwn(program, path)));
		candidates.push({ file, suite, seconds: secondsOf(file, suite), near: near || own, programs });
	}
	return candidates;
}

/** What a change can reach: the files that differ from a commit, and the tests that depend on them. */
import { execFileSync } from 'node:child_process';
import { root } from '../scripts/paths.ts';
import { ImportGraph } from './importGraph.ts';
import type { CheckName, Suite } from './suites.ts';

/** Files that differ from `base`, also those that git does not know yet. Throws where `base` is no commit. */
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

/** A change of what everything is built or run with reaches everything. */
const everywhere = /^(package-lock\.json|\.npmrc|esbuild\.mjs|src\/tsconfig\.base\.json|test\/(runner|support)\/)/;

export interface Reach {
	readonly checks: readonly CheckName[];
	readonly suites: readonly Suite[];
	/** Files that the change reaches as well, and that are left to a whole run. */
	readonly leftOut: readonly string[];
}

export interface ReachOptions {
	readonly graph?: ImportGraph;
	/** Expected seconds of a file. */
	readonly secondsOf: (file: string, suite: Suite) => number;
	/** Expected seconds of all files together, up to which those are taken that a change reaches by a shared program alone. */
	readonly budgetSeconds: number;
}

/**
 * Types and lint, and of each suite the files that depend on a changed file: all that import it, and all that run a
 * program in whose folder it lies. Of those that only run a program that shares it with others, the quickest for each
 * program, one in the workbench, and then as many of the quickest as fit into the budget.
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
	/** It imports the change, or runs a program whose own sources it is. */
	readonly near: boolean;
	/** Programs with the change that it runs. */
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
		// Files that drive whole programs import much of the product to look at what these have done.
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

import { isAbsolute } from 'node:path';
import { type IDisposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { EnvironmentRunner } from './environmentRunner.ts';
import { type EnvironmentSource, environmentSource, sentSource } from './environmentSource.ts';

/** A recipe's environment in a separate process, which exits on disposal. */
export interface RunEnvironment extends IDisposable {
	readonly runner: EnvironmentRunner;
}

/**
 * Opens a recipe's environment with the limits that the recipe sets. It is loaded on first use. Fails with `invalid` if
 * the recipe has none, and with the same errors as `environmentSource`.
 * @param copyOf returns the absolute path of the run's copy of an environment file
 */
export async function openRunEnvironment(
	{ environment, seed, scoring }: Pick<ResolvedRecipe, 'environment' | 'seed' | 'scoring'>,
	copyOf: (file: string) => string,
): Promise<RunEnvironment> {
	if (environment === undefined) throw new Failure('invalid', 'The recipe has no environment.');
	const source = await sourceOf(environment, copyOf);
	const hosts = await openRewardHosts(
		source.python === undefined ? { python: !source.file.endsWith('.env.ts') } : { python: source.python },
	);
	const limits = {
		turnMs: environment.turnSeconds * 1000,
		loadMs: scoring.loadSeconds * 1000,
		memoryMb: scoring.memoryMb,
	};
	const runner = new EnvironmentRunner(hosts, source.file, { seed, limits, source: sentSource(source) });
	const { dispose } = toDisposable(() => {
		runner.dispose();
		hosts.dispose();
	});
	return { runner, dispose };
}

/** Packages and servers are used in place; for files, the run has its own copy. */
async function sourceOf(
	{ file, package: named, server, ...rest }: NonNullable<ResolvedRecipe['environment']>,
	copyOf: (file: string) => string,
): Promise<EnvironmentSource> {
	if (file !== undefined) return { kind: 'file', file: copyOf(file) };
	const given = rest.arguments === undefined ? {} : { arguments: rest.arguments };
	if (server !== undefined) return { kind: 'openenv', file: server, ...given };
	if (named === undefined) throw new Failure('invalid', "The recipe's environment does not specify a source.");
	// A name never refers to a folder in the engine's working directory.
	if (!isAbsolute(named)) return { kind: 'verifiers', file: named, ...given };
	const source = await environmentSource(named, given);
	if (source.kind === 'file') {
		throw new Failure('invalid', `"package" in the recipe is a file: ${named}.`, 'Use "file" instead.');
	}
	return source;
}

import { basename, relative, resolve } from 'node:path';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import type { EnvironmentData } from '../episodes/environmentData.ts';
import type { EnvironmentRunner } from '../episodes/environmentRunner.ts';
import { type EnvironmentSource, environmentSource } from '../episodes/environmentSource.ts';
import { withOpenEnvironment } from '../episodes/openEnvironment.ts';
import { LoadFailure } from '../rewards/loadFailure.ts';
import type { CliOutput } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { integer, number, type Options, type OptionValues, path, text } from './options.ts';

/** Options for an environment process. */
export const hostOptions = {
	timeout: number('SECONDS', 'Time limit for each reset, turn, and reward in the environment (default: 10).'),
	arguments: text('JSON', 'Arguments for a package or server, as a JSON object.'),
	python: path('PATH', 'Python interpreter for the environment (default: REASONING_LAB_PYTHON, or python3).'),
} as const satisfies Options;

/** Options shared by all commands that run an environment. */
export const environmentOptions = {
	dataset: path('FILE', 'JSONL rows for reset (default: the file given by @dataset).'),
	rows: integer('N', 'Number of rows (default: 50).', 1),
	turns: integer('N', 'Maximum number of turns for the random policy (default: 20).', 1),
	seed: integer('S', 'Seed for selecting rows and for random calls (default: 1).'),
	...hostOptions,
} as const satisfies Options;

type Values = OptionValues<typeof environmentOptions>;

export interface EnvironmentCall {
	readonly source: EnvironmentSource;
	readonly runner: EnvironmentRunner;
	readonly data: EnvironmentData;
	readonly turns: number;
	readonly seed: number;
	readonly signal: AbortSignal;
}

/**
 * Opens an environment and its rows for the duration of a command. A file that cannot be loaded fails the command with
 * status 1; it is not a usage error.
 */
export async function withEnvironment(
	written: string,
	values: Values,
	output: CliOutput,
	work: (call: EnvironmentCall) => Promise<number>,
): Promise<number> {
	const source = await environmentSource(written, { arguments: argumentsOf(values.arguments) });
	const { seed = 1, rows = 50, turns = 20, timeout } = values;
	requireTimeout(timeout);
	const interrupt = new AbortController();
	const release = onInterrupt(() => interrupt.abort());
	const { signal } = interrupt;
	const dataset = values.dataset === undefined ? undefined : resolve(values.dataset);
	const { python } = values;
	try {
		return await withOpenEnvironment(source, { dataset, rows, seed, timeout, python, signal }, (runner, data) =>
			work({ source, runner, data, turns, seed, signal }),
		);
	} catch (error) {
		if (!(error instanceof LoadFailure)) throw error;
		output.failure(error);
		return 1;
	} finally {
		release();
	}
}

/** Fails with `invalid` if `--timeout` is not a positive number. */
export function requireTimeout(timeout: number | undefined): void {
	if (timeout !== undefined && !(timeout > 0)) throw new Failure('invalid', '--timeout must be greater than 0.');
}

/** Parses `--arguments`. Fails with `invalid`. */
export function argumentsOf(written: string | undefined): Record<string, unknown> | undefined {
	if (written === undefined) return undefined;
	try {
		const value = parseBoundedJson(written);
		if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
	} catch {
		// Reported below.
	}
	throw new Failure('invalid', '--arguments is not a JSON object.', 'Example: --arguments \'{"largest": 20}\'.');
}

/** Returns the shortest readable path with a line number, in a format that most terminals turn into a link. */
export function environmentPlace(file: string, line: number): string {
	const near = relative(process.cwd(), file);
	return `${near.startsWith('..') ? basename(file) : near}:${line}`;
}

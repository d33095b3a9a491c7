import type { EnvironmentKind } from '../protocol/environmentHost.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { type EnvironmentData, environmentData } from './environmentData.ts';
import { EnvironmentRunner } from './environmentRunner.ts';
import { type EnvironmentSource, sentSource } from './environmentSource.ts';

export interface OpenEnvironmentOptions {
	/** Absolute path of a JSONL file. Default: the file named in the environment, or rows of its package or server. */
	readonly dataset?: string | undefined;
	/** Maximum number of rows. */
	readonly rows: number;
	/** Seed for sampling the rows and for the host process. */
	readonly seed: number;
	/** Time limit for each reset, turn and reward, in seconds. */
	readonly timeout?: number | undefined;
	/** Python interpreter. Default: that of the source, or the default of reward hosts. */
	readonly python?: string | undefined;
	readonly signal: AbortSignal;
}

/**
 * Opens an environment and its rows for one task, and stops its processes afterward. Fails with `LoadFailure` if the
 * file cannot be loaded, or with `cancelled`.
 */
export async function withOpenEnvironment<T>(
	source: EnvironmentSource,
	{ dataset, rows, seed, timeout, python, signal }: OpenEnvironmentOptions,
	work: (runner: EnvironmentRunner, data: EnvironmentData) => Promise<T>,
): Promise<T> {
	const { file, kind } = source;
	const hosts = await openRewardHosts({ python: python ?? source.python ?? true });
	const limits = timeout === undefined ? {} : { turnMs: 1000 * timeout };
	const runner = new EnvironmentRunner(hosts, file, { seed, limits, source: sentSource(source) });
	const abort = () => runner.dispose();
	signal.addEventListener('abort', abort, { once: true });
	try {
		const given = dataset === undefined ? {} : { dataset };
		const data = await environmentData({ file, rows, seed, signal, ...given, ...ownRows(kind, runner) });
		return await work(runner, data);
	} finally {
		signal.removeEventListener('abort', abort);
		runner.dispose();
		hosts.dispose();
	}
}

/** Environments from other libraries provide their own rows. */
function ownRows(kind: EnvironmentKind, runner: EnvironmentRunner) {
	return kind === 'file' ? {} : { own: (count: number) => runner.rows(count) };
}

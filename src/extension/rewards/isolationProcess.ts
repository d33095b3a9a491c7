import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type IsolationAttempt, type IsolationReport, isolationLineSchema } from '../../protocol/isolation.ts';
import { runCli } from '../cliProcess.ts';

export interface IsolationProgram {
	/** The command line's program, dist/cli.js, and the Node program that runs it; null: this process's own. */
	readonly cli: string;
	readonly node: string | null;
	/** As the setting spells it. */
	readonly mode: string;
	/** A folder that the sandbox must not show. */
	readonly folder: string;
	readonly signal: AbortSignal;
	onAttempt(attempt: IsolationAttempt, done: number, total: number): void;
}

/**
 * Checks the isolation in a separate process: what it tries uses memory, processes and output, which is not for the
 * extension host. Fails as the check does, with `cancelled` when the signal fires, `internal` when nothing is reported.
 */
export async function runIsolationCheck(program: IsolationProgram): Promise<IsolationReport> {
	const { cli, node, mode, folder, signal, onAttempt } = program;
	let report: IsolationReport | null = null;
	const words = await runCli({
		...{ cli, node, signal, cwd: folder, args: ['sandbox-check', '--sandbox', mode] },
		onObject: (value) => {
			const decoded = decode(isolationLineSchema, value);
			if (!decoded.ok) return;
			if (decoded.value.kind === 'attempt') onAttempt(decoded.value.attempt, decoded.value.done, decoded.value.total);
			else if (decoded.value.kind === 'report') report = decoded.value.report;
		},
	});
	if (report !== null) return report;
	throw new Failure('internal', `The check of the sandbox ended without a report${words ? `: ${words}` : ''}.`);
}

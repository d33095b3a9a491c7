import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type IsolationAttempt, type IsolationReport, isolationLineSchema } from '../../protocol/isolation.ts';
import { runCli } from '../cliProcess.ts';

export interface IsolationProgram {
	/** Paths to dist/cli.js and the Node executable that runs it; null uses this process's own executable. */
	readonly cli: string;
	readonly node: string | null;
	/** Sandbox mode, spelled as in the setting. */
	readonly mode: string;
	/** Folder that must not be visible inside the sandbox. */
	readonly folder: string;
	readonly signal: AbortSignal;
	onAttempt(attempt: IsolationAttempt, done: number, total: number): void;
}

/**
 * Checks sandbox isolation in a separate process, because the escape attempts use memory, processes, and output in ways
 * that would disrupt the extension host. Fails with the same errors as the check, with `cancelled` if the signal is
 * aborted, or with `internal` if there is no report.
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
	throw new Failure('internal', `The sandbox check exited without a report${words ? `: ${words}` : ''}.`);
}

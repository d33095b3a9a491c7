import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Failure, type Reason } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type IsolationAttempt, type IsolationReport, isolationLineSchema } from '../../protocol/isolation.ts';

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
 * Checks the isolation in a process of its own: what it tries uses memory, processes and output, which is not for the
 * extension host. Fails as the check does, with `cancelled` when the signal fires, `internal` when nothing is reported.
 */
export async function runIsolationCheck(program: IsolationProgram): Promise<IsolationReport> {
	const { cli, node, mode, folder, signal, onAttempt } = program;
	const { NODE_OPTIONS: _, ...environment } = process.env;
	const child = spawn(node ?? process.execPath, [cli, 'sandbox-check', '--json', '--sandbox', mode], {
		cwd: folder,
		env: { ...environment, ...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }) },
		stdio: ['ignore', 'pipe', 'pipe'],
		windowsHide: true,
	});
	// It takes back what it has made: files, a server, a process.
	const cancel = () => child.kill('SIGTERM');
	signal.addEventListener('abort', cancel, { once: true });
	if (signal.aborted) cancel();
	let report: IsolationReport | null = null;
	let failure: Failure | null = null;
	let complaint = '';
	child.stderr.on('data', (chunk: Buffer) => {
		complaint = `${complaint}${chunk.toString('utf8')}`.slice(-2000);
	});
	createInterface({ input: child.stdout }).on('line', (line) => {
		const decoded = decode(isolationLineSchema, parse(line));
		if (!decoded.ok) return;
		const { value } = decoded;
		if (value.kind === 'attempt') onAttempt(value.attempt, value.done, value.total);
		else if (value.kind === 'report') report = value.report;
		else failure = new Failure(value.error.reason as Reason, value.error.message, value.error.action);
	});
	try {
		await new Promise<void>((resolve, reject) => {
			child.once('error', (error) =>
				reject(new Failure('unavailable', `The check could not be started: ${error.message}.`)),
			);
			child.once('close', () => resolve());
		});
	} finally {
		signal.removeEventListener('abort', cancel);
	}
	if (signal.aborted) throw new Failure('cancelled', 'Cancelled.');
	if (report !== null) return report;
	const words = complaint.trim().split('\n').at(-1);
	throw (
		failure ?? new Failure('internal', `The check of the sandbox ended without a report${words ? `: ${words}` : ''}.`)
	);
}

function parse(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}

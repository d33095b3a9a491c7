import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { decode } from '../protocol/decode.ts';
import { failureDataSchema } from '../protocol/failureData.ts';

export interface CliProgram {
	/** Path of dist/cli.js, and of the Node executable that runs it (null for this process's own). */
	readonly cli: string;
	readonly node: string | null;
	/** Verb and arguments; `--json` is added automatically. */
	readonly args: readonly string[];
	readonly cwd: string;
	/** Environment variables to add or override. */
	readonly environment?: Readonly<Record<string, string>>;
	readonly signal: AbortSignal;
	/** Called with each printed object except a final failure. */
	onObject(value: unknown): void;
}

const failureSchema = v.looseObject({ kind: v.literal('error'), error: failureDataSchema });

/**
 * Runs a CLI verb in a separate process, for work that does not belong in the extension host. Fails with the same
 * errors as the verb, or with `cancelled` when the signal is aborted, in which case the verb undoes its changes.
 * @returns the last line on stderr, for use when there is no result
 */
export async function runCli(program: CliProgram): Promise<string> {
	const { cli, node, args, cwd, signal, onObject } = program;
	const { NODE_OPTIONS: _, ...environment } = process.env;
	const child = spawn(node ?? process.execPath, [cli, ...args, '--json'], {
		cwd,
		env: {
			...environment,
			...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }),
			...program.environment,
		},
		stdio: ['ignore', 'pipe', 'pipe'],
		windowsHide: true,
	});
	const cancel = () => child.kill('SIGTERM');
	signal.addEventListener('abort', cancel, { once: true });
	if (signal.aborted) cancel();
	let failure: Failure | null = null;
	let complaint = '';
	child.stderr.on('data', (chunk: Buffer) => {
		complaint = `${complaint}${chunk.toString('utf8')}`.slice(-2000);
	});
	createInterface({ input: child.stdout }).on('line', (line) => {
		const value = parse(line);
		const failed = decode(failureSchema, value);
		if (!failed.ok) return onObject(value);
		failure = Failure.of(failed.value.error);
	});
	try {
		await new Promise<void>((resolve, reject) => {
			child.once('error', (error) =>
				reject(new Failure('unavailable', `Cannot start the command-line process: ${error.message}.`)),
			);
			child.once('close', () => resolve());
		});
	} finally {
		signal.removeEventListener('abort', cancel);
	}
	if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
	if (failure !== null) throw failure;
	return complaint.trim().split('\n').at(-1) ?? '';
}

function parse(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}

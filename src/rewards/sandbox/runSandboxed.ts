import { Failure } from '../../base/failure.ts';
import type { SandboxOutput, SandboxProcess } from './sandbox.ts';

/** Sends input to a program and collects its output. Fails with `cancelled` if the program was canceled. */
export async function runSandboxed(process: SandboxProcess, stdin: string | undefined): Promise<SandboxOutput> {
	const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
	process.stdout.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
	process.stderr.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
	process.stdin.end(stdin ?? '');
	const outcome = await process.ended;
	if (outcome.end === 'cancelled') throw new Failure('cancelled', 'Canceled.');
	return {
		...outcome,
		stdout: Buffer.concat(chunks.stdout).toString('utf8'),
		stderr: Buffer.concat(chunks.stderr).toString('utf8'),
	};
}

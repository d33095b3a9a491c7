import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type CheckRow, type DoctorReport, doctorLineSchema } from '../../protocol/torchEnvironment.ts';
import { type CliProgram, runCli } from '../cliProcess.ts';

export interface DoctorProgram extends Pick<CliProgram, 'cli' | 'node' | 'cwd' | 'signal'> {
	/** Python interpreter from the settings; null if not set. */
	readonly python: string | null;
	readonly folder: string | null;
	/** Interpreter selected in the Python extension. */
	readonly selected: string | null;
	readonly sandbox: string;
	readonly quick: boolean;
	onProgress(message: string): void;
}

/**
 * Runs *Doctor* in a separate process. Fails with `cancelled` if the signal is aborted and with `internal` if there is
 * no report.
 */
export async function runDoctor(program: DoctorProgram): Promise<DoctorReport> {
	const { cli, node, cwd, signal, python, folder, selected, sandbox, quick, onProgress } = program;
	const rows: CheckRow[] = [];
	let report: DoctorReport | null = null;
	const words = await runCli({
		...{ cli, node, cwd, signal },
		args: [
			'doctor',
			...['--sandbox', sandbox],
			...(python === null ? [] : ['--python', python]),
			...(folder === null ? [] : ['--folder', folder]),
			...(selected === null ? [] : ['--selected', selected]),
			...(quick ? ['--quick'] : []),
		],
		onObject: (value) => {
			const decoded = decode(doctorLineSchema, value);
			if (!decoded.ok) return;
			const line = decoded.value;
			if (line.kind === 'progress') onProgress(line.message);
			else if (line.kind === 'row') rows.push(line);
			else report = { format: 1, python: line.python, source: line.source, seconds: line.seconds, rows };
		},
	});
	if (report !== null) return report;
	throw new Failure('internal', `Doctor exited without a report${words ? `: ${words}` : ''}.`);
}

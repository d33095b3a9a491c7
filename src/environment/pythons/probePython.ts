import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { runProgram } from '../../processes/runProgram.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { type PythonProbe, pythonProbeSchema } from '../../protocol/torchEnvironment.ts';
import { lastWords } from '../../runs/launchEngine.ts';
import { trainerFolder } from '../trainerFolder.ts';

export interface ProbeOptions {
	/** Whether to query torch for its build and devices, which imports it and takes a few seconds. */
	readonly torch?: boolean;
	/** Additional imports to test, each in a separate process: `vllm`, `trl: GRPOTrainer`. */
	readonly imports?: readonly string[];
	/** Timeout per import, in seconds; default 120. */
	readonly seconds?: number;
	/** Whether this is the managed environment, in which bytecode may be cached. */
	readonly own?: boolean;
	readonly signal?: AbortSignal;
}

/** Import used to test TRL. TRL loads its modules lazily, so importing only `trl` proves little. */
export const trlImport = 'trl: GRPOTrainer, GRPOConfig, SFTTrainer';

/**
 * Probes an interpreter and its environment. Broken packages are reported in the result. Fails with `unavailable` if
 * the executable cannot be started, `version` if its Python is too old for the probe, `timeout`, or `cancelled`.
 */
export async function probePython(python: string, options: ProbeOptions = {}): Promise<PythonProbe> {
	const { imports = [], seconds = 120, signal } = options;
	const environment = options.own ? {} : { PYTHONDONTWRITEBYTECODE: '1' };
	const program = join(await trainerFolder(), 'reasoning_lab_trainer', 'environment', 'probe.py');
	const processes = imports.length + (options.torch ? 1 : 0);
	const { stdout, stderr, code } = await runProgram(
		python,
		[
			program,
			...(options.torch ? ['--torch'] : []),
			...imports.flatMap((name) => ['--import', name]),
			...['--seconds', String(seconds)],
		],
		{ environment, limitMs: (60 + seconds * processes) * 1000, ...(signal === undefined ? {} : { signal }) },
	);
	if (code === 0) return decodeOrThrow(pythonProbeSchema, parse(stdout), `The probe result of ${python}`);
	const version = await versionOf(python, signal);
	if (version === null) {
		const words = lastWords(stderr);
		throw new Failure(
			'unavailable',
			`${python} is not a working Python interpreter${words === '' ? '' : `: ${words}`}.`,
		);
	}
	throw new Failure('version', `${python} is Python ${version}, which is too old.`, 'Use Python 3.10 or later.');
}

/** Returns the version of a Python interpreter, however old, or null if the program is not a Python interpreter. */
async function versionOf(python: string, signal: AbortSignal | undefined): Promise<string | null> {
	const code = 'import sys; sys.stdout.write("%d.%d.%d" % sys.version_info[:3])';
	const options = { limitMs: 20_000, ...(signal === undefined ? {} : { signal }) };
	const { stdout } = await runProgram(python, ['-c', code], options);
	return /^\d+\.\d+\.\d+$/.test(stdout) ? stdout : null;
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

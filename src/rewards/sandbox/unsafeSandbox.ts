import { realpath } from 'node:fs/promises';
import { inheritedDescriptors } from '../../processes/inheritedDescriptors.ts';
import { deferredProcess } from './deferredProcess.ts';
import { fileFolder } from './fileFolder.ts';
import { findInterpreters, type Interpreters } from './interpreters.ts';
import { findLauncher } from './launcher.ts';
import { runSandboxed } from './runSandboxed.ts';
import {
	defaultSandboxLimits,
	type Sandbox,
	type SandboxCommand,
	type SandboxProcess,
	type SandboxProgram,
} from './sandbox.ts';
import { superviseProcess } from './superviseProcess.ts';

/** Standard input is a file, as with bubblewrap, so /dev/stdin can be opened. */
const inputFile = 'stdin.txt';

/**
 * No sandbox: a plain process that runs as the same user, with time and memory limits and without this process's
 * environment.
 */
class UnsafeSandbox implements Sandbox {
	readonly kind = 'unsafe';
	readonly description = 'unsafe: a plain process with limits and all your permissions';
	readonly gaps = ['any isolation'];
	readonly #node: string;
	readonly #interpreters: Interpreters;
	readonly #inherited: readonly number[];

	constructor(node: string, interpreters: Interpreters, inherited: readonly number[]) {
		this.#node = node;
		this.#interpreters = interpreters;
		this.#inherited = inherited;
	}

	missing(program: SandboxProgram): string | null {
		const interpreter = this.#interpreters[program];
		return 'missing' in interpreter && process.platform === 'linux' ? interpreter.missing : null;
	}

	start(command: SandboxCommand, signal?: AbortSignal): SandboxProcess {
		return this.#start(command, null, signal);
	}

	/** @param input null: the process inherits its input */
	#start(command: SandboxCommand, input: string | null, signal: AbortSignal | undefined): SandboxProcess {
		const limits = { ...defaultSandboxLimits, ...command.limits };
		return deferredProcess(async () => {
			const folder = await fileFolder({ ...command.files, ...(input === null ? {} : { [inputFile]: input }) });
			const interpreter = this.#interpreters[command.program];
			const known = 'missing' in interpreter ? (command.program === 'sh' ? 'sh' : 'python3') : interpreter.path;
			const program = command.program === 'node' ? this.#node : known;
			const redirect = input === null ? [] : ['sh', '-c', `exec "$@" <${inputFile}`, 'sh'];
			const launcher = process.platform === 'win32' ? [] : [...redirect, ...findLauncher().wrap(limits, false)];
			const [first = program, ...rest] = [...launcher, program, ...command.args];
			return superviseProcess(
				{
					name: 'The program',
					program: first,
					args: rest,
					environment: {
						PATH: process.env.PATH ?? '',
						HOME: folder.path,
						LANG: 'C.UTF-8',
						PYTHONHASHSEED: '0',
						PYTHONDONTWRITEBYTECODE: '1',
						...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }),
						...(process.env.SystemRoot === undefined ? {} : { SystemRoot: process.env.SystemRoot }),
					},
					folder: folder.path,
					inherited: this.#inherited,
					onEnd: folder.remove,
				},
				limits,
				signal,
			);
		});
	}

	async run(command: SandboxCommand & { readonly stdin?: string }, signal?: AbortSignal) {
		const { stdin = '' } = command;
		if (process.platform === 'win32') return runSandboxed(this.start(command, signal), stdin);
		return runSandboxed(this.#start(command, stdin, signal), '');
	}
}

export async function unsafeSandbox(): Promise<Sandbox> {
	return new UnsafeSandbox(await realpath(process.execPath), await findInterpreters(), await inheritedDescriptors());
}

import { type ChildProcess, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { inspectorPort, pythonLaunch } from '../../rewards/debugLaunch.ts';
import { rewardFileEnvironment } from '../../rewards/rewardFileEnvironment.ts';
import { findRewardPrograms } from '../../rewards/rewardPrograms.ts';
import type { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import { settings } from '../settings.ts';

/** A host program to run in a debugger. */
export interface DebuggedProgram {
	/** Absolute path of the file with user code; its extension determines the debugger. */
	readonly file: string;
	/** Name of the debug session. */
	readonly name: string;
	/** Arguments for the host program. */
	readonly args: readonly string[];
}

/** Maximum time for Node to start listening for a debugger, in milliseconds. */
const listenMs = 15_000;

/**
 * Runs the host programs in the debugger for a file's language. The caller has checked that the workspace is trusted.
 */
export class HostDebugger extends Disposable {
	readonly #environment: RewardEnvironment;
	/** Path of dist, which contains the host programs. */
	readonly #programs: string;
	readonly #children = new Set<ChildProcess>();

	constructor(environment: RewardEnvironment, programs: string) {
		super();
		this.#environment = environment;
		this.#programs = programs;
		this.register({
			dispose: () => {
				for (const child of this.#children) child.kill('SIGKILL');
			},
		});
	}

	/**
	 * Resolves when the debug session has ended. Fails with `unavailable` if there is no debugger or it does not start.
	 * @param started called once the session is running
	 */
	async run(program: DebuggedProgram, started: () => void): Promise<void> {
		if (program.file.endsWith('.py')) await this.#python(program, started);
		else await this.#node(program, started);
	}

	async #python({ file, name, args }: DebuggedProgram, started: () => void): Promise<void> {
		if (!hasDebugger('debugpy')) {
			throw new Failure(
				'unavailable',
				'No Python debugger is available in this editor.',
				'Install the Python Debugger extension (ms-python.debugpy).',
			);
		}
		const environment = await this.#environment.of(vscode.Uri.file(file));
		const { python } = await findRewardPrograms({ python: environment.REASONING_LAB_PYTHON ?? null });
		const env = { PYTHONHASHSEED: '0', ...rewardFileEnvironment(environment) };
		await session(file, { type: 'debugpy', name, env, ...pythonLaunch(python, this.#programs, { args }) }, started);
	}

	/**
	 * Starts Node and attaches the debugger. The editor's launch mode is not used because it modifies NODE_OPTIONS
	 * differently depending on the version.
	 */
	async #node({ file, name, args }: DebuggedProgram, started: () => void): Promise<void> {
		const environment = await this.#environment.of(vscode.Uri.file(file));
		const { node, nodeEnvironment } = await findRewardPrograms({ node: settings.nodePath() });
		const program = join(this.#programs, 'rewardHost.js');
		const flags = ['--inspect-brk=127.0.0.1:0', '--disable-warning=ExperimentalWarning'];
		const child = spawn(node, [...flags, program, ...args], {
			cwd: dirname(file),
			env: { ...rewardFileEnvironment({ ...process.env, ...environment }), ...nodeEnvironment },
			stdio: ['ignore', 'ignore', 'pipe'],
		});
		this.#children.add(child);
		try {
			const port = await listening(child);
			const attach = {
				type: 'node',
				request: 'attach',
				name,
				address: '127.0.0.1',
				port,
				continueOnAttach: true,
				autoAttachChildProcesses: false,
				skipFiles: ['<node_internals>/**', `${this.#programs}/**`],
				outFiles: [],
			};
			await session(file, attach, started);
		} finally {
			child.kill('SIGKILL');
			this.#children.delete(child);
		}
	}
}

function hasDebugger(type: string): boolean {
	return vscode.extensions.all.some((extension) => {
		const { contributes } = extension.packageJSON as { contributes?: { debuggers?: { type?: string }[] } };
		return contributes?.debuggers?.some((one) => one.type === type) ?? false;
	});
}

async function listening(child: ChildProcess): Promise<number> {
	let printed = '';
	return new Promise<number>((resolve, reject) => {
		const fail = (why: string) => reject(new Failure('unavailable', `Cannot start Node for debugging: ${why}`));
		const timer = setTimeout(() => fail(`no output for ${listenMs / 1000} s.`), listenMs);
		child.stderr?.setEncoding('utf8').on('data', (text: string) => {
			if (printed.length < 10_000) printed += text;
			const port = inspectorPort(printed);
			if (port === null) return;
			clearTimeout(timer);
			resolve(port);
		});
		child.on('error', (error) => fail(error.message));
		child.on('exit', () => fail(printed.trim().split('\n').at(-1) || 'it exited immediately.'));
	});
}

/** Runs a debug session until it ends. Fails with `unavailable` if it does not start. */
async function session(file: string, configuration: Record<string, unknown>, started: () => void): Promise<void> {
	const name = configuration.name as string;
	const mark = `${Date.now()}-${Math.random()}`;
	let resolveEnd = (): void => {};
	const ended = new Promise<void>((resolve) => {
		resolveEnd = resolve;
	});
	const listener = vscode.debug.onDidTerminateDebugSession((one) => {
		if (one.configuration.reasoningLabBatch === mark && one.parentSession === undefined) resolveEnd();
	});
	try {
		const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file));
		const whole = { ...configuration, reasoningLabBatch: mark } as unknown as vscode.DebugConfiguration;
		if (!(await vscode.debug.startDebugging(folder, whole))) {
			throw new Failure('unavailable', `The debug session "${name}" did not start.`, 'See the debug console.');
		}
		started();
		await ended;
	} finally {
		listener.dispose();
	}
}

/**
 * Adds a breakpoint at a 0-based line unless one already exists. Returns the breakpoint for later removal.
 * @param condition expression that must be true for the breakpoint to be hit
 */
export function ensureBreakpoint(file: string, line: number, condition?: string): vscode.Breakpoint | null {
	const uri = vscode.Uri.file(file);
	const here = vscode.debug.breakpoints.some(
		(one) =>
			one.enabled &&
			one instanceof vscode.SourceBreakpoint &&
			one.location.uri.fsPath === uri.fsPath &&
			one.location.range.start.line === line,
	);
	if (here) return null;
	const mark = new vscode.SourceBreakpoint(new vscode.Location(uri, new vscode.Position(line, 0)), true, condition);
	vscode.debug.addBreakpoints([mark]);
	return mark;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { DebugLaunch, inspectorPort, outcomeWords, pythonLaunch } from '../../rewards/debugLaunch.ts';
import { rewardFileEnvironment } from '../../rewards/rewardFileEnvironment.ts';
import { findRewardPrograms } from '../../rewards/rewardPrograms.ts';
import type { DebuggedRow, RewardDebugging } from '../rewards/rewardDebugging.ts';
import type { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import { rewardLanguage } from '../rewards/rewardFiles.ts';
import { findSignatures } from '../rewards/rewardSignatures.ts';
import type { VerifierPool } from '../rewards/verifierPool.ts';
import { settings } from '../settings.ts';
import { bodyLine } from './bodyLine.ts';

interface Needs {
	readonly pool: VerifierPool;
	readonly environment: RewardEnvironment;
	/** Path of dist, which contains the host programs. */
	readonly programs: string;
	readonly say: (sentence: string) => void;
}

/** Maximum time for Node to start listening for a debugger, in milliseconds. */
const listenMs = 15_000;

/** Debugs a reward on one row with the debugger for its language, in the same program that scores during training. */
export class RewardDebugger extends Disposable implements RewardDebugging {
	readonly #needs: Needs;
	readonly #children = new Set<ChildProcess>();

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register({
			dispose: () => {
				for (const child of this.#children) child.kill('SIGKILL');
			},
		});
	}

	/** Resolves once the session has started; see {@link debugged}. */
	async debug(asked: DebuggedRow): Promise<void> {
		const ended = this.debugged(asked);
		await ended.started;
		ended.done.catch((error: unknown) => this.#needs.say(Failure.from(error).toString()));
	}

	/**
	 * Starts a debug session. `started` resolves once the debugger is running, and `done` resolves to the result once the
	 * session has ended.
	 */
	debugged(asked: DebuggedRow): { readonly started: Promise<void>; readonly done: Promise<string | null> } {
		let resolveStart = (): void => {};
		const debugStarted = new Promise<void>((resolve) => {
			resolveStart = resolve;
		});
		const done = this.#run(asked, resolveStart);
		// `started` also rejects if the start fails.
		const started = Promise.race([debugStarted, done.then(() => undefined)]);
		return { started, done };
	}

	async #run(asked: DebuggedRow, started: () => void): Promise<string | null> {
		const { file, reward, row, label, before } = asked;
		// Throws in an untrusted workspace.
		const verifier = await this.#needs.pool.of(file);
		const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
		const what = { kind: 'data', dataset: false, cases: false } as const;
		const { data } = await verifier.plan({ file, folders, what });
		const launch = await DebugLaunch.write({ file, reward, row, context: data.context });
		const mark = await ensureBreakpoint(file, reward);
		try {
			if (rewardLanguage(file) === 'python') await this.#python(file, reward, launch, started);
			else await this.#node(file, reward, launch, started);
			const outcome = await launch.outcome();
			if (outcome === null) return null;
			const words = outcomeWords(outcome, label, before);
			this.#needs.say(words);
			return words;
		} finally {
			if (mark !== null) vscode.debug.removeBreakpoints([mark]);
			await launch.remove();
		}
	}

	async #python(file: string, reward: string, launch: DebugLaunch, started: () => void): Promise<void> {
		if (!hasDebugger('debugpy')) {
			throw new Failure(
				'unavailable',
				'No Python debugger is available in this editor.',
				'Install the Python Debugger extension (ms-python.debugpy).',
			);
		}
		const environment = await this.#needs.environment.of(vscode.Uri.file(file));
		const { python } = await findRewardPrograms({ python: environment.REASONING_LAB_PYTHON ?? null });
		const configuration = pythonLaunch(python, this.#needs.programs, launch);
		await session(
			file,
			{
				type: 'debugpy',
				name: `Debug ${reward}`,
				env: { PYTHONHASHSEED: '0', ...rewardFileEnvironment(environment) },
				...configuration,
			},
			started,
		);
	}

	/**
	 * Starts Node and attaches the debugger. The editor's launch mode is not used because it modifies NODE_OPTIONS
	 * differently depending on the version.
	 */
	async #node(file: string, reward: string, launch: DebugLaunch, started: () => void): Promise<void> {
		const environment = await this.#needs.environment.of(vscode.Uri.file(file));
		const { node, nodeEnvironment } = await findRewardPrograms({ node: settings.nodePath() });
		const program = join(this.#needs.programs, 'rewardHost.js');
		const flags = ['--inspect-brk=127.0.0.1:0', '--disable-warning=ExperimentalWarning'];
		const child = spawn(node, [...flags, program, ...launch.args], {
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
				name: `Debug ${reward}`,
				address: '127.0.0.1',
				port,
				continueOnAttach: true,
				autoAttachChildProcesses: false,
				skipFiles: ['<node_internals>/**', `${this.#needs.programs}/**`],
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

/** Adds a breakpoint at the first line of the reward unless there is one. Returns it for later removal. */
async function ensureBreakpoint(file: string, reward: string): Promise<vscode.Breakpoint | null> {
	const uri = vscode.Uri.file(file);
	const text = (await vscode.workspace.openTextDocument(uri)).getText();
	const signature = findSignatures(text, file).find(({ name }) => name === reward);
	if (signature === undefined) return null;
	const line = bodyLine(text, signature, rewardLanguage(file) === 'python' ? 'python' : 'script');
	const here = vscode.debug.breakpoints.some(
		(one) =>
			one.enabled &&
			one instanceof vscode.SourceBreakpoint &&
			one.location.uri.fsPath === uri.fsPath &&
			one.location.range.start.line === line,
	);
	if (here) return null;
	const mark = new vscode.SourceBreakpoint(new vscode.Location(uri, new vscode.Position(line, 0)));
	vscode.debug.addBreakpoints([mark]);
	return mark;
}

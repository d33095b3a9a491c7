import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { outcomeWords, writeDebugLaunch } from '../../rewards/debugLaunch.ts';
import type { DebuggedRow, RewardDebugging } from '../rewards/rewardDebugging.ts';
import type { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import { rewardLanguage } from '../rewards/rewardFiles.ts';
import { findSignatures } from '../rewards/rewardSignatures.ts';
import type { VerifierPool } from '../rewards/verifierPool.ts';
import { bodyLine } from './bodyLine.ts';
import { ensureBreakpoint, HostDebugger } from './debugSession.ts';

interface Needs {
	readonly pool: VerifierPool;
	readonly environment: RewardEnvironment;
	/** Path of dist, which contains the host programs. */
	readonly programs: string;
	readonly say: (sentence: string) => void;
}

/** Debugs a reward on one row with the debugger for its language, in the same program that scores during training. */
export class RewardDebugger extends Disposable implements RewardDebugging {
	readonly #needs: Needs;
	readonly #debugger: HostDebugger;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.#debugger = this.register(new HostDebugger(needs.environment, needs.programs));
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
		const launch = await writeDebugLaunch({ file, reward, row, context: data.context });
		const mark = await rewardBreakpoint(file, reward);
		try {
			await this.#debugger.run({ file, name: `Debug ${reward}`, args: launch.args }, started);
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
}

/** Adds a breakpoint at the first line of the reward unless one already exists. Returns it for later removal. */
async function rewardBreakpoint(file: string, reward: string): Promise<vscode.Breakpoint | null> {
	const text = (await vscode.workspace.openTextDocument(vscode.Uri.file(file))).getText();
	const signature = findSignatures(text, file).find(({ name }) => name === reward);
	if (signature === undefined) return null;
	return ensureBreakpoint(file, bodyLine(text, signature, rewardLanguage(file) === 'python' ? 'python' : 'script'));
}

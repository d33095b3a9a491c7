import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { isInRun } from '../../runs/insideRun.ts';
import { settingIds } from '../ids.ts';
import type { FileVerification } from './fileVerification.ts';
import type { VerificationView } from './inlineResults.ts';
import type { PythonInterpreter } from './pythonInterpreter.ts';
import { isRewardDocument } from './rewardDocuments.ts';
import { rewardLanguage } from './rewardFiles.ts';
import type { RewardLog } from './rewardLog.ts';
import { RewardSession, type SessionNeeds } from './rewardSession.ts';
import { rewardSettings } from './rewardSettings.ts';
import type { VerifierPool } from './verifierPool.ts';

/** Delay between closing the last reward file and terminating the processes, in milliseconds. */
const idleMs = 60_000;
/** Delay for batching events from a single change, in milliseconds. */
const restMs = 50;

interface Needs {
	readonly pool: VerifierPool;
	readonly python: PythonInterpreter;
	readonly log: RewardLog;
}

/**
 * Decides when reward files are verified: when first shown, on save, and when a file they depend on changes. Keeps the
 * state of each file. In an untrusted workspace, nothing is run, and a file in a run folder is only verified on request.
 */
export class RewardVerifications extends Disposable implements VerificationView {
	readonly #pool: VerifierPool;
	readonly #sessions = new Map<string, RewardSession>();
	readonly #changed = this.register(new Emitter<string>());
	readonly onDidChange = this.#changed.event;
	readonly #needs: SessionNeeds;
	/** Watchers for individual files, in any folder. */
	readonly #watched = new Map<string, vscode.Disposable>();
	/** Stamps of the watched files at the time of verification. */
	readonly #stamps = new Map<string, string>();
	readonly #soon = new Map<string, NodeJS.Timeout>();
	#idle: NodeJS.Timeout | null = null;

	constructor({ pool, python, log }: Needs) {
		super();
		this.#pool = pool;
		this.#needs = {
			verifier: (file) => pool.of(file),
			request: (file) => ({
				file,
				folders: workspaceFolders(),
				rows: rewardSettings.rows(vscode.Uri.file(file)),
				...savedText(file),
			}),
			limits: (file) => rewardSettings.limits(vscode.Uri.file(file)),
			coverage: () => rewardSettings.coverageMarks(),
			log: (file, reward, lines) => log.add(file, reward, lines),
		};
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.#look()));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#look()));
		this.register(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#edited(document)));
		this.register(vscode.workspace.onDidSaveTextDocument((document) => void this.#saved(document)));
		this.register(vscode.workspace.onDidCloseTextDocument((document) => this.#closed(document)));
		const recipes = this.register(vscode.workspace.createFileSystemWatcher('**/*.recipe.json', false, true, false));
		for (const event of [recipes.onDidCreate, recipes.onDidDelete]) this.register(event(() => this.#recipesChanged()));
		this.register(python.onDidChange(() => this.#restart((file) => rewardLanguage(file) === 'python')));
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.verifiedRows)) this.#restart(() => true);
			}),
		);
		this.register(
			toDisposable(() => {
				for (const timer of this.#soon.values()) clearTimeout(timer);
				if (this.#idle !== null) clearTimeout(this.#idle);
				for (const watcher of this.#watched.values()) watcher.dispose();
				for (const session of this.#sessions.values()) session.dispose();
			}),
		);
	}

	/** Checks the reward files that are already visible. */
	start(): void {
		this.#look();
	}

	get(file: string): FileVerification | undefined {
		return this.#sessions.get(file)?.state;
	}

	/** Returns the session for a reward file, creating one without results if necessary. */
	session(file: string): RewardSession {
		const known = this.#sessions.get(file);
		if (known !== undefined) return known;
		const session = new RewardSession(file, this.#needs);
		this.#sessions.set(file, session);
		session.onDidChange(() => {
			this.#watch();
			this.#changed.fire(file);
		});
		return session;
	}

	/** Files verified in this window. */
	get files(): readonly string[] {
		return [...this.#sessions.keys()];
	}

	/** Restarts processes after API keys or the sandbox setting have changed, so that later verifications use them. */
	restart(): void {
		for (const session of this.#sessions.values()) session.forgetProcess();
		this.#pool.clear();
	}

	#restart(applies: (file: string) => boolean): void {
		for (const [file, session] of this.#sessions) {
			if (!applies(file)) continue;
			session.forgetProcess();
			if (isOpen(file)) void session.verify();
		}
	}

	/** Verifies files that become visible for the first time. */
	#look(): void {
		if (!vscode.workspace.isTrusted) return;
		for (const { document } of vscode.window.visibleTextEditors) {
			if (!isRewardDocument(document)) continue;
			this.#keepAwake();
			const session = this.session(document.uri.fsPath);
			if (session.state.phase !== 'idle' || !rewardSettings.verifyOnOpen(document.uri)) continue;
			void this.#verifyOpened(document, session);
		}
	}

	async #verifyOpened(document: vscode.TextDocument, session: RewardSession): Promise<void> {
		if ((await isInRun(document.uri.fsPath)) || session.state.phase !== 'idle') return;
		session.setStale(document.isDirty);
		await session.verify();
	}

	#edited(document: vscode.TextDocument): void {
		if (!isRewardDocument(document)) return;
		this.#sessions.get(document.uri.fsPath)?.setStale(document.isDirty);
	}

	async #saved(document: vscode.TextDocument): Promise<void> {
		if (!vscode.workspace.isTrusted || document.uri.scheme !== 'file') return;
		const file = document.uri.fsPath;
		if (isRewardDocument(document) && rewardSettings.verifyOnSave(document.uri)) {
			const session = this.session(file);
			session.setStale(false);
			void session.verify();
		}
		// Ignore the file event that follows the editor's own save.
		if (!this.#watched.has(file)) return;
		this.#stamps.set(file, await stampOf(file));
		this.#dependents(file);
	}

	#closed(document: vscode.TextDocument): void {
		if (!isRewardDocument(document)) return;
		const session = this.#sessions.get(document.uri.fsPath);
		session?.setStale(false);
		session?.forgetProcess();
		this.#sleepLater();
	}

	#recipesChanged(): void {
		this.#pool.forgetData();
		for (const file of this.#sessions.keys()) if (isOpen(file)) this.#verifySoon(file);
	}

	/** Updates the watchers to match the sessions' dependencies. */
	#watch(): void {
		const wanted = new Set<string>();
		for (const { state } of this.#sessions.values()) for (const file of state.files) wanted.add(file);
		for (const [file, watcher] of this.#watched) {
			if (wanted.has(file)) continue;
			watcher.dispose();
			this.#watched.delete(file);
			this.#stamps.delete(file);
		}
		for (const file of wanted) {
			if (this.#watched.has(file)) continue;
			const pattern = new vscode.RelativePattern(vscode.Uri.file(dirname(file)), escapeGlob(basename(file)));
			const watcher = vscode.workspace.createFileSystemWatcher(pattern);
			const happened = () => void this.#happened(file);
			const listeners = [watcher.onDidChange, watcher.onDidCreate, watcher.onDidDelete].map((on) => on(happened));
			this.#watched.set(file, vscode.Disposable.from(watcher, ...listeners));
			void this.#firstStamp(file);
		}
	}

	/** A file is watched only once a verification has shown that it is used, so it may have changed by then. */
	async #firstStamp(file: string): Promise<void> {
		const info = await infoOf(file);
		if (!this.#watched.has(file) || this.#stamps.has(file)) return;
		this.#stamps.set(file, stampFrom(info));
		const dependents = [...this.#sessions.values()].filter(({ state }) => state.files.includes(file));
		// Date.now() returns whole milliseconds, but modification times have fractions.
		if (dependents.some(({ startedAt }) => (info?.mtimeMs ?? 0) >= startedAt + 1)) this.#dependents(file);
	}

	async #happened(file: string): Promise<void> {
		const stamp = await stampOf(file);
		if (this.disposed || this.#stamps.get(file) === stamp) return;
		this.#stamps.set(file, stamp);
		if (stamp === missing && !isOpen(file)) this.#forget(file);
		this.#dependents(file, true);
	}

	/** Discards the state of a deleted reward file. */
	#forget(file: string): void {
		const session = this.#sessions.get(file);
		if (session === undefined) return;
		this.#sessions.delete(file);
		session.dispose();
		this.#watch();
		this.#changed.fire(file);
	}

	/** Verifies the rewards that depend on a changed file. */
	#dependents(file: string, itself = false): void {
		if (!vscode.workspace.isTrusted) return;
		for (const [reward, session] of this.#sessions) {
			if (!session.state.files.includes(file) || (reward === file && !itself)) continue;
			if (isOpen(reward) && rewardSettings.verifyOnSave(vscode.Uri.file(reward))) this.#verifySoon(reward);
		}
	}

	#verifySoon(file: string): void {
		clearTimeout(this.#soon.get(file));
		this.#soon.set(
			file,
			setTimeout(() => {
				this.#soon.delete(file);
				void this.#sessions.get(file)?.verify();
			}, restMs),
		);
	}

	#keepAwake(): void {
		if (this.#idle !== null) clearTimeout(this.#idle);
		this.#idle = null;
	}

	/** Schedules idle processes to be terminated once no reward file is open. */
	#sleepLater(): void {
		this.#keepAwake();
		this.#idle = setTimeout(() => {
			if (!vscode.workspace.textDocuments.some(isRewardDocument)) this.restart();
		}, idleMs);
	}
}

/**
 * Returns the text of a file if it is open without unsaved changes. With the text, a plan (including the values of the
 * other rewards) can be reused as long as the comment that specifies the data is unchanged.
 */
function savedText(file: string): { readonly text?: string } {
	const document = vscode.workspace.textDocuments.find((open) => open.uri.fsPath === file);
	return document === undefined || document.isClosed || document.isDirty ? {} : { text: document.getText() };
}

function workspaceFolders(): string[] {
	return (vscode.workspace.workspaceFolders ?? [])
		.filter((folder) => folder.uri.scheme === 'file')
		.map((folder) => folder.uri.fsPath);
}

function isOpen(file: string): boolean {
	return vscode.workspace.textDocuments.some((document) => document.uri.fsPath === file && !document.isClosed);
}

const missing = 'missing';

const infoOf = (file: string) => stat(file).catch(() => null);

function stampFrom(info: Awaited<ReturnType<typeof infoOf>>): string {
	return info === null ? missing : `${info.ino}:${info.size}:${info.mtimeMs}`;
}

async function stampOf(file: string): Promise<string> {
	return stampFrom(await infoOf(file));
}

/** Escapes a file name for use in a glob pattern. */
function escapeGlob(name: string): string {
	return name.replace(/[[\]{}*?]/g, (c) => `[${c}]`);
}

import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { isInRun } from '../../runs/insideRun.ts';
import { exists } from '../exists.ts';
import type { RewardLog } from '../rewards/rewardLog.ts';
import { rewardSettings } from '../rewards/rewardSettings.ts';
import type { VerifierPool } from '../rewards/verifierPool.ts';
import { environmentFilePattern, isEnvironmentUri } from './environmentFiles.ts';
import { environmentLimits } from './environmentLimits.ts';
import { type EnvironmentNeeds, EnvironmentSession } from './environmentSession.ts';
import type { EnvironmentState } from './environmentState.ts';
import { isManifest } from './manifestFiles.ts';

/**
 * Decides when environment files are verified: when first shown, on save, and when a file that they depend on is saved.
 * In an untrusted workspace, nothing is run, and a file in a run folder is only verified on request.
 */
export class EnvironmentVerifications extends Disposable {
	readonly #sessions = new Map<string, EnvironmentSession>();
	readonly #changed = this.register(new Emitter<string>());
	/** Fires with the path of the file whose snapshot changed. */
	readonly onDidChange = this.#changed.event;
	readonly #needs: EnvironmentNeeds;

	constructor(pool: VerifierPool, log: RewardLog) {
		super();
		this.#needs = {
			hosts: (file, python) => pool.hosts(file, python),
			limits: environmentLimits,
			text: (file) => {
				const document = openDocument(file);
				return document === undefined || document.isDirty ? undefined : document.getText();
			},
			log: (file, lines) => {
				if (lines.length > 0) log.add(file, 'environment', lines);
			},
		};
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.#look()));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#look()));
		this.register(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#edited(document)));
		this.register(vscode.workspace.onDidSaveTextDocument((document) => this.#saved(document)));
		this.register(vscode.workspace.onDidCloseTextDocument((document) => void this.#closed(document)));
		const watcher = this.register(vscode.workspace.createFileSystemWatcher(environmentFilePattern, true, true));
		this.register(watcher.onDidDelete((uri) => void this.#forgetMissing(uri)));
		this.register(
			toDisposable(() => {
				for (const session of this.#sessions.values()) session.dispose();
			}),
		);
	}

	/** Checks the files that are already visible. */
	start(): void {
		this.#look();
	}

	get(file: string): EnvironmentState | undefined {
		return this.#sessions.get(file)?.state;
	}

	/** Returns the session for a file, creating one without results if necessary. */
	session(file: string): EnvironmentSession {
		const known = this.#sessions.get(file);
		if (known !== undefined) return known;
		const session = new EnvironmentSession(file, this.#needs);
		this.#sessions.set(file, session);
		session.onDidChange(() => this.#changed.fire(file));
		return session;
	}

	#look(): void {
		if (!vscode.workspace.isTrusted) return;
		for (const { document } of vscode.window.visibleTextEditors) {
			if (!isEnvironmentUri(document.uri)) continue;
			const session = this.session(document.uri.fsPath);
			if (session.state.phase !== 'idle' || !rewardSettings.verifyOnOpen(document.uri)) continue;
			void this.#verifyOpened(document, session);
		}
	}

	async #verifyOpened(document: vscode.TextDocument, session: EnvironmentSession): Promise<void> {
		if ((await isInRun(document.uri.fsPath)) || session.state.phase !== 'idle') return;
		session.setStale(document.isDirty);
		await session.verify();
	}

	#edited(document: vscode.TextDocument): void {
		if (isEnvironmentUri(document.uri)) this.#sessions.get(document.uri.fsPath)?.setStale(document.isDirty);
	}

	#saved(document: vscode.TextDocument): void {
		if (!vscode.workspace.isTrusted || document.uri.scheme !== 'file') return;
		const { fsPath } = document.uri;
		if (isEnvironmentUri(document.uri) && rewardSettings.verifyOnSave(document.uri)) {
			const session = this.session(fsPath);
			session.setStale(false);
			void session.verify();
		}
		for (const [file, session] of this.#sessions) {
			const depends = file !== fsPath && !isManifest(file) && session.state.verification?.files.includes(fsPath);
			if (depends && openDocument(file) && rewardSettings.verifyOnSave(vscode.Uri.file(file))) void session.verify();
		}
	}

	async #closed({ uri }: vscode.TextDocument): Promise<void> {
		const session = uri.scheme === 'file' ? this.#sessions.get(uri.fsPath) : undefined;
		if (session === undefined) return;
		session.setStale(false);
		session.forgetProcess();
		await this.#forgetMissing(uri);
	}

	/** Discards the results of a file that was deleted or renamed. */
	async #forgetMissing(uri: vscode.Uri): Promise<void> {
		const session = this.#sessions.get(uri.fsPath);
		// The file may have been replaced, in which case it is missing only briefly.
		if (session === undefined || openDocument(uri.fsPath) || (await exists(uri))) return;
		if (!this.#sessions.delete(uri.fsPath)) return;
		session.dispose();
		this.#changed.fire(uri.fsPath);
	}
}

function openDocument(file: string): vscode.TextDocument | undefined {
	return vscode.workspace.textDocuments.find((open) => open.uri.fsPath === file && !open.isClosed);
}

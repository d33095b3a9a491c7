import { randomBytes } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { writeFileAtomic } from '../../files/atomicFile.ts';
import { readJson } from '../../files/safeFile.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import {
	answerEnding,
	type EditorAnswer,
	type EditorRequest,
	editorRequestSchema,
	requestEnding,
	requestName,
} from '../../protocol/editorRequest.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import type { AgentViews } from './agentViews.ts';

interface Needs {
	/** Extension storage. */
	readonly storage: vscode.Uri;
	readonly notices: Pick<Notices, 'information'>;
	/** Opens an address. Unlike the command, it reports failures. */
	readonly openAddress: (address: string) => Promise<void>;
	readonly views: AgentViews;
	readonly log: (message: string) => void;
}

/**
 * Shows what agents request with the MCP server's `show_in_editor` tool. Each request also shows a notification with
 * a *Back* button; a command does the same once the notification is gone.
 */
export class EditorRequests extends Disposable {
	/** Folder of this window's requests. Created before `ready` resolves. */
	readonly folder: string;
	readonly ready: Promise<void>;
	readonly #needs: Needs;
	readonly #seen = new Set<string>();
	#watcher: FSWatcher | null = null;
	/** One at a time, in order. */
	#turn: Promise<void> = Promise.resolve();

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.folder = join(needs.storage.fsPath, 'editor', randomBytes(8).toString('hex'));
		this.ready = this.#start();
		this.register(
			toDisposable(() => {
				this.#watcher?.close();
				void rm(this.folder, { recursive: true, force: true }).catch(() => undefined);
			}),
		);
	}

	async #start(): Promise<void> {
		try {
			await mkdir(this.folder, { recursive: true, mode: 0o700 });
			if (this.disposed) return;
			this.#watcher = watch(this.folder, (_, name) => {
				const id = name?.endsWith(requestEnding) ? name.slice(0, -requestEnding.length) : '';
				if (!requestName.test(id) || this.#seen.has(id)) return;
				this.#seen.add(id);
				this.#turn = this.#turn.then(() => this.#answer(id));
			});
			this.#watcher.on('error', (error) => this.#needs.log(`editor requests: ${error.message}`));
		} catch (error) {
			this.#needs.log(`editor requests: ${Failure.from(error)}`);
		}
	}

	async #answer(id: string): Promise<void> {
		let answer: EditorAnswer = { failure: null };
		try {
			const value = await readJson(this.folder, `${id}${requestEnding}`);
			await this.#show(decodeOrThrow(editorRequestSchema, value, 'The request'));
		} catch (error) {
			answer = { failure: Failure.from(error).toString() };
		}
		await writeFileAtomic(join(this.folder, `${id}${answerEnding}`), JSON.stringify(answer)).catch((error: unknown) =>
			this.#needs.log(`editor requests: ${Failure.from(error)}`),
		);
	}

	async #show(request: EditorRequest): Promise<void> {
		await this.#needs.views.show(async () => {
			if (request.show === 'address') return this.#needs.openAddress(request.address);
			const folders = request.folders.map((folder) => vscode.Uri.file(folder));
			return vscode.commands.executeCommand(commandIds.compareRuns, folders[0], folders);
		});
		const back = () => this.#needs.views.back();
		void this.#needs.notices.information('An agent opened this view.', [{ title: 'Back', run: back }]);
	}
}

import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import { plainSentence } from './runView.ts';

/** An action offered by a notification. */
export interface NoticeAction {
	readonly title: string;
	run(): unknown;
}

const ask = {
	information: (text: string, items: readonly NoticeAction[]) => vscode.window.showInformationMessage(text, ...items),
	warning: (text: string, items: readonly NoticeAction[]) => vscode.window.showWarningMessage(text, ...items),
	error: (text: string, items: readonly NoticeAction[]) => vscode.window.showErrorMessage(text, ...items),
};

export interface Notice {
	readonly level: keyof typeof ask;
	readonly text: string;
	readonly actions: readonly string[];
}

/**
 * Shows failures as notifications: a sentence with what failed and where, a suggested fix, and buttons. Details go to
 * the log.
 */
export class Notices extends Disposable {
	readonly #log: vscode.LogOutputChannel;
	readonly #shown = this.register(new Emitter<Notice>());
	/** Fires with the text of each notification shown. */
	readonly onDidShow = this.#shown.event;

	constructor(log: vscode.LogOutputChannel) {
		super();
		this.#log = log;
	}

	/** Shows a failure without waiting for a response. Cancellations are not shown. */
	failure(error: unknown, actions: readonly NoticeAction[] = []): void {
		const failure = Failure.from(error);
		if (failure.reason === 'cancelled') return;
		this.#log.error(failure.toString(), failure.cause ?? failure.stack ?? '');
		const all = actions.length > 0 ? actions : [{ title: 'Show Log', run: () => this.#log.show() }];
		void this.#show('error', failure.toString(), all);
	}

	/** Shows a message that needs no response; resolves when it is dismissed or an action is chosen. */
	information(text: string, actions: readonly NoticeAction[] = []): Promise<void> {
		return this.#show('information', text, actions);
	}

	warning(text: string, actions: readonly NoticeAction[] = []): Promise<void> {
		return this.#show('warning', text, actions);
	}

	error(text: string, actions: readonly NoticeAction[] = []): Promise<void> {
		return this.#show('error', text, actions);
	}

	async #show(level: keyof typeof ask, words: string, actions: readonly NoticeAction[]): Promise<void> {
		// The failure may quote untrusted text from a run folder, a recipe, or a log.
		const text = plainSentence(words);
		this.#shown.fire({ level, text, actions: actions.map((action) => action.title) });
		const chosen = await ask[level](text, actions);
		try {
			await chosen?.run();
		} catch (error) {
			this.failure(error);
		}
	}
}

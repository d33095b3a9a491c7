import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { isTranscript } from './commands/transcriptCommands.ts';
import { contextKeys } from './ids.ts';

/** Sets a context key while the active editor shows a chat log, so its title bar offers the inspector. */
export class TranscriptContext extends Disposable {
	#said: boolean | null = null;

	constructor() {
		super();
		this.register(vscode.window.onDidChangeActiveTextEditor((editor) => this.#say(editor)));
		this.#say(vscode.window.activeTextEditor);
	}

	#say(editor: vscode.TextEditor | undefined): void {
		const document = editor?.document;
		const may = document?.uri.scheme === 'file' && /\.(?:txt|jsonl?|ndjson|log)$/i.test(document.uri.path);
		const is = may === true && document !== undefined && isTranscript(document);
		if (is === this.#said) return;
		this.#said = is;
		void vscode.commands.executeCommand('setContext', contextKeys.activeTranscript, is);
	}
}

import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';

/** Maximum number of lines logged per verification. Needed because a reward can print any amount of output. */
const maxLines = 500;
const longestLine = 2000;

/** Output of user code during verification. All files share one output channel, created on first output. */
export class RewardLog extends Disposable {
	readonly #name: string;
	#channel: vscode.OutputChannel | null = null;

	constructor(name = 'Reasoning Lab Rewards') {
		super();
		this.#name = name;
	}

	add(file: string, reward: string, lines: readonly string[]): void {
		const name = `${vscode.workspace.asRelativePath(file)} ${reward}`;
		const shown = lines.slice(0, maxLines).map((line) => `${line.slice(0, longestLine)}`);
		const more = lines.length > maxLines ? [`(${lines.length - maxLines} more lines)`] : [];
		this.#open().appendLine(`[${new Date().toLocaleTimeString()}] ${name}\n${[...shown, ...more].join('\n')}`);
	}

	show(): void {
		this.#open().show(true);
	}

	#open(): vscode.OutputChannel {
		this.#channel ??= this.register(vscode.window.createOutputChannel(this.#name));
		return this.#channel;
	}
}

import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';

/** Of one verification; a reward may print as much as it likes. */
const maxLines = 500;
const longestLine = 2000;

/** What rewards print while they are verified: one output channel for all of them, made when the first one speaks. */
export class RewardLog extends Disposable {
	#channel: vscode.OutputChannel | null = null;

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
		this.#channel ??= this.register(vscode.window.createOutputChannel('Reasoning Lab Rewards'));
		return this.#channel;
	}
}

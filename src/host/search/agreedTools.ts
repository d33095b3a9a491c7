import { basename } from 'node:path';
import * as vscode from 'vscode';
import { decode, type Schema } from '../../protocol/decode.ts';
import { type SearchSpec, searchSpecSchema } from '../../protocol/searchSpec.ts';
import { displayText } from '../runView.ts';
import type { SearchView } from './searchStore.ts';
import { toolWords } from './toolsQuestion.ts';

const begunKey = 'research.begun';
/** Logs that are remembered. */
const mostBegun = 500;

/**
 * Whose tools an agent may use. A log says which tools it was begun with, and whoever wrote the log may not be the person who
 * lets it go on: the tools of a log that was not begun in this workspace are agreed to first.
 */
export class AgreedTools {
	readonly #memory: vscode.Memento;

	constructor(memory: vscode.Memento) {
		this.#memory = memory;
	}

	/** The person has chosen the tools of this log. */
	async add(log: string): Promise<void> {
		await this.#memory.update(begunKey, [...this.#begun.slice(-mostBegun), log]);
	}

	/** Whether the tools that a log names may be used again; asks where that is not known. */
	async mayGoOn({ log, start }: Pick<SearchView, 'log' | 'start'>): Promise<boolean> {
		const decoded = decode(searchSpecSchema as Schema<SearchSpec>, start.spec);
		const tools = decoded.ok ? decoded.value.tools : [];
		if (tools.length === 0 || this.#begun.includes(log)) return true;
		const answer = await vscode.window.showWarningMessage(
			`${displayText(basename(log))} was not begun in this workspace. Going on lets it use ${toolWords(tools)}, and sends what it finds to the policy ${displayText(start.policy.name, 80)}.`,
			{ modal: true },
			{ title: 'Go On' },
		);
		if (answer === undefined) return false;
		await this.add(log);
		return true;
	}

	get #begun(): string[] {
		const stored: unknown = this.#memory.get(begunKey);
		return Array.isArray(stored) ? stored.filter((entry) => typeof entry === 'string') : [];
	}
}

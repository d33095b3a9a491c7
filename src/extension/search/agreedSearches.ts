import { basename } from 'node:path';
import * as vscode from 'vscode';
import { decode, type Schema } from '../../protocol/decode.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { type ScorerSpec, type SearchSpec, searchSpecSchema, withoutKeyNames } from '../../protocol/searchSpec.ts';
import { isOwnSearch } from '../../runs/searchSeal.ts';
import { displayText } from '../runView.ts';
import type { SearchView } from './searchStore.ts';
import { toolWords } from './toolsQuestion.ts';

const begunKey = 'research.begun';
/** Logs that are remembered. */
const maxBegun = 500;

export interface AgreedSpec {
	readonly spec: SearchSpec;
	/** This user has started the search. */
	readonly own: boolean;
}

/**
 * Which searches may continue with what their logs name. A log says which policy, scorers and tools it was started with, and whoever
 * wrote the log may not be the person who lets it continue: what a log of somebody else names is agreed to first, and the names of
 * keys in it are left out.
 */
export class AgreedSearches {
	readonly #memory: vscode.Memento;

	constructor(memory: vscode.Memento) {
		this.#memory = memory;
	}

	/** The person has chosen what this log names. */
	async add(log: string): Promise<void> {
		await this.#memory.update(begunKey, [...this.#begun.slice(-maxBegun), log]);
	}

	/**
	 * What a search may continue with; asks where the log is not this user's own.
	 * @returns null: not with what the log names; undefined: the log names nothing that can be read, which whoever uses it says
	 */
	async specOf({ log, start }: Pick<SearchView, 'log' | 'start'>): Promise<AgreedSpec | null | undefined> {
		const decoded = decode(searchSpecSchema as Schema<SearchSpec>, start.spec);
		if (!decoded.ok) return undefined;
		if (await isOwnSearch(start)) return { spec: decoded.value, own: true };
		const spec = withoutKeyNames(decoded.value);
		if (this.#begun.includes(log)) return { spec, own: false };
		const answer = await vscode.window.showWarningMessage(
			`You did not start ${displayText(basename(log))} on this machine. Continuing lets it use ${reachWords(spec).join('; ')}.`,
			{ modal: true },
			{ title: 'Continue' },
		);
		if (answer === undefined) return null;
		await this.add(log);
		return { spec, own: false };
	}

	get #begun(): string[] {
		const stored: unknown = this.#memory.get(begunKey);
		return Array.isArray(stored) ? stored.filter((entry) => typeof entry === 'string') : [];
	}
}

/** What of this machine and of others a search reaches. */
function reachWords({ policy, guide, judge, tools }: SearchSpec): string[] {
	const scorers = [guide, judge].flatMap((one) => (one === null ? [] : scorerWords(one)));
	return [policyWords(policy), ...scorers, ...(tools.length === 0 ? [] : [toolWords(tools)])];
}

function policyWords(policy: PolicySpec): string {
	switch (policy.kind) {
		case 'openai':
			return `the server ${displayText(policy.baseUrl, 120)}`;
		case 'checkpoint':
			return `the checkpoint ${displayText(policy.folder, 200)}`;
		case 'engine':
			return `the engine of the run ${displayText(policy.run, 200)}`;
		case 'scripted':
			return `the script ${displayText(policy.file, 200)}`;
	}
}

function scorerWords(scorer: ScorerSpec): string[] {
	if (scorer.use === 'judge') return [`as judge ${policyWords(scorer.policy)}`];
	if (scorer.use === 'reward' && typeof scorer.reward === 'object') {
		return [`the reward ${displayText(JSON.stringify(scorer.reward), 200)}`];
	}
	if (scorer.use === 'process-reward') return [`a reward model ${displayText(JSON.stringify(scorer.settings), 200)}`];
	return [];
}

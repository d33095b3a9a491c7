import { basename } from 'node:path';
import * as vscode from 'vscode';
import { decode, type Schema } from '../../protocol/decode.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { type ScorerSpec, type SearchSpec, searchSpecSchema, withoutKeyNames } from '../../protocol/searchSpec.ts';
import type { ComparisonFile } from '../../protocol/strategyComparison.ts';
import { isOwnSearch } from '../../runs/searchSeal.ts';
import { displayText } from '../runView.ts';
import type { SearchView } from './searchStore.ts';
import { toolWords } from './toolsQuestion.ts';

const startedKey = 'research.begun';
/** Maximum number of logs remembered. */
const maxStarted = 500;

export interface AgreedSpec {
	readonly spec: SearchSpec;
	/** Whether this user started the search. */
	readonly own: boolean;
}

/**
 * Decides which searches may continue with the spec in their logs. A log specifies the policy, scorers, and tools of
 * its search, and its author might not be the user who continues it. For logs from others, the user must consent first,
 * and API key names in the log are ignored.
 */
export class AgreedSearches {
	readonly #memory: vscode.Memento;

	constructor(memory: vscode.Memento) {
		this.#memory = memory;
	}

	/** Records that the user has chosen the spec in this log. */
	async add(log: string): Promise<void> {
		await this.#memory.update(startedKey, [...this.#started.slice(-maxStarted), log]);
	}

	/**
	 * Returns the spec a search may continue with, asking for consent if the log was not created by this user.
	 * @returns null if the user declined, or undefined if the log has no readable spec, which the caller must report
	 */
	async specOf({ log, start }: Pick<SearchView, 'log' | 'start'>): Promise<AgreedSpec | null | undefined> {
		const decoded = decode(searchSpecSchema as Schema<SearchSpec>, start.spec);
		if (!decoded.ok) return undefined;
		if (await isOwnSearch(start)) return { spec: decoded.value, own: true };
		const spec = withoutKeyNames(decoded.value);
		if (this.#started.includes(log)) return { spec, own: false };
		const answer = await vscode.window.showWarningMessage(
			`You did not start ${displayText(basename(log))} on this machine. Continuing allows it to use ${reachWords(spec, [spec.guide, spec.judge]).join('; ')}.`,
			{ modal: true },
			{ title: 'Continue' },
		);
		if (answer === undefined) return null;
		await this.add(log);
		return { spec, own: false };
	}

	/** Returns whether a comparison may continue with its specification, asking for consent unless this user started it. */
	async comparison(folder: string, { spec, created, seal }: ComparisonFile): Promise<boolean> {
		const sealed = { id: String(created), spec, ...(seal === undefined ? {} : { seal }) };
		if ((await isOwnSearch(sealed)) || this.#started.includes(folder)) return true;
		const scorers = spec.strategies.flatMap(({ guide, judge }) => [guide, judge]);
		const uses = [...new Set(reachWords(spec, scorers))];
		const shown = uses.length > 8 ? [...uses.slice(0, 8), `${uses.length - 8} more`] : uses;
		const answer = await vscode.window.showWarningMessage(
			`You did not start the comparison ${displayText(basename(folder))} on this machine. Continuing allows it to use ${shown.join('; ')}.`,
			{ modal: true },
			{ title: 'Continue' },
		);
		if (answer === undefined) return false;
		await this.add(folder);
		return true;
	}

	get #started(): string[] {
		const stored: unknown = this.#memory.get(startedKey);
		return Array.isArray(stored) ? stored.filter((entry) => typeof entry === 'string') : [];
	}
}

/** Describes the local and remote resources that a search or comparison uses. */
function reachWords(
	{ policy, tools = [], environment }: Pick<SearchSpec, 'policy' | 'environment'> & Partial<Pick<SearchSpec, 'tools'>>,
	scorers: readonly (ScorerSpec | null)[],
): string[] {
	const scoring = scorers.flatMap((one) => (one === null ? [] : scorerWords(one)));
	const place = environment?.file ?? environment?.package ?? environment?.server;
	const code = place === undefined ? [] : [`the environment ${displayText(place, 200)} (runs its code)`];
	return [policyWords(policy), ...scoring, ...code, ...(tools.length === 0 ? [] : [toolWords(tools)])];
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
	if (scorer.use === 'judge') return [`${policyWords(scorer.policy)} as the judge`];
	if (scorer.use === 'reward' && typeof scorer.reward === 'object') {
		return [`the reward ${displayText(JSON.stringify(scorer.reward), 200)}`];
	}
	if (scorer.use === 'process-reward') return [`a reward model ${displayText(JSON.stringify(scorer.settings), 200)}`];
	return [];
}

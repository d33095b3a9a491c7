import { basename, dirname } from 'node:path';
import { Disposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import type { RewardCase } from '../../../core/export/rewardCase.ts';
import { findingCase } from '../../../core/reward/audit/findingCase.ts';
import { textPattern } from '../../../core/trace/findText.ts';
import type { AuditReport } from '../../../protocol/audit.ts';
import type { ComparedRow, Comparison } from '../../../protocol/comparison.ts';
import { noStep } from '../../../protocol/rolloutLine.ts';
import type { Verification, VerifiedRow } from '../../../protocol/verification.ts';
import type {
	ComparedSummary,
	ResultContent,
	ResultCopyPart,
	ResultEvent,
	ResultPart,
	ResultPlace,
	ResultStatus,
	RowSummary,
	RowTexts,
} from '../../../protocol/verificationMessages.ts';
import {
	auditContent,
	comparedSummaries,
	comparisonContent,
	rowSummary,
	rowsAtOnce,
	shownPart,
	verificationContent,
} from './verificationContent.ts';
import type { VerificationSource, VerificationState } from './verificationSource.ts';

/** Maximum time a search may block the extension host before it yields, in milliseconds. */
const sliceMs = 4;

/** A result shown in the panel, and the data for its messages. */
type Shown =
	| { readonly view: 'verification'; readonly verification: Verification; readonly part: ResultPart }
	| { readonly view: 'audit'; readonly report: AuditReport }
	| { readonly view: 'comparison'; readonly comparison: Comparison; readonly summaries: readonly ComparedSummary[] };

export interface VerificationSessionOptions {
	readonly place: ResultPlace;
	/** Display name of the file. */
	readonly fileLabel: string;
	readonly source: VerificationSource;
	readonly post: (event: ResultEvent) => void;
	/** Part of a verification to show first. */
	readonly part?: ResultPart;
}

/** Identifies the rollout that a row came from. */
export interface RolloutOfRow {
	readonly run: string;
	readonly step: number;
	readonly group: number;
}

/** The state and messages of a results panel, independent of VS Code. */
export class VerificationSession extends Disposable {
	readonly #options: VerificationSessionOptions;
	#part: ResultPart | null;
	#shown: Shown | null = null;
	/** Objects that the current result was computed from; if they differ, so does the result. */
	#made: readonly unknown[] = [];
	#result = 0;
	#awake = false;
	#search: AbortController | null = null;

	constructor(options: VerificationSessionOptions) {
		super();
		this.#options = options;
		this.#part = options.part ?? null;
		this.register(options.source.onDidChange(() => this.#look()));
		this.register({ dispose: () => this.#search?.abort() });
	}

	/** Called when the webview has started; sends it the complete state. */
	begin(): void {
		this.#awake = true;
		this.#update(this.#options.source.state);
		this.#sendSnapshot();
	}

	choosePart(part: ResultPart): void {
		this.#part = part;
		this.#look();
	}

	/** Part of the verification currently shown. */
	get part(): ResultPart | null {
		return this.#shown?.view === 'verification' ? this.#shown.part : null;
	}

	/** Returns rows starting at a position, up to the limit per message. */
	rows(result: number, from: number): readonly (RowSummary | ComparedSummary)[] {
		const shown = this.#expect(result);
		if (shown.view === 'audit') throw noRow();
		return shown.view === 'comparison'
			? shown.summaries.slice(from, from + rowsAtOnce)
			: shown.verification.rows.slice(from, from + rowsAtOnce).map(rowSummary);
	}

	/** Returns a row with its full text. */
	texts(result: number, index: number): RowTexts {
		const row = this.row(result, index);
		const place = 'place' in row ? row.place : undefined;
		return {
			prompt: row.prompt,
			completion: row.completion,
			answer: row.answer,
			error: errorOf(row),
			place: place === undefined ? null : { name: basename(place.file), line: place.line },
			rollout: this.rollout(result, index) !== null,
		};
	}

	/** Returns a row. Fails with `mismatch` if the result was replaced and with `missing` if the row does not exist. */
	row(result: number, index: number): VerifiedRow | ComparedRow {
		const row = rowsOf(this.#expect(result))[index];
		if (row === undefined) throw noRow();
		return row;
	}

	/** Returns a row's rollout, or null if the row does not come from a run. */
	rollout(result: number, index: number): RolloutOfRow | null {
		const shown = this.#expect(result);
		const row = this.row(result, index);
		if (shown.view === 'comparison') {
			const { step, group } = row as ComparedRow;
			return { run: shown.comparison.run, step: step ?? noStep, group };
		}
		const { rollout, place } = row as VerifiedRow;
		if (rollout === undefined || place === undefined) return null;
		return { run: dirname(dirname(place.file)), step: rollout.step, group: rollout.group };
	}

	/** Returns a row as text for the clipboard or a document. */
	text(result: number, index: number, part: ResultCopyPart): string {
		const row = this.row(result, index);
		return part === 'json' ? JSON.stringify(row, null, '\t') : row[part];
	}

	/** Returns the full completion for a piece of evidence. */
	evidence(result: number, finding: number, index: number): { readonly name: string; readonly completion: string } {
		const shown = this.#expect(result);
		const found = shown.view === 'audit' ? shown.report.findings[finding] : undefined;
		const evidence = found?.evidence[index];
		if (found === undefined || evidence === undefined) throw noRow();
		return { name: `${found.title}, ${index + 1}`, completion: evidence.completion };
	}

	/**
	 * Returns a piece of evidence as a labeled case (`findingCase`). Fails with `unsupported` if the evidence does not
	 * contain everything that was scored.
	 */
	caseOf(result: number, finding: number, index: number): RewardCase {
		const shown = this.#expect(result);
		if (shown.view !== 'audit') throw noRow();
		const found = shown.report.findings[finding];
		if (found?.evidence[index] === undefined) throw noRow();
		const made = findingCase(found, index, shown.report.reward);
		if (made !== null) return made;
		throw new Failure(
			'unsupported',
			'This evidence cannot be saved as a labeled case because it was truncated or scored as messages.',
			'Choose another row from this finding.',
		);
	}

	/** Returns the rows whose text contains a string, ignoring case. A new search cancels the previous one. */
	async search(result: number, text: string): Promise<number[]> {
		this.#search?.abort();
		const abort = new AbortController();
		this.#search = abort;
		const rows = rowsOf(this.#expect(result));
		const pattern = new RegExp(textPattern(text).source, 'iu');
		const found: number[] = [];
		let since = performance.now();
		for (const [i, row] of rows.entries()) {
			const texts = [row.completion, row.prompt, row.answer ?? '', 'label' in row ? row.label : ''];
			if (texts.some((one) => pattern.test(one))) found.push(i);
			if (performance.now() - since < sliceMs) continue;
			await new Promise((resolve) => setImmediate(resolve));
			if (abort.signal.aborted) throw new Failure('cancelled', 'The search was canceled.');
			since = performance.now();
		}
		return found;
	}

	#expect(result: number): Shown {
		if (this.#shown === null || result !== this.#result) {
			throw new Failure('mismatch', 'The result has been replaced by a newer one.', 'Open the row again.');
		}
		return this.#shown;
	}

	#look(): void {
		if (this.disposed) return;
		const state = this.#options.source.state;
		const before = this.#result;
		this.#update(state);
		if (!this.#awake) return;
		if (this.#result !== before) this.#sendSnapshot();
		else this.#options.post({ type: 'status', status: this.#status(state) });
	}

	/** Updates to the latest state. The result keeps its number as long as its objects are unchanged. */
	#update({ shown }: VerificationState): void {
		const part = shown.view === 'verification' ? shownPart(shown.results, this.#part) : null;
		const made: readonly unknown[] =
			shown.view === 'verification'
				? [part === null ? null : (shown.results?.[part] ?? null), part, shown.caseFaults]
				: [shown.view === 'audit' ? shown.report : shown.comparison];
		if (made.length === this.#made.length && made.every((one, i) => one === this.#made[i])) return;
		const nothing = this.#shown === null && made[0] === null;
		this.#made = made;
		if (nothing) return;
		this.#result++;
		this.#shown = shownOf(shown, part);
	}

	#status({ phase, failure, stale }: VerificationState): ResultStatus {
		return {
			phase,
			failure: failure === null ? null : { message: failure.message, action: failure.action ?? null },
			stale,
			result: this.#shown === null ? 0 : this.#result,
		};
	}

	#sendSnapshot(): void {
		const { place, fileLabel, post, source } = this.#options;
		const { state } = source;
		post({ type: 'snapshot', place, fileLabel, status: this.#status(state), content: this.#content(state) });
	}

	#content({ shown: now }: VerificationState): ResultContent | null {
		const shown = this.#shown;
		switch (shown?.view) {
			case undefined:
				return null;
			case 'audit':
				return auditContent(shown.report);
			case 'comparison':
				return comparisonContent(shown.comparison, shown.summaries);
			case 'verification': {
				if (now.view !== 'verification' || now.results === null) return null;
				const { results, caseFaults } = now;
				return verificationContent(shown.verification, { part: shown.part, results, caseFaults });
			}
		}
	}
}

function shownOf(shown: VerificationState['shown'], part: ResultPart | null): Shown | null {
	switch (shown.view) {
		case 'audit':
			return shown.report === null ? null : { view: 'audit', report: shown.report };
		case 'comparison': {
			const { comparison } = shown;
			return comparison === null ? null : { view: 'comparison', comparison, summaries: comparedSummaries(comparison) };
		}
		case 'verification': {
			const verification = part === null ? null : (shown.results?.[part] ?? null);
			return part === null || verification === null ? null : { view: 'verification', verification, part };
		}
	}
}

function rowsOf(shown: Shown): readonly (VerifiedRow | ComparedRow)[] {
	if (shown.view === 'audit') return [];
	return shown.view === 'comparison' ? shown.comparison.rows : shown.verification.rows;
}

function errorOf({ error }: VerifiedRow | ComparedRow): RowTexts['error'] {
	if (error === undefined) return null;
	if (typeof error === 'string') return { message: error, stack: null, line: null };
	return { message: error.message, stack: error.stack ?? null, line: error.line ?? null };
}

const noRow = () => new Failure('missing', 'The result does not contain this row.', 'Refresh the rows.');

import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { extremeRows } from '../../core/reward/verification/extremeRows.ts';
import type { Verification, VerifiedRow } from '../../protocol/verification.ts';
import { traceLanguage } from '../ids.ts';
import { displayText } from '../runView.ts';
import { resultsOf } from './fileVerification.ts';
import type { VerificationView } from './inlineResults.ts';
import { plainMarkdown } from './plainMarkdown.ts';
import { rewardSelector, signaturesOf } from './rewardDocuments.ts';
import { statisticsRows, valueWords } from './rewardWords.ts';

/** Maximum length of a completion in a hover, in characters. */
const longestExcerpt = 700;

/**
 * Hovers with statistics and the best and worst rows, shown for a reward's name and the inline text after its
 * signature.
 */
export class RewardHovers extends Disposable implements vscode.HoverProvider {
	readonly #view: VerificationView;

	constructor(view: VerificationView) {
		super();
		this.#view = view;
		this.register(vscode.languages.registerHoverProvider(rewardSelector, this));
	}

	provideHover(document: vscode.TextDocument, position: vscode.Position): vscode.Hover | undefined {
		for (const { name, line, column, endLine } of signaturesOf(document)) {
			const over = new vscode.Range(line, column, line, column + name.length);
			const behind = position.line === endLine && position.character >= document.lineAt(endLine).range.end.character;
			if (!over.contains(position) && !behind) continue;
			const state = this.#view.get(document.uri.fsPath);
			const texts = resultsOf(state?.results.get(name)).map(describe);
			if (state?.phase === 'failed' && state.failure !== null) {
				texts.unshift(
					new vscode.MarkdownString().appendMarkdown(plainMarkdown(displayText(state.failure.toString(), 600))),
				);
			}
			return texts.length === 0 ? undefined : new vscode.Hover(texts, behind ? undefined : over);
		}
		return undefined;
	}
}

/** All content from data or user code is plain text, without links, images, or HTML. */
function describe(verification: Verification): vscode.MarkdownString {
	const plain = (text: string, longest: number) => plainMarkdown(displayText(text, longest));
	const text = new vscode.MarkdownString();
	const from = verification.data.map((source) => displayText(source, 200)).join(', ');
	text.appendMarkdown(`**${plain(verification.reward, 80)}**`);
	if (from !== '') text.appendMarkdown(` on ${plainMarkdown(from)}`);
	// Show rows before statistics, because most statistics are already in the inline text and hovers have little space.
	const failed = verification.rows.find((row) => row.error !== undefined);
	if (failed !== undefined) addRow(text, 'First error', failed);
	const missed = verification.rows.find((row) => row.passed === false);
	if (missed !== undefined && missed !== failed) addRow(text, 'First failing case', missed);
	const { best, worst } = extremeRows(verification.rows, 1);
	for (const row of best) addRow(text, 'Best', row);
	for (const row of worst) addRow(text, 'Worst', row);
	text.appendMarkdown('\n\n');
	for (const [name, value] of statisticsRows(verification)) {
		text.appendMarkdown(`${plainMarkdown(name)}: ${plainMarkdown(value)}  \n`);
	}
	for (const remark of verification.remarks) text.appendMarkdown(`\n\n_Note:_ ${plain(remark, 400)}\n`);
	return text;
}

function addRow(text: vscode.MarkdownString, what: string, row: VerifiedRow): void {
	const words = `${valueWords(row)}, ${displayText(row.label, 120)}`;
	text.appendMarkdown(`\n\n**${plainMarkdown(what)}**: ${plainMarkdown(words)}`);
	if (row.prompt !== '') text.appendMarkdown(` · ${plainMarkdown(displayText(row.prompt, 200))}`);
	text.appendMarkdown('\n\n');
	text.appendCodeblock(excerpt(row.completion), traceLanguage);
}

function excerpt(completion: string): string {
	const clean = completion.replace(/[^\P{Cc}\n\t]+|\p{Cf}+/gu, ' ');
	if (clean.length <= longestExcerpt) return clean;
	const half = longestExcerpt / 2;
	return `${clean.slice(0, half)}\n…\n${clean.slice(-half)}`;
}

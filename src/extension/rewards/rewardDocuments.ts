import type * as vscode from 'vscode';
import { isRewardUri, rewardFilePattern } from './rewardFiles.ts';
import { findSignatures, type RewardSignature } from './rewardSignatures.ts';

/** Documents that the editor's features for rewards are for. */
export const rewardSelector: vscode.DocumentSelector = { scheme: 'file', pattern: rewardFilePattern };

export function isRewardDocument(document: vscode.TextDocument): boolean {
	return isRewardUri(document.uri);
}

const known = new WeakMap<vscode.TextDocument, { version: number; signatures: readonly RewardSignature[] }>();

/** A text that is longer is no reward that a person wrote. */
const longestText = 1_000_000;

/** The rewards of an open document, by its present text. */
export function signaturesOf(document: vscode.TextDocument): readonly RewardSignature[] {
	const seen = known.get(document);
	if (seen?.version === document.version) return seen.signatures;
	const text = document.getText();
	const signatures = text.length > longestText ? [] : findSignatures(text, document.uri.fsPath);
	known.set(document, { version: document.version, signatures });
	return signatures;
}

/** The reward whose declaration a line belongs to: the last that begins at or above it. */
export function rewardAt(document: vscode.TextDocument, line: number): string | null {
	const above = signaturesOf(document).filter((signature) => signature.line <= line);
	return above.at(-1)?.name ?? signaturesOf(document)[0]?.name ?? null;
}

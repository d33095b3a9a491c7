import type * as vscode from 'vscode';
import { isRewardUri, rewardFilePattern } from './rewardFiles.ts';
import { findSignatures, type RewardSignature } from './rewardSignatures.ts';

/** Selects the documents that the reward features support. */
export const rewardSelector: vscode.DocumentSelector = { scheme: 'file', pattern: rewardFilePattern };

export function isRewardDocument(document: vscode.TextDocument): boolean {
	return isRewardUri(document.uri);
}

const known = new WeakMap<vscode.TextDocument, { version: number; signatures: readonly RewardSignature[] }>();

/** Maximum length of a document to parse for rewards, in characters. */
const longestText = 1_000_000;

/** Returns the rewards declared in the current text of a document. */
export function signaturesOf(document: vscode.TextDocument): readonly RewardSignature[] {
	const seen = known.get(document);
	if (seen?.version === document.version) return seen.signatures;
	const text = document.getText();
	const signatures = text.length > longestText ? [] : findSignatures(text, document.uri.fsPath);
	known.set(document, { version: document.version, signatures });
	return signatures;
}

/** Returns the reward declared at a line, that is, the last declaration that starts at or above it. */
export function rewardAt(document: vscode.TextDocument, line: number): string | null {
	const above = signaturesOf(document).filter((signature) => signature.line <= line);
	return above.at(-1)?.name ?? signaturesOf(document)[0]?.name ?? null;
}

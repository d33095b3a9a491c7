import { isAbsolute, normalize } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { looksLikeTranscript } from '../../core/transcript/looksLike.ts';
import { decode } from '../../protocol/decode.ts';
import { type TranscriptPlace, transcriptPlaceSchema } from '../../protocol/transcriptMessages.ts';
import { commandIds } from '../ids.ts';

/** File extensions of possible chat logs. */
const extensions = ['txt', 'json', 'jsonl', 'ndjson', 'log', 'py'] as const;
const headLength = 16_384;

export interface TranscriptOpener {
	open(place: TranscriptPlace): unknown;
}

/**
 * Handler for *Open Transcript*, which opens the file passed by a menu, a rollout (`{kind: 'rollout', run, split, step,
 * group, index}`), the file in the active editor if it looks like a transcript, or a file that the user picks. Only
 * reads files, so it works without workspace trust.
 */
export function transcriptCommands(transcripts: TranscriptOpener) {
	return {
		[commandIds.openTranscript]: async (argument?: unknown) => {
			const place = placeOf(argument) ?? (argument === undefined ? await placeOfEditor() : null) ?? (await ask());
			if (place !== null) await transcripts.open(place);
		},
	};
}

function placeOf(argument: unknown): TranscriptPlace | null {
	if (argument === undefined || argument === null) return null;
	if (argument instanceof vscode.Uri) {
		if (argument.scheme !== 'file') {
			throw new Failure('unsupported', 'The document is not a file on this machine.', 'Save it to disk first.');
		}
		return { kind: 'file', file: argument.fsPath };
	}
	if (typeof argument === 'string') return { kind: 'file', file: checked(argument) };
	const decoded = decode(transcriptPlaceSchema, { split: 'train', ...(argument as object) });
	if (!decoded.ok) throw new Failure('invalid', 'Open Transcript requires a file or a rollout.');
	const place = decoded.value;
	return place.kind === 'file' ? { ...place, file: checked(place.file) } : { ...place, run: checked(place.run) };
}

function checked(path: string): string {
	if (!isAbsolute(path)) throw new Failure('invalid', `${path} is not an absolute path.`);
	return normalize(path);
}

/** Returns the file in the active editor if it looks like a chat log. */
async function placeOfEditor(): Promise<TranscriptPlace | null> {
	const document = vscode.window.activeTextEditor?.document ?? (await documentOfTab());
	if (document === undefined || document.uri.scheme !== 'file' || !isTranscript(document)) return null;
	return { kind: 'file', file: document.uri.fsPath };
}

/** Returns the document of the active tab; at window startup, tabs are available before editors. */
async function documentOfTab(): Promise<vscode.TextDocument | undefined> {
	const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
	if (!(input instanceof vscode.TabInputText)) return undefined;
	return await vscode.workspace.openTextDocument(input.uri).then(undefined, () => undefined);
}

/** Checks only the beginning, because the document can be arbitrarily large. */
export function isTranscript(document: vscode.TextDocument): boolean {
	const end = document.positionAt(headLength);
	if (looksLikeTranscript(document.getText(new vscode.Range(0, 0, end.line, end.character)))) return true;
	// A program might print a lot of output before its messages.
	const last = document.lineCount - 1;
	const from = Math.max(0, last - 40);
	const tail = document.getText(new vscode.Range(from, 0, last, headLength));
	return looksLikeTranscript(tail.slice(0, 4 * headLength));
}

async function ask(): Promise<TranscriptPlace | null> {
	const chosen = await vscode.window.showOpenDialog({
		title: 'Select a chat log: JSON, JSONL, or messages printed by Python',
		openLabel: 'Inspect',
		canSelectMany: false,
		filters: { 'Chat logs': [...extensions], 'All files': ['*'] },
	});
	const file = chosen?.[0];
	return file === undefined ? null : { kind: 'file', file: file.fsPath };
}

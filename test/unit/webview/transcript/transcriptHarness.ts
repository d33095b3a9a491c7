import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { TranscriptSession } from '../../../../src/extension/panels/transcript/transcriptSession.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type TranscriptCommand,
	type TranscriptPlace,
	transcriptCommandSchema,
	transcriptEventSchema,
	transcriptRequests,
} from '../../../../src/protocol/transcriptMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface TranscriptView extends Webview {
	readonly session: TranscriptSession;
	/** Commands from the page to its panel, without `ready`. */
	readonly commands: readonly TranscriptCommand[];
	readonly faults: readonly string[];
}

/** Opens the panel's webview with the panel's own session. */
export async function openTranscript(
	browser: Browser,
	place: TranscriptPlace,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<TranscriptView> {
	const commands: TranscriptCommand[] = [];
	const faults: string[] = [];
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = (message: unknown): void => {
		if (view) void view.post(message).catch(() => undefined);
		else waiting.push(message);
	};
	const session = new TranscriptSession({
		place,
		label: place.kind === 'file' ? 'logs/transcript.txt' : 'a run, step 1',
		post: (event) =>
			post({ kind: 'event', event: decodeOrThrow(transcriptEventSchema, structuredClone(event), 'An event') }),
	});
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(transcriptCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'ready') void session.begin();
			else if (command.type === 'again') void session.refresh();
			else if (command.type === 'chooseSample' && command.index !== null) void session.choose(command.index);
			else if (command.type === 'fault') faults.push(command.message);
			if (command.type !== 'ready') commands.push(command);
			return;
		}
		const { id, method, params } = decoded;
		const answer = async () => {
			if (method === 'loadLines') {
				const { version, from, count } = decodeOrThrow(transcriptRequests.loadLines.params, params, 'loadLines');
				return session.lines(version, from, count);
			}
			const { version, from } = decodeOrThrow(transcriptRequests.loadText.params, params, 'loadText');
			return session.piece(version, from);
		};
		answer().then(
			(result) => post({ kind: 'response', id, ok: true, result }),
			(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
		);
	};
	view = await openWebview(browser, { ...options, app: 'transcript', onMessage });
	for (const message of waiting.splice(0)) post(message);
	const { close, ...page } = view;
	return {
		...page,
		session,
		commands,
		faults,
		close: async () => {
			session.dispose();
			await close();
		},
	};
}

import type { Browser } from 'playwright-core';
import { Failure } from '../../../src/base/failure.ts';
import { RolloutsSession } from '../../../src/host/panels/rolloutsSession.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { rolloutsCommandSchema, rolloutsRequests } from '../../../src/protocol/rolloutsMessages.ts';
import { fromWebviewSchema } from '../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from './webviewPage.ts';

export interface RolloutsView extends Webview {
	readonly session: RolloutsSession;
	/** What went to the clipboard or into a document, in order. */
	readonly written: readonly string[];
	/** Faults that the webview reported. */
	readonly faults: readonly string[];
}

/** The panel's webview on a real run folder, answered by the panel's own session. */
export async function openRollouts(
	browser: Browser,
	run: string,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<RolloutsView> {
	const written: string[] = [];
	const faults: string[] = [];
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = (message: unknown): void => {
		if (view) void view.post(message).catch(() => undefined);
		else waiting.push(message);
	};
	const session = new RolloutsSession(run, {
		post: (event) => post({ kind: 'event', event }),
		onName: () => undefined,
		warn: () => undefined,
		newsMs: 20,
		pollMs: 100,
	});
	const answer = async (method: string, params: unknown): Promise<unknown> => {
		const table = rolloutsRequests[method as keyof typeof rolloutsRequests];
		const decoded = decodeOrThrow(table.params, params, method) as never;
		if (method === 'copy' || method === 'openText') {
			const { step, group, index } = decoded as { step: number; group: number; index: number };
			const part = method === 'copy' ? (decoded as { part: 'completion' }).part : 'completion';
			written.push(await session.text(step, group, index, part));
			return {};
		}
		return session.readers[method as keyof typeof session.readers](decoded);
	};
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message of the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(rolloutsCommandSchema, decoded.event, 'A command of the webview');
			if (command.type === 'ready') void session.begin();
			if (command.type === 'fault') faults.push(command.message);
			return;
		}
		const { id, method, params } = decoded;
		answer(method, params).then(
			(result) => post({ kind: 'response', id, ok: true, result }),
			(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
		);
	};
	view = await openWebview(browser, { ...options, app: 'rollouts', onMessage });
	for (const message of waiting.splice(0)) post(message);
	const { close, ...rest } = view;
	return {
		...rest,
		session,
		written,
		faults,
		close: async () => {
			session.dispose();
			await close();
		},
	};
}

import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { RolloutsSession } from '../../../../src/extension/panels/rollouts/rolloutsSession.ts';
import { RunExplorer, type RunExplorerOptions } from '../../../../src/extension/panels/rollouts/runExplorer.ts';
import { decodeOrThrow, type Schema } from '../../../../src/protocol/decode.ts';
import { panelCommandSchema, panelRequests } from '../../../../src/protocol/explorerMessages.ts';
import type { CopyPart, Place } from '../../../../src/protocol/rolloutsMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface RolloutsView extends Webview {
	readonly session: RolloutsSession;
	/** Texts written to the clipboard or a document, in order. */
	readonly written: readonly string[];
	/** Rollouts for whose problems a search was requested. */
	readonly searches: readonly unknown[];
	/** Rollouts whose episodes were opened. */
	readonly episodes: readonly unknown[];
	/** Pairs to compare in the editor, and requested exports. */
	readonly diffs: readonly { left: Place; right: Place }[];
	readonly exports: readonly unknown[];
	/** Errors that the webview reported. */
	readonly faults: readonly string[];
}

/** Opens the panel's webview on a real run folder with the panel's own session. */
export async function openRollouts(
	browser: Browser,
	run: string,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
	continueFrom?: RunExplorerOptions['continueFrom'],
): Promise<RolloutsView> {
	const diffs: { left: Place; right: Place }[] = [];
	const exports: unknown[] = [];
	const written: string[] = [];
	const searches: unknown[] = [];
	const episodes: unknown[] = [];
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
	const explorer = new RunExplorer({
		content: () => session.content(),
		rollout: (place) => session.rollout(place),
		tags: () => session.tags,
		rater: () => 'ada',
		post: (event) => post({ kind: 'event', event }),
		continueFrom: continueFrom ?? (() => Promise.reject(new Failure('unavailable', 'No policy in this test.'))),
		updateMs: 20,
	});
	const answer = async (method: string, params: unknown): Promise<unknown> => {
		const table = panelRequests[method as keyof typeof panelRequests];
		const decoded = decodeOrThrow(table.params as Schema<unknown>, params, method) as never;
		switch (method) {
			case 'openTranscript':
				return {};
			case 'openEpisode':
				episodes.push(decoded);
				return {};
			case 'searchProblem':
				searches.push(decoded);
				return {};
			case 'copy':
			case 'openText': {
				const part: CopyPart = method === 'copy' ? (decoded as { part: CopyPart }).part : 'completion';
				written.push(await session.text(decoded, part));
				return {};
			}
			case 'openDiff':
				diffs.push(decoded);
				return {};
			case 'export':
				exports.push(decoded);
				return { written: true };
		}
		const readers = { ...session.readers, ...explorer.readers };
		return readers[method as keyof typeof readers](decoded);
	};
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(panelCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'ready') void session.begin();
			else if (command.type === 'fault') faults.push(command.message);
			else if (command.type !== 'openDashboard') explorer.take(command);
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
		searches,
		episodes,
		diffs,
		exports,
		faults,
		close: async () => {
			explorer.dispose();
			session.dispose();
			await close();
		},
	};
}

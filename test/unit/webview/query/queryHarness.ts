import type { DuckDBConnection } from '@duckdb/node-api';
import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { type KnownRun, QuerySession } from '../../../../src/extension/panels/query/querySession.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { queryCommandSchema, queryRequests } from '../../../../src/protocol/queryMessages.ts';
import type { RolloutRef } from '../../../../src/protocol/rolloutIndex.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';
import { DatabaseIndex, indexed } from './queryIndex.ts';

export interface QueryView extends Webview {
	readonly session: QuerySession;
	readonly rolloutIndex: DatabaseIndex;
	readonly opened: readonly RolloutRef[];
	readonly saved: readonly { readonly name: string; readonly text: string }[];
	readonly exported: readonly { readonly statement: string; readonly format: string }[];
	readonly addedRuns: () => number;
	readonly faults: readonly string[];
}

export interface QueryHarnessOptions extends Omit<WebviewOptions, 'app' | 'onMessage'> {
	readonly runs?: readonly KnownRun[];
	readonly prepare?: (rolloutIndex: DatabaseIndex) => void;
}

export const twoRuns: readonly KnownRun[] = [
	{ folder: '/runs/a', name: 'addition', format: 'reasoning-lab' },
	{ folder: "/runs/b's", name: 'b <b>bold</b> \u202e', format: 'trl' },
];

/** Opens the query page with the panel's own session on a database with the documented views. */
export async function openQuery(
	browser: Browser,
	database: DuckDBConnection,
	{ runs = twoRuns, prepare, ...options }: QueryHarnessOptions = {},
): Promise<QueryView> {
	const opened: RolloutRef[] = [];
	const saved: { name: string; text: string }[] = [];
	const exported: { statement: string; format: string }[] = [];
	const faults: string[] = [];
	let addedRuns = 0;
	let history: readonly string[] = [];
	const rolloutIndex = new DatabaseIndex(
		database,
		runs.map(({ folder }) => indexed(folder)),
	);
	prepare?.(rolloutIndex);
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = (message: unknown): void => {
		if (view) void view.post(message).catch(() => undefined);
		else waiting.push(message);
	};
	const session = new QuerySession({
		rolloutIndex,
		runs: () => runs,
		post: (event) => post({ kind: 'event', event }),
		newsMs: 20,
		history: {
			read: () => history,
			write: (next) => {
				history = next;
			},
		},
	});
	const answer = async (method: string, params: never): Promise<unknown> => {
		switch (method as keyof typeof queryRequests) {
			case 'run': {
				const { id, question, statement, limit } = decodeOrThrow(queryRequests.run.params, params, 'run');
				return session.run(id, question, statement, limit);
			}
			case 'side': {
				const { id, statement, limit } = decodeOrThrow(queryRequests.side.params, params, 'side');
				return session.side(id, statement, limit);
			}
			case 'search': {
				const { id, question } = decodeOrThrow(queryRequests.search.params, params, 'search');
				return session.search(id, question);
			}
			case 'export': {
				const { statement, format } = decodeOrThrow(queryRequests.export.params, params, 'export');
				exported.push({ statement, format });
				return { saved: true, rows: 3, bytes: 99 };
			}
			case 'save':
				saved.push(decodeOrThrow(queryRequests.save.params, params, 'save'));
				return { saved: true };
			case 'open':
				opened.push(decodeOrThrow(queryRequests.open.params, params, 'open').ref);
				return {};
		}
	};
	const onMessage = async (message: unknown): Promise<void> => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(queryCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'ready') session.begin();
			else if (command.type === 'cancel') session.cancel(command.id);
			else if (command.type === 'addRuns') addedRuns++;
			else faults.push(command.message);
			return;
		}
		const { id, method, params } = decoded;
		try {
			post({ kind: 'response', id, ok: true, result: await answer(method, params as never) });
		} catch (error) {
			post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() });
		}
	};
	view = await openWebview(browser, { ...options, app: 'query', onMessage: (message) => void onMessage(message) });
	for (const message of waiting.splice(0)) post(message);
	const { close, ...rest } = view;
	return {
		...rest,
		session,
		rolloutIndex,
		opened,
		saved,
		exported,
		addedRuns: () => addedRuns,
		faults,
		close: async () => {
			session.dispose();
			await close();
		},
	};
}

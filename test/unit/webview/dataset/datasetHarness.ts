import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { DatasetSession } from '../../../../src/extension/panels/dataset/datasetSession.ts';
import {
	type DatasetCommand,
	datasetCommandSchema,
	datasetEventSchema,
	datasetRequests,
} from '../../../../src/protocol/datasetMessages.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import type { DataTable } from '../../../../src/runs/dataset/dataTable.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface DatasetView extends Webview {
	readonly session: DatasetSession;
	/** Commands from the page to its editor, without `ready`. */
	readonly commands: readonly DatasetCommand[];
	readonly faults: readonly string[];
	/** Holds back rows that the page requests, until the returned function is called. */
	holdRows(): () => void;
}

/** Opens the dataset editor's webview with the editor's own session. */
export async function openDataset(
	browser: Browser,
	name: string,
	open: () => Promise<DataTable>,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<DatasetView> {
	const commands: DatasetCommand[] = [];
	const faults: string[] = [];
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = (message: unknown): void => {
		if (view) void view.post(message).catch(() => undefined);
		else waiting.push(message);
	};
	const session = new DatasetSession({
		label: name,
		name,
		open,
		newsMs: 10,
		post: (event) =>
			post({ kind: 'event', event: decodeOrThrow(datasetEventSchema, structuredClone(event), 'A snapshot') }),
	});
	const onCommand = (command: DatasetCommand): void => {
		if (command.type !== 'ready') commands.push(command);
		if (command.type === 'ready') void session.begin();
		else if (command.type === 'again') void session.again();
		else if (command.type === 'show') void session.show(command.filter, command.sort);
		else if (command.type === 'map') void session.map(command.mapping);
		else if (command.type === 'share') void session.setShare(command.share);
		else if (command.type === 'statistics') void session.computeStatistics();
		else if (command.type === 'cancel') void session.cancel(command.what);
		else if (command.type === 'removeTests') void session.removeTests();
		else if (command.type === 'fault') faults.push(command.message);
	};
	let held = Promise.resolve();
	const answer = async (method: string, params: unknown): Promise<unknown> => {
		if (method === 'row') {
			const { version, row } = decodeOrThrow(datasetRequests.row.params, params, 'row');
			return session.row(version, row);
		}
		const { version, view: number, from, to } = decodeOrThrow(datasetRequests.rows.params, params, 'rows');
		await held;
		return session.rows(version, number, from, to);
	};
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			onCommand(decodeOrThrow(datasetCommandSchema, decoded.event, 'A command from the webview'));
			return;
		}
		const { id, method, params } = decoded;
		answer(method, params).then(
			(result) => post({ kind: 'response', id, ok: true, result }),
			(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
		);
	};
	view = await openWebview(browser, { ...options, app: 'dataset', onMessage });
	for (const message of waiting.splice(0)) post(message);
	const { close, ...page } = view;
	return {
		...page,
		session,
		commands,
		faults,
		holdRows: () => {
			const { promise, resolve } = Promise.withResolvers<void>();
			held = promise;
			return resolve;
		},
		close: async () => {
			session.dispose();
			await close();
		},
	};
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { environmentData } from '../../../../src/episodes/environmentData.ts';
import { EnvironmentRunner } from '../../../../src/episodes/environmentRunner.ts';
import { EpisodeViewSession, type StartedView } from '../../../../src/extension/panels/episode/episodeViewSession.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type EpisodeCommand,
	episodeCommandSchema,
	episodeEventSchema,
	episodeRequests,
} from '../../../../src/protocol/episodeMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import type { RewardHosts } from '../../../../src/rewards/rewardHosts.ts';
import { openHosts, rewardFolder } from '../../rewards/hostFixtures.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

let hosts: Promise<RewardHosts> | undefined;

/** Writes an environment and its rows to a new folder, and returns its path. */
export async function writeEnvironment(text: string, rows: readonly object[] = []): Promise<string> {
	const folder = await rewardFolder();
	const file = join(folder, 'made.env.py');
	const comment = rows.length === 0 ? '' : '# @dataset made.rows.jsonl\n';
	await writeFile(file, comment + text);
	if (rows.length > 0) {
		await writeFile(join(folder, 'made.rows.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
	}
	return file;
}

export interface SessionOptions {
	readonly file: string;
	readonly started?: StartedView;
	readonly forbidden?: string;
	readonly turnMs?: number;
	readonly debugs?: boolean;
	readonly saves?: boolean;
}

/** Opens the panel's own session with real host processes. */
export async function openSession(
	{
		file,
		started = { branches: [], show: null },
		forbidden,
		turnMs = 10_000,
		debugs = false,
		saves = false,
	}: SessionOptions,
	post: (event: unknown) => void,
): Promise<EpisodeViewSession> {
	hosts ??= openHosts();
	const opened = await hosts;
	return new EpisodeViewSession(
		{
			...{ file, debugs, saves },
			runFolder: null,
			open: async () => new EnvironmentRunner(opened, file, { limits: { turnMs } }),
			data: (signal) => environmentData({ file, rows: 100, seed: 1, signal }),
			post: (event) => post(decodeOrThrow(episodeEventSchema, event, 'An event')),
			forbidden: () => forbidden ?? null,
			updateMs: 0,
		},
		started,
	);
}

export interface EpisodeView extends Webview {
	readonly session: EpisodeViewSession;
	/** Commands that the session does not handle. */
	readonly commands: EpisodeCommand[];
	readonly faults: readonly string[];
}

/** Opens the page with the panel's own session. */
export async function openEpisodeView(
	browser: Browser,
	options: SessionOptions & Omit<WebviewOptions, 'app' | 'onMessage'>,
): Promise<EpisodeView> {
	const { file, started, forbidden, turnMs, debugs, saves, ...page } = options;
	const commands: EpisodeCommand[] = [];
	const faults: string[] = [];
	let view: Webview | null = null;
	const post = (message: unknown) => void view?.post(message).catch(() => undefined);
	const session = await openSession(options, (event) => post({ kind: 'event', event }));
	const take = (command: EpisodeCommand) => {
		switch (command.type) {
			case 'ready':
				session.begin();
				break;
			case 'reset':
				session.reset(command);
				break;
			case 'call':
				session.call(command);
				break;
			case 'reward':
			case 'replay':
			case 'remove':
				session[command.type](command.branch);
				break;
			case 'stop':
			case 'restart':
				session[command.type]();
				break;
			case 'fault':
				faults.push(command.message);
				break;
			default:
				commands.push(command);
		}
	};
	const answer = (method: string, params: unknown): unknown => {
		if (method !== 'loadRow') throw new Failure('unsupported', method);
		const { index } = decodeOrThrow(episodeRequests.loadRow.params, params, method);
		return { text: JSON.stringify(session.row(index), null, 2) };
	};
	let early = false;
	view = await openWebview(browser, {
		...page,
		app: 'episode',
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind === 'event') {
				const command = decodeOrThrow(episodeCommandSchema, decoded.event, 'A command from the webview');
				if (command.type === 'ready' && view === null) early = true;
				else take(command);
				return;
			}
			const { id, method, params } = decoded;
			try {
				post({ kind: 'response', id, ok: true, result: answer(method, params) });
			} catch (error) {
				post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() });
			}
		},
	});
	if (early) session.begin();
	const opened = view;
	return {
		...opened,
		...{ session, commands, faults },
		close: async () => {
			session.dispose();
			await opened.close();
		},
	};
}

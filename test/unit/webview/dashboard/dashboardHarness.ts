import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { DashboardSession } from '../../../../src/extension/panels/dashboard/dashboardSession.ts';
import {
	type DashboardAction,
	type DashboardAlerts,
	dashboardCommandSchema,
	type dashboardRequests,
} from '../../../../src/protocol/dashboardMessages.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import type { PinnedChart } from '../../../../src/protocol/pinnedCharts.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface DashboardView extends Webview {
	readonly session: DashboardSession;
	/** Actions requested by the user, in order. */
	readonly acts: DashboardAction[];
	readonly rollouts: (number | null)[];
	/** Next steps requested by the user, in order. */
	readonly next: string[];
	readonly saved: { readonly name: string; readonly bytes: Uint8Array }[];
	/** Alert requests with their parameters. */
	readonly asked: { readonly method: string; readonly params: unknown }[];
	/** Requests to pin and unpin charts. */
	readonly pins: readonly unknown[];
	/** Number of times that the webview missed an event. */
	readonly resyncs: () => number;
	readonly faults: readonly string[];
}

export interface DashboardHarnessOptions extends Omit<WebviewOptions, 'app' | 'onMessage'> {
	/** Sequence number of an event to drop, as when the webview is hidden. */
	readonly lose?: number;
	/** Error with which actions fail. */
	readonly failure?: Failure;
	readonly chunkBytes?: number;
	/** Charts that are pinned in the workspace. */
	readonly pinned?: readonly PinnedChart[];
	/** Initial state of the diagnosis. */
	readonly alerts?: DashboardAlerts;
}

/** Opens the dashboard webview on a real run folder with the panel's own session. */
export async function openDashboard(
	browser: Browser,
	run: string,
	options: DashboardHarnessOptions = {},
): Promise<DashboardView> {
	const acts: DashboardAction[] = [];
	const rollouts: (number | null)[] = [];
	const next: string[] = [];
	const saved: { name: string; bytes: Uint8Array }[] = [];
	const asked: { method: string; params: unknown }[] = [];
	const faults: string[] = [];
	const pins: unknown[] = [];
	let resyncs = 0;
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = async (message: unknown): Promise<unknown> => {
		if (view) return view.post(message).catch(() => undefined);
		waiting.push(message);
		return undefined;
	};
	const session = new DashboardSession(run, {
		post: (event) => (event.sequence === options.lose ? Promise.resolve() : post({ kind: 'event', event })),
		onName: () => undefined,
		newsMs: 20,
		pollMs: 100,
		...(options.chunkBytes === undefined ? {} : { chunkBytes: options.chunkBytes }),
	});
	if (options.alerts) session.setAlerts(options.alerts);
	const answer = (method: keyof typeof dashboardRequests, params: unknown): unknown => {
		if (options.failure) throw options.failure;
		if (/alert|advice|evidence|recipe|setting/i.test(method)) asked.push({ method, params });
		if (method === 'act') acts.push((params as { action: DashboardAction }).action);
		if (method === 'next') next.push((params as { step: string }).step);
		if (method === 'openRollouts') rollouts.push(session.rolloutStepFor((params as { step: number | null }).step));
		if (method === 'save') saved.push(params as { name: string; bytes: Uint8Array });
		if (method === 'pin') pins.push(params);
		if (method === 'pinned') return { charts: options.pinned ?? [] };
		return method === 'save' ? { saved: true } : {};
	};
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(dashboardCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'resync') resyncs++;
			if (command.type === 'fault') faults.push(command.message);
			else session.begin();
			return;
		}
		const { id, method, params } = decoded;
		try {
			void post({ kind: 'response', id, ok: true, result: answer(method as keyof typeof dashboardRequests, params) });
		} catch (error) {
			void post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() });
		}
	};
	view = await openWebview(browser, { ...options, app: 'dashboard', onMessage });
	for (const message of waiting.splice(0)) await post(message);
	const { close, ...rest } = view;
	return {
		...rest,
		session,
		acts,
		rollouts,
		next,
		saved,
		asked,
		pins,
		resyncs: () => resyncs,
		faults,
		close: async () => {
			session.dispose();
			await close();
		},
	};
}

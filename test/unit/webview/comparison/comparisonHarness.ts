import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { RunComparisonSession } from '../../../../src/extension/panels/comparison/runComparisonSession.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type ComparisonCommand,
	comparisonCommandSchema,
	comparisonEventSchema,
	comparisonRequests,
} from '../../../../src/protocol/runComparisonMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

export interface ComparisonView extends Webview {
	readonly session: RunComparisonSession;
	/** Commands from the page to its panel, without `ready`. */
	readonly commands: readonly ComparisonCommand[];
	/** Requests with their parameters. */
	readonly asked: readonly (readonly [method: string, params: unknown])[];
	readonly faults: readonly string[];
}

/** Opens the comparison webview with the panel's own session. */
export async function openComparison(
	browser: Browser,
	folders: readonly string[],
	options: Omit<WebviewOptions, 'app' | 'onMessage'> & { readonly newsMs?: number; readonly pollMs?: number } = {},
): Promise<ComparisonView> {
	const commands: ComparisonCommand[] = [];
	const asked: [string, unknown][] = [];
	const faults: string[] = [];
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = (message: unknown): Promise<void> => {
		if (view) return view.post(message).catch(() => undefined);
		waiting.push(message);
		return Promise.resolve();
	};
	const { newsMs = 50, pollMs = 200, ...page } = options;
	const session = new RunComparisonSession({
		folders,
		newsMs,
		pollMs,
		post: (event) =>
			post({ kind: 'event', event: decodeOrThrow(comparisonEventSchema, structuredClone(event), 'An event') }),
	});
	const handlers: { readonly [M in keyof typeof comparisonRequests]: (params: never) => unknown } = {
		recipes: () => session.recipes(),
		openRecipes: async ({ first, second }: { first: number; second: number }) => {
			await Promise.all([session.recipeText(first), session.recipeText(second)]);
			return {};
		},
		heldOut: () => session.heldOut(),
		pair: ({ first, second }: { first: never; second: never }) => session.pair(first, second),
		prompts: ({ all }: { all: boolean }) => session.searchPrompts(all),
		prompt: ({ hash, steps }: { hash: string; steps: number[] }) => session.showPrompt(hash, steps),
		openRollouts: () => ({}),
	};
	const answer = async (method: string, params: unknown): Promise<unknown> => {
		const table = comparisonRequests[method as keyof typeof comparisonRequests];
		const decoded = decodeOrThrow<unknown>(table.params, params, method) as never;
		asked.push([method, decoded]);
		return decodeOrThrow<unknown>(table.result, await handlers[method as keyof typeof handlers](decoded), method);
	};
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(comparisonCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'ready') session.begin();
			else if (command.type === 'fault') faults.push(command.message);
			else {
				commands.push(command);
				if (command.type === 'cancelPrompts') session.cancelPrompts();
			}
			return;
		}
		const { id, method, params } = decoded;
		answer(method, params).then(
			(result) => post({ kind: 'response', id, ok: true, result }),
			(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
		);
	};
	view = await openWebview(browser, { ...page, app: 'comparison', onMessage });
	for (const message of waiting.splice(0)) void post(message);
	const { close, ...rest } = view;
	return {
		...rest,
		session,
		commands,
		asked,
		faults,
		close: async () => {
			session.dispose();
			await close();
		},
	};
}

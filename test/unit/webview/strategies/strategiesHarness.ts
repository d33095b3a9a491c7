import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import * as v from 'valibot';
import { Failure } from '../../../../src/base/failure.ts';
import { StrategiesSession } from '../../../../src/extension/panels/strategies/strategiesSession.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type StrategiesCommand,
	strategiesCommandSchema,
	strategiesRequests,
} from '../../../../src/protocol/strategiesMessages.ts';
import { type ComparisonSpecInput, comparisonSpecSchema } from '../../../../src/protocol/strategyComparison.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { compareStrategies } from '../../../../src/search/compare/compareStrategies.ts';
import { PolicyPool } from '../../../../src/search/policyPool.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

/** Runs a comparison with a scripted policy for the test. @returns its folder */
export async function makeComparison(
	more: Partial<ComparisonSpecInput> = {},
	policy?: readonly object[],
): Promise<string> {
	const root = await mkdtemp(join(tmpdir(), 'strategies-'));
	const say = (right: number) => [
		{ text: '<think>right\n</think><answer>$1</answer>', weight: right },
		{ text: '<think>a slip\n</think><answer>100</answer>', weight: (10 - right) / 2 },
		{ text: '<think>a guess\n</think><answer>200</answer>', weight: (10 - right) / 2 },
	];
	const rules = policy ?? [
		{ prompt: 'easy *', say: say(6) },
		{ prompt: 'hard *', say: say(3) },
	];
	await writeFile(join(root, 'policy.jsonl'), rules.map((rule) => JSON.stringify(rule)).join('\n'));
	const rows = Array.from({ length: 30 }, (_, i) => ({ prompt: `${i % 2 === 0 ? 'easy' : 'hard'} ${i}`, answer: i }));
	await writeFile(join(root, 'problems.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
	const spec = v.parse(comparisonSpecSchema, {
		name: 'sums',
		policy: { kind: 'scripted', file: 'policy.jsonl' },
		problems: { from: 'file', path: 'problems.jsonl' },
		samples: 8,
		bandSamples: 4,
		bands: 2,
		strategies: [
			{ strategy: 'self-consistency', points: [{ params: { n: 2 } }, { params: { n: 4 } }, { params: { n: 8 } }] },
			{ strategy: 'best-of-n', judge: { use: 'mean-logprob' }, points: [{ params: { n: 2 } }, { params: { n: 8 } }] },
			{
				strategy: 'mcts',
				guide: { use: 'mean-logprob' },
				points: [4, 12].map((simulations) => ({ params: { simulations } })),
			},
			{ strategy: 'best-of-n', judge: { use: 'reward', reward: 'accuracy', gold: true }, params: { n: 8 } },
		],
		...more,
	});
	const pool = new PolicyPool(0);
	const folder = join(root, 'sums');
	try {
		await compareStrategies({
			spec,
			folder,
			context: { pool, policies: { engine: '', client: 'test', folder: root } },
		});
		return folder;
	} finally {
		pool.dispose();
	}
}

export interface StrategiesView extends Webview {
	/** Commands from the page to its panel, without `ready`. */
	readonly commands: StrategiesCommand[];
	readonly faults: readonly string[];
	/** Logs of the trees that were opened. */
	readonly opened: string[];
	readonly session: StrategiesSession;
	/** Holds back all further responses to the page. @returns a function that releases them */
	hold(): () => void;
}

/** Opens the page with the panel's own session. */
export async function openStrategies(
	browser: Browser,
	folder: string,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
): Promise<StrategiesView> {
	const commands: StrategiesCommand[] = [];
	const faults: string[] = [];
	const opened: string[] = [];
	let view: Webview | null = null;
	let held = Promise.resolve();
	const post = (message: unknown) => void view?.post(message).catch(() => undefined);
	const session = new StrategiesSession({
		folder,
		post: (event) => post({ kind: 'event', event }),
		own: () => false,
		forbidden: () => null,
		lookMs: 50,
	});
	const answer = async (method: string, given: unknown): Promise<unknown> => {
		if (method === 'searches') {
			const { point, which, from } = decodeOrThrow(strategiesRequests.searches.params, given, method);
			return session.searches(point, which, from);
		}
		if (method === 'open') {
			const { point, problem } = decodeOrThrow(strategiesRequests.open.params, given, method);
			opened.push(await session.treeOf(point, problem));
		}
		return {};
	};
	let early = false;
	view = await openWebview(browser, {
		...options,
		app: 'strategies',
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind === 'request') {
				const { id, method, params } = decoded;
				Promise.all([answer(method, params), held]).then(
					([result]) => post({ kind: 'response', id, ok: true, result }),
					(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
				);
				return;
			}
			const command = decodeOrThrow(strategiesCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'fault') faults.push(command.message);
			else if (command.type !== 'ready') commands.push(command);
			else if (view === null) early = true;
			else void session.begin();
		},
	});
	if (early) await session.begin();
	const opener = view;
	return {
		...opener,
		commands,
		faults,
		opened,
		session,
		hold: () => {
			const { promise, resolve } = Promise.withResolvers<void>();
			held = promise;
			return resolve;
		},
		close: async () => {
			session.dispose();
			await opener.close();
		},
	};
}

import { basename } from 'node:path';
import type { Browser } from 'playwright-core';
import { Emitter } from '../../../../src/base/event.ts';
import { Failure } from '../../../../src/base/failure.ts';
import { VerificationSession } from '../../../../src/extension/panels/verification/verificationSession.ts';
import { verificationSource } from '../../../../src/extension/panels/verification/verificationSource.ts';
import {
	type FileVerification,
	noResults,
	type RewardResults,
	unverified,
} from '../../../../src/extension/rewards/fileVerification.ts';
import { Judgments } from '../../../../src/extension/rewards/judgments.ts';
import type { AuditReport } from '../../../../src/protocol/audit.ts';
import type { Comparison } from '../../../../src/protocol/comparison.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import type { Verification } from '../../../../src/protocol/verification.ts';
import {
	type ResultCommand,
	type ResultPlace,
	resultCommandSchema,
	resultEventSchema,
	resultRequests,
} from '../../../../src/protocol/verificationMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { appendCase } from '../../../../src/rewards/appendCase.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

/** Verification state of one reward file in the editor, set by the test. */
export class VerificationsOfTest {
	readonly #changed = new Emitter<string>();
	readonly onDidChange = this.#changed.event;
	state: FileVerification;

	constructor(file: string) {
		this.state = unverified(file);
	}

	get(file: string): FileVerification | undefined {
		return file === this.state.file ? this.state : undefined;
	}

	set(changes: Partial<FileVerification>): void {
		this.state = { ...this.state, ...changes };
		this.#changed.fire(this.state.file);
	}

	setResults(reward: string, results: Partial<RewardResults>): void {
		const before = this.state.results.get(reward) ?? noResults;
		this.set({ phase: 'done', results: new Map(this.state.results).set(reward, { ...before, ...results }) });
	}
}

export interface ResultsView extends Webview {
	readonly session: VerificationSession;
	readonly verifications: VerificationsOfTest;
	readonly judgments: Judgments;
	/** Commands from the page to its panel, without `ready`. */
	readonly commands: readonly ResultCommand[];
	/** Requests with their parameters, and the resulting copies and texts. */
	readonly asked: readonly (readonly [method: string, params: unknown])[];
	readonly written: readonly string[];
	readonly faults: readonly string[];
}

/** Opens the panel's webview with the panel's own session. */
export async function openResults(
	browser: Browser,
	place: ResultPlace,
	options: Omit<WebviewOptions, 'app' | 'onMessage'> & {
		/** File that cases are added to. */
		readonly cases?: string;
		readonly before?: (stores: { verifications: VerificationsOfTest; judgments: Judgments }) => unknown;
	} = {},
): Promise<ResultsView> {
	const commands: ResultCommand[] = [];
	const asked: [string, unknown][] = [];
	const written: string[] = [];
	const faults: string[] = [];
	let view: Webview | null = null;
	const waiting: unknown[] = [];
	const post = (message: unknown): void => {
		if (view) void view.post(message).catch(() => undefined);
		else waiting.push(message);
	};
	const { before, cases: _, ...rest } = options;
	const verifications = new VerificationsOfTest(place.file);
	const judgments = new Judgments();
	await before?.({ verifications, judgments });
	const session = new VerificationSession({
		place,
		fileLabel: 'rewards/graded.reward.ts',
		source: verificationSource(place, { verifications, judgments }),
		post: (event) =>
			post({ kind: 'event', event: decodeOrThrow(resultEventSchema, structuredClone(event), 'An event') }),
	});
	const done = {};
	const handlers: { [M in keyof typeof resultRequests]: (params: never) => unknown } = {
		loadRows: ({ result, from }: { result: number; from: number }) => ({ rows: session.rows(result, from) }),
		loadRow: ({ result, index }: { result: number; index: number }) => session.texts(result, index),
		search: async ({ result, text }: { result: number; text: string }) => ({
			rows: await session.search(result, text),
		}),
		copy: ({ result, index, part }: { result: number; index: number; part: 'completion' }) => {
			written.push(session.text(result, index, part));
			return done;
		},
		openText: ({ result, index }: { result: number; index: number }) => {
			written.push(session.text(result, index, 'completion'));
			return done;
		},
		openPlace: ({ result, index }: { result: number; index: number }) => {
			session.row(result, index);
			return done;
		},
		debugRow: ({ result, index }: { result: number; index: number }) => {
			session.row(result, index);
			return done;
		},
		copyEvidence: ({ result, finding, index }: { result: number; finding: number; index: number }) => {
			written.push(session.evidence(result, finding, index).completion);
			return done;
		},
		openEvidence: ({ result, finding, index }: { result: number; finding: number; index: number }) => {
			written.push(session.evidence(result, finding, index).completion);
			return done;
		},
		addCase: async ({ result, finding, index }: { result: number; finding: number; index: number }) => {
			const file = `${options.cases ?? ''}`;
			const { line } = await appendCase(file, session.caseOf(result, finding, index));
			return { file: basename(file), line };
		},
		openRollouts: ({ result, index }: { result: number; index: number }) => {
			written.push(JSON.stringify(session.rollout(result, index)));
			return done;
		},
	};
	const answer = async (method: string, params: unknown): Promise<unknown> => {
		const table = resultRequests[method as keyof typeof resultRequests];
		const decoded = decodeOrThrow<unknown>(table.params, params, method) as never;
		asked.push([method, decoded]);
		return handlers[method as keyof typeof handlers](decoded);
	};
	const onMessage = (message: unknown): void => {
		const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
		if (decoded.kind === 'event') {
			const command = decodeOrThrow(resultCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'ready') session.begin();
			else if (command.type === 'fault') faults.push(command.message);
			else {
				commands.push(command);
				if (command.type === 'choosePart') session.choosePart(command.part);
				if (command.type === 'cancel') judgments.cancel(place);
			}
			return;
		}
		const { id, method, params } = decoded;
		answer(method, params).then(
			(result) => post({ kind: 'response', id, ok: true, result }),
			(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
		);
	};
	view = await openWebview(browser, { ...rest, app: 'verification', onMessage });
	for (const message of waiting.splice(0)) post(message);
	const { close, ...page } = view;
	return {
		...page,
		session,
		verifications,
		judgments,
		commands,
		asked,
		written,
		faults,
		close: async () => {
			session.dispose();
			judgments.dispose();
			await close();
		},
	};
}

/** Stores a result where the panel looks for it. */
export const withData =
	(data: Verification, more: Partial<RewardResults> = {}) =>
	(stores: { verifications: VerificationsOfTest }) =>
		stores.verifications.setResults(data.reward, { data, ...more });

export const withJudgment =
	(place: ResultPlace, result: AuditReport | Comparison) =>
	({ judgments }: { judgments: Judgments }) =>
		judgments.run(place, new AbortController().signal, () => Promise.resolve(result));

import { basename, isAbsolute } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import { stepText } from '../../../protocol/rolloutLine.ts';
import {
	type ResultCommand,
	type ResultEvent,
	type ResultPart,
	type ResultPlace,
	resultCommandSchema,
	resultRequests,
	resultStateSchema,
} from '../../../protocol/verificationMessages.ts';
import { appendCase } from '../../../rewards/appendCase.ts';
import { casesPath } from '../../../rewards/casesFile.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import { keyOfPlace } from '../../rewards/judgments.ts';
import { isRewardUri } from '../../rewards/rewardFiles.ts';
import type { RewardWorkbench } from '../../rewards/rewardWorkbench.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { VerificationSession } from './verificationSession.ts';
import { verificationSource } from './verificationSource.ts';

const app = {
	name: 'verification',
	viewType: panelTypes.verification,
	commands: resultCommandSchema,
	requests: resultRequests,
} as const;

const titles: Readonly<Record<ResultPlace['view'], string>> = {
	verification: 'Results',
	audit: 'Audit',
	comparison: 'Comparison',
};

/**
 * A panel that shows the results of a reward verification, audit, or comparison and follows them when they are rerun.
 */
export class VerificationPanel extends AppPanel<ResultEvent, ResultCommand, typeof resultRequests> {
	readonly place: ResultPlace;
	readonly #workbench: RewardWorkbench;
	readonly #session: VerificationSession;

	constructor(
		panel: vscode.WebviewPanel,
		context: PanelContext,
		shown: { readonly place: ResultPlace; readonly workbench: RewardWorkbench; readonly part?: ResultPart },
	) {
		super(panel, context, app);
		const { place, workbench, part } = shown;
		this.place = place;
		this.#workbench = workbench;
		this.title = titleOf(place);
		const { verifications, judgments } = workbench;
		const session = this.register(
			new VerificationSession({
				place,
				fileLabel: vscode.workspace.asRelativePath(place.file),
				source: verificationSource(place, { verifications, judgments }),
				post: (event) => void this.post(event),
				...(part === undefined ? {} : { part }),
			}),
		);
		this.#session = session;
		this.register({ dispose: () => judgments.forget(place) });
		this.handlers = {
			loadRows: ({ result, from }) => ({ rows: session.rows(result, from) as never }),
			loadRow: ({ result, index }) => session.texts(result, index),
			search: async ({ result, text }) => ({ rows: await session.search(result, text) }),
			copy: async ({ result, index, part: what }) => {
				await vscode.env.clipboard.writeText(session.text(result, index, what));
				return {};
			},
			openText: async ({ result, index }) => {
				const row = session.row(result, index);
				const name = 'label' in row ? row.label : `${stepText(row)}group ${row.group}, completion ${row.index}`;
				await context.documents.show(`${name}.trace`, row.completion);
				return {};
			},
			openPlace: async ({ result, index }) => {
				const row = session.row(result, index);
				const at = 'place' in row ? row.place : undefined;
				if (at === undefined) throw new Failure('missing', 'The row was not read from a file.');
				await openAt(at.file, at.line);
				return {};
			},
			debugRow: async ({ result, index }) => {
				session.row(result, index);
				await vscode.commands.executeCommand(commandIds.debugRow, place.file, place.reward, index, session.part);
				return {};
			},
			copyEvidence: async ({ result, finding, index }) => {
				await vscode.env.clipboard.writeText(session.evidence(result, finding, index).completion);
				return {};
			},
			openEvidence: async ({ result, finding, index }) => {
				const { name, completion } = session.evidence(result, finding, index);
				await context.documents.show(`${name}.trace`, completion);
				return {};
			},
			addCase: async ({ result, finding, index }) => {
				const made = session.caseOf(result, finding, index);
				const file = casesPath(place.file);
				const open = vscode.workspace.textDocuments.find(({ uri, isDirty }) => isDirty && uri.fsPath === file);
				if (open !== undefined) {
					throw new Failure('busy', `${basename(file)} has unsaved changes.`, 'Save the file, then try again.');
				}
				const { line } = await appendCase(file, made);
				return { file: basename(file), line };
			},
			openRollouts: async ({ result, index }) => {
				const rollout = session.rollout(result, index);
				if (rollout === null) throw new Failure('missing', 'The row was not recorded by a run.');
				const { run, step, group } = rollout;
				await vscode.commands.executeCommand(commandIds.openRollouts, run, { step, group });
				return {};
			},
		};
		this.load(context);
	}

	showPart(part: ResultPart): void {
		this.#session.choosePart(part);
	}

	protected readonly handlers: RequestHandlers<typeof resultRequests>;

	protected override onCommand(command: ResultCommand): void {
		const { file, reward } = this.place;
		switch (command.type) {
			case 'ready':
				this.#session.begin();
				break;
			case 'again':
				this.#again();
				break;
			case 'cancel':
				if (this.place.view === 'verification') this.#workbench.verifications.session(file).cancel();
				else this.#workbench.judgments.cancel(this.place);
				break;
			case 'choosePart':
				this.#session.choosePart(command.part);
				break;
			case 'openView':
				void vscode.commands.executeCommand(viewCommands[command.view], file, reward);
				break;
			case 'openFile':
				void openAt(file, command.line ?? this.#lineOfReward()).catch((error: unknown) => this.log.warn(String(error)));
				break;
			case 'openLog':
				void vscode.commands.executeCommand(commandIds.showRewardLog);
				break;
			case 'fault':
				this.log.error(`verification: ${command.message}`);
				break;
		}
	}

	#again(): void {
		const { file, reward } = this.place;
		const answers = this.place.view === 'comparison' ? [this.place.answers] : [];
		const command = this.place.view === 'verification' ? commandIds.verifyReward : viewCommands[this.place.view];
		void vscode.commands.executeCommand(command, file, reward, ...answers);
	}

	#lineOfReward(): number {
		const rewards = this.#workbench.verifications.get(this.place.file)?.rewards ?? [];
		return rewards.find(({ name }) => name === this.place.reward)?.location?.line ?? 1;
	}
}

const viewCommands = {
	verification: commandIds.showVerification,
	audit: commandIds.auditReward,
	comparison: commandIds.compareReward,
} as const;

function titleOf({ view, reward }: ResultPlace): string {
	return `${titles[view]}: ${displayText(reward, 60)}`;
}

async function openAt(file: string, line: number): Promise<void> {
	const at = Math.max(0, line - 1);
	const open = vscode.window.visibleTextEditors.find(({ document }) => document.uri.fsPath === file);
	await vscode.window.showTextDocument(vscode.Uri.file(file), {
		viewColumn: open?.viewColumn ?? vscode.ViewColumn.One,
		selection: new vscode.Range(at, 0, at, 0),
	});
}

/**
 * Creates the panel set for results, with one panel per reward and view. Results are not kept after the window closes.
 */
export function verificationPanels(
	context: PanelContext,
	workbench: RewardWorkbench,
): PanelSet<VerificationPanel, ResultPlace, ResultPart> {
	return new PanelSet<VerificationPanel, ResultPlace, ResultPart>(context.extensionUri, {
		viewType: panelTypes.verification,
		what: 'these results',
		key: keyOfPlace,
		title: titleOf,
		column: () => (vscode.window.activeTextEditor === undefined ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside),
		create: (panel, place, part) =>
			new VerificationPanel(panel, context, { place, workbench, ...(part === undefined ? {} : { part }) }),
		reopen(panel, _place, part) {
			if (part !== undefined) panel.showPart(part);
		},
		restore(state) {
			const { place } = decodeOrThrow(resultStateSchema, state, 'The saved view state');
			if (!isAbsolute(place.file) || !isRewardUri(vscode.Uri.file(place.file))) {
				throw new Failure(
					'invalid',
					'The saved view state does not specify a reward file.',
					'Verify the reward again.',
				);
			}
			return place;
		},
	});
}

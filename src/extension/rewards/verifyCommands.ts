import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import type { Verification, VerifiedRow } from '../../protocol/verification.ts';
import { type ResultPart, type ResultPlace, resultParts } from '../../protocol/verificationMessages.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import { viewIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import type { RunStore } from '../runStore.ts';
import { displayText } from '../runView.ts';
import { saveDocument } from '../saveDocument.ts';
import { resultsOf } from './fileVerification.ts';
import { pickRun } from './pickRun.ts';
import type { RewardDebugging } from './rewardDebugging.ts';
import type { RewardSession } from './rewardSession.ts';
import type { RewardTargets } from './rewardTarget.ts';
import type { RewardVerifications } from './rewardVerifications.ts';
import { valueWords } from './rewardWords.ts';

/** Opens a panel with detailed results, and updates it when they change. */
export interface ResultsOpener {
	show(place: ResultPlace, part?: ResultPart): unknown;
}

interface Needs {
	readonly targets: RewardTargets;
	readonly verifications: RewardVerifications;
	readonly store: RunStore;
	readonly notices: Notices;
	readonly results: ResultsOpener;
	readonly debugging: RewardDebugging;
}

/** Maximum length of a selection accepted as a completion, in characters. */
const longestSelection = 1_000_000;
/** Maximum number of rows offered in a list. */
const maxRows = 500;

/** Commands that verify a reward and show its results. */
export class VerifyCommands {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	async verify(...args: unknown[]): Promise<void> {
		const target = await this.#needs.targets.file(args, 'Verify a reward');
		if (target === undefined) return;
		const session = this.#needs.verifications.session(target.file);
		await saved(target.file);
		session.forgetSelection();
		await this.#work(session, () => session.verify());
	}

	/** @param args the reward and, optionally, the run folder (otherwise the user is asked) */
	async verifyOnRollouts(...args: unknown[]): Promise<void> {
		const target = await this.#needs.targets.file(args, 'Verify on the latest rollouts of a run');
		if (target === undefined) return;
		const session = this.#needs.verifications.session(target.file);
		const run = typeof args[2] === 'string' ? args[2] : await this.#pickRun(session);
		if (run === undefined) return;
		await saved(target.file);
		await this.#work(session, () => session.verifyRollouts(run));
	}

	/** @param args the reward and, optionally, the problem number (otherwise the user is asked) */
	async verifySelection(...args: unknown[]): Promise<void> {
		const editor = vscode.window.activeTextEditor;
		const text = editor === undefined || editor.selection.isEmpty ? '' : editor.document.getText(editor.selection);
		if (text === '') throw new Failure('missing', 'No text is selected.', 'Select the text of a completion.');
		if (text.length > longestSelection) {
			throw new Failure(
				'invalid',
				`The selection is too long (${formatCounted(text.length, 'character')}).`,
				'Select a single completion.',
			);
		}
		const target = await this.#needs.targets.reward(args, 'Verify the selection as a completion', this.#known);
		if (target === undefined) return;
		const session = this.#needs.verifications.session(target.file);
		const problem = typeof args[2] === 'number' ? args[2] : await pickProblem(session);
		if (problem === undefined) return;
		await this.#work(session, () => session.verifySelection(text, target.reward, problem));
		const verification = session.state.results.get(target.reward)?.selection;
		const [row] = verification?.rows ?? [];
		if (verification == null || row === undefined) return;
		const show = () => this.#show(target, 'selection');
		void this.#needs.notices.information(`${target.reward} on the selection: ${valueWords(row)}`, [
			{ title: 'Show Results', run: show },
		]);
	}

	async showVerification(...args: unknown[]): Promise<void> {
		const target = await this.#needs.targets.reward(args, 'Show results for a reward', this.#known);
		if (target === undefined) return;
		const { file, reward } = target;
		const session = this.#needs.verifications.session(file);
		if (resultsOf(session.state.results.get(reward)).length === 0) {
			await saved(file);
			await this.#work(session, () => session.verify());
		}
		await this.#show(target);
	}

	/**
	 * @param args the reward and, optionally, a row number in its latest verification or in the verification of a
	 * specific part (otherwise the user is asked)
	 */
	async debugRow(...args: unknown[]): Promise<void> {
		if (!vscode.workspace.isTrusted) {
			throw new Failure(
				'denied',
				'Rewards are disabled because this workspace is not trusted.',
				'Trust the workspace, then try again.',
			);
		}
		const target = await this.#needs.targets.reward(args, 'Debug a reward on a row', this.#known);
		if (target === undefined) return;
		const { file, reward } = target;
		const session = this.#needs.verifications.session(file);
		if (resultsOf(session.state.results.get(reward)).length === 0) {
			await saved(file);
			await this.#work(session, () => session.verify());
		}
		const results = session.state.results.get(reward);
		const part = resultParts.find((one) => one === args[3]);
		const verification = (part === undefined ? null : results?.[part]) ?? resultsOf(results)[0];
		const asked = verification && session.rowsOf(verification);
		if (verification === undefined || asked === undefined || asked.length === 0) {
			throw new Failure('missing', `${reward} has no rows to debug.`, 'Specify a dataset in the reward file.');
		}
		const index = typeof args[2] === 'number' ? args[2] : await pickRow(verification);
		const row = index === undefined ? undefined : asked[index];
		if (row === undefined) return;
		const scored = verification.rows[index as number];
		await this.#needs.debugging.debug({
			file,
			reward,
			row: row.row,
			label: row.label,
			...(scored === undefined || scored.error !== undefined ? {} : { before: scored.value }),
		});
	}

	readonly #known = (file: string): readonly string[] =>
		this.#needs.verifications.get(file)?.rewards.map(({ name }) => name) ?? [];

	#show({ file, reward }: { readonly file: string; readonly reward: string }, part?: ResultPart): unknown {
		return this.#needs.results.show({ view: 'verification', file, reward }, part);
	}

	/** Runs a task, shows its progress in the view, and reports failures that no editor displays. */
	async #work(session: RewardSession, work: () => Promise<void>): Promise<void> {
		if (!vscode.workspace.isTrusted) {
			throw new Failure(
				'denied',
				'Rewards are disabled because this workspace is not trusted.',
				'Trust the workspace, then try again.',
			);
		}
		await withProgress({ title: `Verifying ${basename(session.file)}`, view: viewIds.rewards }, async (signal) => {
			signal.addEventListener('abort', () => session.cancel());
			await work();
			await session.settled();
		});
		const { phase, failure } = session.state;
		if (phase !== 'failed' || failure === null || isVisible(session.file)) return;
		const place = failure instanceof LoadFailure ? failure : null;
		const uri = vscode.Uri.file(place?.file ?? session.file);
		const line = Math.max(0, (place?.line ?? 1) - 1);
		const goTo = () => vscode.window.showTextDocument(uri, { selection: new vscode.Range(line, 0, line, 0) });
		this.#needs.notices.failure(failure, [{ title: 'Go to Line', run: goTo }]);
	}

	/** Returns null to stop using a run, and undefined if the user canceled. */
	async #pickRun(session: RewardSession): Promise<string | null | undefined> {
		const noRun = session.run === null ? [] : [{ label: '$(close) No run', description: 'dataset and cases only' }];
		return pickRun(this.#needs.store, {
			title: 'Verify on the latest rollouts of a run',
			placeHolder: 'Select a run. Its rollouts are also scored on every save.',
			chosen: session.run,
			none: noRun[0],
		});
	}
}

/** Saves the file if necessary, because verification uses the file on disk. */
async function saved(file: string): Promise<void> {
	const document = vscode.workspace.textDocuments.find((open) => open.uri.fsPath === file);
	if (document?.isDirty) await saveDocument(document, 'Save it, then verify it again.');
}

function isVisible(file: string): boolean {
	return vscode.window.visibleTextEditors.some(({ document }) => document.uri.fsPath === file);
}

/** Asks which problem the text answers and returns its index in the sample; 0 if there are no problems. */
async function pickProblem(session: RewardSession): Promise<number | undefined> {
	const problems = await session.problems();
	if (problems.length < 2) return 0;
	const picked = await showQuickPick(
		problems.slice(0, maxRows).map(({ problem, name }, index) => ({
			label: displayText(problem.prompt, 200) || name,
			description: displayText(problem.answer ?? '', 80),
			detail: name,
			index,
		})),
		{ title: 'Verify the selection as a completion', placeHolder: 'Select a problem', matchOnDescription: true },
	);
	return picked?.index;
}

/** Asks for a row, listing errors first, then failed cases. @returns its index in the verification */
async function pickRow(verification: Verification): Promise<number | undefined> {
	const rank = (row: VerifiedRow) => (row.error !== undefined ? 0 : row.passed === false ? 1 : 2);
	const rows = verification.rows
		.map((row, index) => ({ row, index }))
		.sort((a, b) => rank(a.row) - rank(b.row) || a.index - b.index)
		.slice(0, maxRows);
	const picked = await showQuickPick(
		rows.map(({ row, index }) => ({
			label: `${row.error !== undefined ? '$(error) ' : row.passed === false ? '$(warning) ' : ''}${displayText(row.label, 100)}`,
			description: valueWords(row),
			detail: displayText(row.completion, 160),
			index,
		})),
		{ title: `Debug ${displayText(verification.reward, 80)}`, placeHolder: 'Select a row', matchOnDetail: true },
	);
	return picked?.index;
}

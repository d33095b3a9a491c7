import { basename, join } from 'node:path';
import * as v from 'valibot';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { failureText } from '../../base/failureTally.ts';
import { formatCount, formatCounted } from '../../base/format.ts';
import { intervalText } from '../../core/report/numberText.ts';
import { decode } from '../../protocol/decode.ts';
import { requireTrainedEnvironment } from '../../runs/trainedEnvironment.ts';
import { runCli } from '../cliProcess.ts';
import { agreeForeignCode, agreeServer } from '../foreignCodeQuestion.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { displayText, nameOf, type RunView } from '../runView.ts';
import { settings } from '../settings.ts';
import { type EvaluationResult, runEvaluation } from './evaluationProcess.ts';
import { answersOf, type EvaluationChoice, evaluationChoice } from './evaluationQuestions.ts';

const reportLineSchema = v.looseObject({ kind: v.literal('report'), text: v.string() });

export interface EvaluationNeeds {
	readonly extension: vscode.Uri;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	/** Environment variables for a process that might serve a PyTorch checkpoint or run an environment. */
	readonly environment: () => Promise<Readonly<Record<string, string>>>;
	/** Called when the view might have a new evaluation. */
	readonly evaluated: () => Promise<unknown>;
}

/**
 * Implements *Evaluate Checkpoint*: asks for the settings unless the caller provides them, then shows all evaluations
 * of the run. Running the same evaluation again continues it.
 * @returns undefined if the user canceled
 */
export async function evaluateCheckpoint(
	view: RunView,
	argument: unknown,
	needs: EvaluationNeeds,
): Promise<EvaluationResult | undefined> {
	const choice = await evaluationChoice(view, answersOf(argument));
	if (choice === undefined || !(await agreesToEpisodes(view.folder, choice))) return undefined;
	const name = displayText(nameOf(view), 60);
	let lastMessage = '';
	try {
		const result = await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: `Evaluating ${name}`, cancellable: true },
			async (progress, token) => {
				const abort = new AbortController();
				token.onCancellationRequested(() => abort.abort());
				let before = 0;
				return runEvaluation({
					...{ cli: join(needs.extension.fsPath, 'dist', 'cli.js'), node: settings.nodePath(), cwd: view.folder },
					args: ['--policy', choice.checkpoint, ...choice.args],
					environment: await needs.environment(),
					signal: abort.signal,
					onProgress: (done, total) => {
						lastMessage = `${formatCount(done)} of ${formatCounted(total, 'question')}`;
						progress.report({ message: lastMessage, increment: ((done - before) / Math.max(1, total)) * 100 });
						before = done;
					},
				});
			},
		);
		await needs.evaluated();
		await showEvaluations({ folder: view.folder, name: nameOf(view) }, needs, basename(result.folder));
		showResult(name, result, needs.notices);
		return result;
	} catch (error) {
		if (Failure.from(error).reason !== 'cancelled') throw error;
		const far = lastMessage === '' ? '' : ` after ${lastMessage}`;
		void needs.notices.information(
			`The evaluation of ${name} was canceled${far}. To continue it, evaluate again with the same settings.`,
		);
		return undefined;
	}
}

/** Asks for consent to run the environment of a run that this user did not start, or to use its server. */
async function agreesToEpisodes(run: string, { environment }: EvaluationChoice): Promise<boolean> {
	if (environment === null) return true;
	await requireTrainedEnvironment(run, agreeForeignCode);
	return await agreeServer(environment.server);
}

/** Reports the result, as a warning if some questions failed. */
function showResult(name: string, { done, total, failures, accuracy }: EvaluationResult, notices: Notices): void {
	const words = `${name}: pass@1 ${intervalText(accuracy)} on ${done}`;
	if (done >= total) return void notices.information(`${words} questions.`);
	const why = displayText(failureText(failures), 300);
	void notices.warning(
		`${words} of ${formatCounted(total, 'question')}; ${total - done} failed: ${why} To retry them, evaluate again.`,
	);
}

/**
 * Shows all evaluations of a run or pipeline as rendered Markdown, comparing those on the same questions.
 * @param chosen name of the evaluation to scroll to; null for the first
 */
export async function showEvaluations(
	source: { readonly folder: string; readonly name: string },
	{ extension, documents }: Pick<EvaluationNeeds, 'extension' | 'documents'>,
	chosen: string | null = null,
): Promise<string> {
	const name = displayText(source.name, 60);
	let text: string | null = null;
	// Runs in a separate process because comparing answers mathematically would block the extension host.
	await withProgress({ title: `Evaluations of ${name}` }, (signal) =>
		runCli({
			...{ cli: join(extension.fsPath, 'dist', 'cli.js'), node: settings.nodePath(), cwd: source.folder, signal },
			args: ['report', source.folder, '--part', 'evaluations', '--format', 'markdown', '--out', '-'],
			onObject: (value) => {
				const decoded = decode(reportLineSchema, value);
				if (decoded.ok) text = decoded.value.text;
			},
		}),
	);
	if (text === null) throw new Failure('internal', `Cannot show the evaluations of ${name}: the report is empty.`);
	await documents.preview(`Evaluations of ${name}.md`, text, chosen);
	return text;
}

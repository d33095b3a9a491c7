import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { formatCounted } from '../../base/format.ts';
import {
	type ExportFormat,
	type ExportFormatInfo,
	exportFormatInfos,
	exportFormats,
} from '../../core/export/exportFormat.ts';
import type { RolloutSelection } from '../../core/export/selection.ts';
import { type Perturbation, type PerturbationKind, perturbationKinds } from '../../core/trace/perturb.ts';
import type { explorerRequests } from '../../protocol/explorerMessages.ts';
import type { RequestParams } from '../../protocol/webviewMessages.ts';
import { exportFeedback } from '../../runs/exportFeedback.ts';
import { exportRollouts, leftOutText } from '../../runs/exportRollouts.ts';
import { exportStepLabels, type LabelFormat } from '../../runs/exportStepLabels.ts';
import type { ExportOptions, ExportSummary } from '../../runs/rolloutExport.ts';
import type { RunContent } from '../../runs/runContent.ts';
import { runTags } from '../../runs/runTags.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { applyOptions, type ExportChoices, noChoices, optionsOf } from './exportOptions.ts';

export type ExportRequest = RequestParams<typeof explorerRequests, 'export'>;

const perturbations: Readonly<Record<PerturbationKind, string>> = {
	'wrong-answer': 'Replace the answer with an incorrect one',
	'corrupt-digits': 'Replace half of the digits in the thinking section',
	'remove-keywords': 'Remove words that indicate reflection, verification, or backtracking',
	'cut-at-keyword': 'End the thinking before the first such word',
	'shuffle-steps': 'Shuffle the thinking steps',
	'delete-steps': 'Remove half of the thinking steps',
	'insert-steps': 'Insert steps from other completions',
};
/** Perturbations that apply to half of the steps or digits. */
const halves: readonly PerturbationKind[] = ['corrupt-digits', 'delete-steps', 'insert-steps'];

/** Converts a request's selection to the exporter's format. */
export function selectionOf({ scope, step, group, rollouts }: ExportRequest): RolloutSelection {
	if (scope === 'rollouts') return { rollouts: rollouts.map((one) => one) };
	if (scope === 'group' && step !== null && group !== null) return { groups: [{ step, group }] };
	return step === null ? {} : { steps: { from: step, to: step } };
}

/** Describes the selection: "12 selected rollouts", "the rollouts at step 40" */
export function selectionWords({ scope, step, group, rollouts, split }: ExportRequest): string {
	const of = split === 'validation' ? ' from the evaluation' : '';
	if (scope === 'rollouts') return formatCounted(rollouts.length, 'rollout');
	if (scope === 'group') return `group ${group}${of} at step ${step}`;
	return step === null ? `all rollouts${of}` : `the rollouts${of} at step ${step}`;
}

interface FormatItem extends vscode.QuickPickItem {
	readonly format?: ExportFormat;
}

async function pickFormat(what: string): Promise<ExportFormat | null> {
	const separator = (label: string): FormatItem => ({ label, kind: vscode.QuickPickItemKind.Separator });
	const items = (from: ExportFormatInfo['from']): FormatItem[] =>
		exportFormats
			.filter((format) => exportFormatInfos[format].from === from)
			.map((format) => ({ label: exportFormatInfos[format].title, detail: exportFormatInfos[format].detail, format }));
	const picked = await showQuickPick(
		[
			separator('Rollouts'),
			...items('rollouts'),
			separator('Ratings and preferences'),
			...items('feedback'),
			separator('Step labels'),
			...items('labels'),
		],
		{ title: `Export ${what}`, placeHolder: 'Select a format', matchOnDetail: true },
	);
	return picked?.format ?? null;
}

/** Asks for a format's options. Returns undefined if the user canceled. */
async function pickChoices(format: ExportFormat, what: string): Promise<ExportChoices | undefined> {
	const options = optionsOf(format);
	if (options.length === 0) return noChoices;
	const items = options.map((option) => ({ label: option.label, detail: option.detail, option }));
	const picked = await showQuickPick(items, {
		title: `Export ${what} as ${exportFormatInfos[format].title}`,
		placeHolder: 'Select options, or press Enter to continue without any',
		canPickMany: true,
	});
	return picked && applyOptions(picked.map(({ option }) => option));
}

/** Asks how to perturb the completions in an SFT file. Returns undefined if the user canceled. */
async function pickPerturbation(): Promise<Perturbation | undefined> {
	const items = perturbationKinds.map((kind) => ({
		label: perturbations[kind],
		description: kind,
		perturbation: kind,
	}));
	const picked = await showQuickPick(items, {
		title: 'Perturbed completions',
		placeHolder: 'Select a perturbation (Li et al. 2025)',
	});
	return picked && { kind: picked.perturbation, share: halves.includes(picked.perturbation) ? 0.5 : 1 };
}

/**
 * Implements *Export...*: asks for the format and file, writes the file with progress, and shows a summary. Returns
 * whether the export was completed.
 */
export async function exportDialog(
	run: RunContent,
	request: ExportRequest,
	name: string,
	notices: Notices,
): Promise<boolean> {
	const what = selectionWords(request);
	const format = await pickFormat(what);
	if (format === null) return false;
	const choices = await pickChoices(format, what);
	if (choices === undefined) return false;
	const perturb = choices.perturbed ? await pickPerturbation() : null;
	if (perturb === undefined) return false;
	const { suffix, from } = exportFormatInfos[format];
	const plain = (name || basename(run.folder)).replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+/, '') || 'rollouts';
	const target = await vscode.window.showSaveDialog({
		defaultUri: vscode.Uri.joinPath(vscode.Uri.file(dirname(run.folder)), `${plain.slice(0, 80)}${suffix}`),
		filters: { 'JSON Lines': ['jsonl'] },
		title: `Export ${what}`,
	});
	if (!target) return false;
	const { split = 'train' } = request;
	const selection = { ...selectionOf(request), ...choices.selection };
	try {
		const summary = await withProgress({ title: 'Exporting rollouts', why: what }, async (signal) => {
			// The save dialog has already asked for confirmation to replace an existing file.
			const options: ExportOptions = { replace: true, signal };
			if (from === 'feedback') return exportFeedback(run, { split, selection }, target.fsPath, options);
			if (from === 'labels') {
				const { neutral } = choices;
				const labels = {
					...{ as: format as LabelFormat, now: Date.now() / 1000, split, selection },
					...(neutral && { neutral }),
				};
				return exportStepLabels({ folder: run.folder, format: run.format, name }, labels, target.fsPath, options);
			}
			const tags = await runTags(run);
			const as = format as 'sft' | 'dpo' | 'cases';
			const wanted = { as, split, selection, tags, ...choices.rollouts, ...(perturb && { perturb }) };
			return exportRollouts(run, wanted, target.fsPath, options);
		});
		showSummary(summary, notices, target);
		return true;
	} catch (error) {
		notices.failure(error);
		return false;
	}
}

function showSummary(summary: ExportSummary, notices: Notices, target: vscode.Uri): void {
	const { written, leftOut, unreadable, what } = summary;
	const parts = [`Wrote ${formatCounted(written, 'line')} to ${displayText(basename(target.fsPath), 80)}.`];
	const left = leftOut.slice(0, 3).map((one) => leftOutText(one, what));
	if (left.length > 0) parts.push(`Skipped: ${left.join(', ')}${leftOut.length > 3 ? ', …' : ''}.`);
	if (unreadable > 0) parts.push(`Unreadable records: ${unreadable}.`);
	notices.information(parts.join(' '), [
		{ title: 'Open File', run: () => vscode.commands.executeCommand('vscode.open', target) },
	]);
}

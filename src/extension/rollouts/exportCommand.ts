import { isAbsolute } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { type ExportFormat, exportFormatInfos, exportFormats } from '../../core/export/exportFormat.ts';
import { exportFeedback } from '../../runs/exportFeedback.ts';
import { exportRollouts } from '../../runs/exportRollouts.ts';
import { exportStepLabels, type LabelFormat } from '../../runs/exportStepLabels.ts';
import { openRun } from '../../runs/openRun.ts';
import type { ExportSummary, RolloutExport } from '../../runs/rolloutExport.ts';
import { runTags } from '../../runs/runTags.ts';
import type { Notices } from '../notices.ts';
import { exportDialog } from './exportDialog.ts';

/** Arguments provided by key bindings or other extensions to skip the dialogs. */
interface ExportArgument {
	readonly as: ExportFormat;
	/** Absolute path of the output file. An existing file is replaced. */
	readonly out: string;
	readonly step?: number;
	readonly group?: number;
}

function argumentOf(value: unknown): ExportArgument | null {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
	const { as, out, step, group } = value as Record<string, unknown>;
	if (as === undefined && out === undefined) return null;
	const format = exportFormats.find((name) => name === as);
	if (format === undefined || typeof out !== 'string' || out === '') {
		throw new Failure('invalid', 'Export requires "as" and "out".', `"as" must be one of ${exportFormats.join(', ')}.`);
	}
	// A relative path would be ambiguous, because the working directory of the window's process is arbitrary.
	if (!isAbsolute(out)) throw new Failure('invalid', `${out} is not an absolute path.`, 'Use an absolute path.');
	return {
		as: format,
		out,
		...(typeof step === 'number' ? { step } : {}),
		...(typeof group === 'number' ? { group } : {}),
	};
}

/**
 * Implements *Export Rollouts...* for an entire run, with dialogs unless the caller provides the format and output
 * file.
 * @returns the summary of an export without dialogs, or whether the dialogs were completed
 */
export async function exportRun(
	run: { readonly folder: string; readonly name: string },
	argument: unknown,
	notices: Notices,
): Promise<ExportSummary | boolean> {
	const content = await openRun(run.folder);
	const given = argumentOf(argument);
	if (given === null) {
		const all = { split: 'train', scope: 'step', step: null, group: null, rollouts: [] } as const;
		return exportDialog(content, { ...all, rollouts: [] }, run.name, notices);
	}
	const { as, out, step, group } = given;
	const selection = {
		...(step === undefined || group !== undefined ? {} : { steps: { from: step, to: step } }),
		...(step === undefined || group === undefined ? {} : { groups: [{ step, group }] }),
	};
	const options = { replace: true };
	if (exportFormatInfos[as].from === 'feedback') return exportFeedback(content, { selection }, out, options);
	if (exportFormatInfos[as].from === 'labels') {
		const labels = { as: as as LabelFormat, now: Date.now() / 1000, selection };
		return exportStepLabels({ folder: content.folder, format: content.format, name: run.name }, labels, out, options);
	}
	const request: RolloutExport = {
		as: as as RolloutExport['as'],
		split: 'train',
		selection,
		tags: await runTags(content),
	};
	return exportRollouts(content, request, out, options);
}

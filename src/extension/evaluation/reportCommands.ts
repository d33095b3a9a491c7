import { basename, dirname, join } from 'node:path';
import { runFiles } from '../../runs/runFiles.ts';
import { isPipelineFolder } from '../../runs/runFolders.ts';
import { commandIds } from '../ids.ts';
import { requireTrust } from '../launchSettings.ts';
import type { PipelineStore } from '../pipelines/pipelineStore.ts';
import { showQuickPick } from '../quickInput.ts';
import type { RunPicker } from '../runPicker.ts';
import { displayText, nameOf, type RunView } from '../runView.ts';
import { type EvaluationNeeds, evaluateCheckpoint, showEvaluations } from './evaluateCheckpoint.ts';
import { exportReport } from './exportReport.ts';

export interface ReportNeeds extends EvaluationNeeds {
	readonly picker: RunPicker;
	readonly pipelines: PipelineStore;
}

interface ReportSource {
	readonly folder: string;
	readonly name: string;
}

const anyRun = (view: RunView) => view.record !== null;
const ownRun = (view: RunView) => view.record !== null && view.record.engine !== 'foreign';

/** Handlers for the report and evaluation commands. All of them start separate processes. */
export function reportCommands({ picker, pipelines, ...needs }: ReportNeeds) {
	/** Returns the pipeline for a folder passed by a tree row, or null if the argument is something else. */
	const pipelineAt = async (argument: unknown): Promise<ReportSource | null> => {
		if (typeof argument !== 'string' || !(await isPipelineFolder(argument))) return null;
		return { folder: argument, name: pipelines.get(argument)?.name ?? basename(argument) };
	};
	/** Returns the run or pipeline in the arguments, or asks the user to pick one. */
	const sourceOf = async (args: readonly unknown[]): Promise<ReportSource | undefined> => {
		const known = pipelines.own;
		if (args[0] === undefined && known.length > 0) {
			const choices = [
				...known.map(({ folder, name, status }) => ({
					...{ label: `$(type-hierarchy) ${displayText(name)}`, description: `pipeline, ${status}` },
					source: { folder, name },
				})),
				{ label: '$(graph-line) A run...', description: 'or an individual stage', source: null },
			];
			const picked = await showQuickPick(choices, { title: 'Export a pipeline or run report' });
			if (picked === undefined) return undefined;
			if (picked.source !== null) return picked.source;
		}
		const question = { title: 'Export a run report', what: 'can be read', applies: anyRun };
		const view = await picker.one(args, question);
		return view && { folder: view.folder, name: nameOf(view) };
	};
	return {
		/** @returns the file */
		[commandIds.exportReport]: async (...args: unknown[]) => {
			requireTrust();
			const source = (await pipelineAt(args[0])) ?? (await sourceOf(args));
			return source && exportReport(source, args[1], needs);
		},
		/** @returns the evaluation result */
		[commandIds.evaluateCheckpoint]: async (...args: unknown[]) => {
			requireTrust();
			const question = { title: 'Evaluate a run checkpoint', what: 'has checkpoints', applies: ownRun };
			const view = await picker.one(args, question);
			return view && evaluateCheckpoint(view, args[1], needs);
		},
		/** Shows the evaluations of a run or pipeline, scrolled to a specific one if requested. @returns the text */
		[commandIds.showEvaluations]: async (...args: unknown[]) => {
			requireTrust();
			const named = typeof args[0] === 'string' ? args[0] : '';
			const isStage = pipelines.evaluationAt(named) !== undefined;
			const pipeline = await pipelineAt(isStage ? dirname(named) : named);
			if (pipeline !== null) return showEvaluations(pipeline, needs, isStage ? basename(named) : null);
			const run = runOfEvaluation(named);
			const question = { title: "Show a run's evaluations", what: 'has evaluations', applies: ownRun };
			const view = await picker.one(run === null ? args : [run], question);
			if (view === undefined) return undefined;
			const source = { folder: view.folder, name: nameOf(view) };
			return showEvaluations(source, needs, run === null ? null : basename(named));
		},
	};
}

/**
 * Returns the run that contains an evaluation folder, `<run>/annotations/evaluations/<name>`, or null for any other
 * folder.
 */
function runOfEvaluation(folder: string): string | null {
	const evaluations = dirname(folder);
	const run = dirname(dirname(evaluations));
	return evaluations === join(run, runFiles.annotations, 'evaluations') ? run : null;
}

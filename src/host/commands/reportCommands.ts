import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { CommandTable } from '../commandTable.ts';
import type { EvaluationNeeds } from '../evaluation/evaluateCheckpoint.ts';
import { commandIds } from '../ids.ts';
import { requireTrust } from '../launchSettings.ts';
import type { RunPicker } from '../runPicker.ts';
import { nameOf, type RunView } from '../runView.ts';

interface Needs extends EvaluationNeeds {
	readonly picker: RunPicker;
}

const anyRun = (view: RunView) => view.record !== null;
const ownRun = (view: RunView) => view.record !== null && view.record.engine !== 'foreign';

/** What a run came to, as a file; evaluations of its checkpoints. Programs are started for both. */
export function addReportCommands(table: CommandTable, { picker, ...needs }: Needs): void {
	/** @returns the file */
	table.add(commandIds.exportReport, async (...args) => {
		requireTrust();
		const pipeline = await pipelineOf(args[0]);
		const view =
			pipeline ??
			(await picker.one(args, { title: 'Export the report of a run', what: 'can be read', applies: anyRun }));
		if (view === undefined) return undefined;
		const source = 'name' in view ? view : { folder: view.folder, name: nameOf(view) };
		const { exportReport } = await import('../evaluation/exportReport.ts');
		return exportReport(source, args[1], needs);
	});
	/** @returns what it came to */
	table.add(commandIds.evaluateCheckpoint, async (...args) => {
		requireTrust();
		const question = { title: 'Evaluate a checkpoint of a run', what: 'has checkpoints', applies: ownRun };
		const view = await picker.one(args, question);
		if (view === undefined) return undefined;
		const { evaluateCheckpoint } = await import('../evaluation/evaluateCheckpoint.ts');
		return evaluateCheckpoint(view, args[1], needs);
	});
	/** @returns the text */
	table.add(commandIds.showEvaluations, async (...args) => {
		requireTrust();
		const view = await picker.one(args, { title: 'Evaluations of a run', what: 'has evaluations', applies: ownRun });
		if (view === undefined) return undefined;
		const { showEvaluations } = await import('../evaluation/evaluateCheckpoint.ts');
		return showEvaluations(view, needs);
	});
}

/** A pipeline's folder, as its row in the tree passes it; null: something else was named. */
async function pipelineOf(argument: unknown): Promise<{ readonly folder: string; readonly name: string } | null> {
	if (typeof argument !== 'string') return null;
	const record = await lstat(join(argument, 'pipeline.json')).catch(() => null);
	return record?.isFile() ? { folder: argument, name: basename(argument) } : null;
}

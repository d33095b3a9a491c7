import type { RunRegistry } from '../../runs/runRegistry.ts';
import { EvaluationStore } from '../evaluation/evaluationStore.ts';
import { commandIds } from '../ids.ts';
import { PipelineStore } from '../pipelines/pipelineStore.ts';
import { RunContext } from '../runContext.ts';
import { RunPicker } from '../runPicker.ts';
import { RunScope } from '../runScope.ts';
import { RegisteredRuns, WorkspaceRuns } from '../runSources.ts';
import { RunStore } from '../runStore.ts';
import { RunsTree } from '../runsTree.ts';
import { StatusBar } from '../statusBar.ts';
import type { WindowServices } from './registerWindow.ts';

/** Known runs with their pipelines and evaluations, and the commands that edit and move them. */
export interface RunServices {
	/** Loads the registry of the runs that this user started or opened. */
	readonly registry: () => Promise<RunRegistry>;
	readonly workspaceRuns: WorkspaceRuns;
	readonly store: RunStore;
	readonly pipelines: PipelineStore;
	readonly evaluations: EvaluationStore;
	readonly tree: RunsTree;
	readonly picker: RunPicker;
}

export function registerRuns({ context, keep, log, table, notices }: WindowServices): RunServices {
	const warn = (error: unknown) => log.error(String(error));
	const registry = async () => new (await import('../../runs/runRegistry.ts')).RunRegistry();
	const workspaceRuns = keep(new WorkspaceRuns());
	const scope = keep(new RunScope(context.workspaceState));
	const store = keep(new RunStore([new RegisteredRuns(registry), workspaceRuns], warn, scope));
	const pipelines = keep(new PipelineStore(store, warn));
	const evaluations = keep(new EvaluationStore(store, warn));
	const tree = keep(new RunsTree(store, pipelines, evaluations));
	const picker = new RunPicker(store, tree);
	keep(new StatusBar(store));
	keep(new RunContext(store));
	table.addLater([commandIds.renameRun, commandIds.editTags, commandIds.editNote], async () => {
		const { describeCommands } = await import('../commands/describeCommands.ts');
		return describeCommands({ picker, store });
	});
	table.addLater(
		[commandIds.moveToTrash, commandIds.showDiskUse, commandIds.pruneCheckpoints, commandIds.pruneTokenLogs],
		async () => {
			const { diskCommands } = await import('../commands/diskCommands.ts');
			return diskCommands({ picker, store, notices, registry: await registry() });
		},
	);
	table.addLater([commandIds.exportRollouts], async () => {
		const { exportCommands } = await import('../commands/exportCommands.ts');
		return exportCommands({ picker, notices });
	});
	return { registry, workspaceRuns, store, pipelines, evaluations, tree, picker };
}

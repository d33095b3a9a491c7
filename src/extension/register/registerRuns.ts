import { RunRegistry } from '../../runs/runRegistry.ts';
import { addControlCommands } from '../commands/controlCommands.ts';
import { addDescribeCommands } from '../commands/describeCommands.ts';
import { addDiskCommands } from '../commands/diskCommands.ts';
import { addExportCommands } from '../commands/exportCommands.ts';
import { EvaluationStore } from '../evaluation/evaluationStore.ts';
import { PipelineStore } from '../pipelines/pipelineStore.ts';
import { RunContext } from '../runContext.ts';
import { RunController } from '../runController.ts';
import { RunPicker } from '../runPicker.ts';
import { RegisteredRuns, WorkspaceRuns } from '../runSources.ts';
import { RunStore } from '../runStore.ts';
import { RunsTree } from '../runsTree.ts';
import { StatusBar } from '../statusBar.ts';
import type { WindowServices } from './registerWindow.ts';

/** The known runs with their pipelines and evaluations, and the commands that control them. */
export interface RunServices {
	readonly registry: RunRegistry;
	readonly workspaceRuns: WorkspaceRuns;
	readonly store: RunStore;
	readonly pipelines: PipelineStore;
	readonly evaluations: EvaluationStore;
	readonly tree: RunsTree;
	readonly picker: RunPicker;
	readonly controller: RunController;
}

export function registerRuns({ keep, log, table, notices, client }: WindowServices): RunServices {
	const warn = (error: unknown) => log.error(String(error));
	const registry = new RunRegistry();
	const workspaceRuns = keep(new WorkspaceRuns());
	const store = keep(new RunStore([new RegisteredRuns(registry), workspaceRuns], warn));
	const pipelines = keep(new PipelineStore(store, warn));
	const evaluations = keep(new EvaluationStore(store, warn));
	const tree = keep(new RunsTree(store, pipelines, evaluations));
	const picker = new RunPicker(store, tree);
	const controller = new RunController(store, notices, client);
	keep(new StatusBar(store));
	keep(new RunContext(store));
	addControlCommands(table, { picker, controller, notices });
	addDescribeCommands(table, { picker, store });
	addDiskCommands(table, { picker, store, registry, notices });
	addExportCommands(table, { picker, notices });
	return { registry, workspaceRuns, store, pipelines, evaluations, tree, picker, controller };
}

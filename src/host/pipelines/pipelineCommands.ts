import type { CommandTable } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import type { PipelineNeeds } from './pipelineActions.ts';

/** Commands on a pipeline; what they do is loaded when one is used. */
export function addPipelineCommands(table: CommandTable, needs: PipelineNeeds): void {
	const load = async () => (await import('./pipelineActions.ts')).pipelineActions(needs);
	table.add(commandIds.resumePipeline, async (argument?: unknown) => (await load()).resume(argument));
	table.add(commandIds.stopPipeline, async (argument?: unknown) => (await load()).stop(argument));
	table.add(commandIds.openPipeline, async (argument?: unknown) => (await load()).open(argument));
}

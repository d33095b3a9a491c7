import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds } from '../ids.ts';
import type { PipelineNeeds, pipelineActions } from './pipelineActions.ts';

const actions: readonly (readonly [CommandId, keyof ReturnType<typeof pipelineActions>])[] = [
	[commandIds.resumePipeline, 'resume'],
	[commandIds.stopPipeline, 'stop'],
	[commandIds.openPipeline, 'open'],
	[commandIds.startPipelineAgain, 'again'],
	[commandIds.openPipelineFolder, 'reveal'],
	[commandIds.openPipelineLog, 'log'],
	[commandIds.openPipelineRecipe, 'recipe'],
	[commandIds.trashPipeline, 'trash'],
];

/** Registers the pipeline commands; their code is loaded on first use. */
export function addPipelineCommands(table: CommandTable, needs: PipelineNeeds): void {
	for (const [id, name] of actions) {
		table.add(id, async (argument?: unknown) => {
			const { pipelineActions } = await import('./pipelineActions.ts');
			return pipelineActions(needs)[name](argument);
		});
	}
}

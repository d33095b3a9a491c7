import type { CommandTable } from '../commandTable.ts';
import type { ReportNeeds, reportActions } from '../evaluation/reportActions.ts';
import { type CommandId, commandIds } from '../ids.ts';

const actions: readonly (readonly [CommandId, keyof ReturnType<typeof reportActions>])[] = [
	[commandIds.exportReport, 'export'],
	[commandIds.evaluateCheckpoint, 'evaluate'],
	[commandIds.showEvaluations, 'show'],
];

/**
 * Registers the commands for reports on runs and pipelines and for checkpoint evaluations. Their code is loaded on
 * first use.
 */
export function addReportCommands(table: CommandTable, needs: ReportNeeds): void {
	for (const [id, name] of actions) {
		table.add(id, async (...args) => {
			const { reportActions } = await import('../evaluation/reportActions.ts');
			return reportActions(needs)[name](...args);
		});
	}
}

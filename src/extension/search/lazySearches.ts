import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds } from '../ids.ts';
import type { Lazy } from '../lazy.ts';
import type { SearchCommands } from './searchCommands.ts';
import type { SearchWorkbench } from './searchWorkbench.ts';

/** All search features, loaded when the view is shown or a search command runs. */
export type LazySearches = Lazy<SearchWorkbench>;

/** Registers the commands for searches in the *Searches* view, dataset files, and runs. */
export function addSearchCommands(table: CommandTable, searches: LazySearches): void {
	const add = (id: CommandId, run: (commands: SearchCommands, args: unknown[]) => unknown) =>
		table.add(id, async (...args: unknown[]) => run((await searches.get()).commands, args));
	add(commandIds.newSearch, (commands, [preset]) => commands.newSearch(preset));
	add(commandIds.searchAgain, (commands, [log]) => commands.searchAgain(log));
	add(commandIds.searchRow, (commands, [file, line, preset]) => commands.searchRow(file, line, preset));
	add(commandIds.searchFromCheckpoint, (commands, [run, step, preset]) =>
		commands.searchFromCheckpoint(run, step, preset),
	);
	add(commandIds.openSearchTree, (commands, [log, place]) => commands.openTree(log, place));
	add(commandIds.compareSearches, (commands, [log, selected]) => commands.compare(log, selected));
	table.add(commandIds.compareStrategies, async (argument: unknown) =>
		(await searches.get()).comparisons.run(argument),
	);
	add(commandIds.runMoreOfSearch, (commands, [log, budget]) => commands.runMore(log, budget));
	add(commandIds.stopSearch, (commands, [log]) => commands.stop(log));
	add(commandIds.openSearchLog, (commands, [log]) => commands.openLog(log));
	add(commandIds.renameSearch, (commands, [log, name]) => commands.rename(log, name));
	add(commandIds.deleteSearch, (commands, [log, selected]) => commands.remove(log, selected));
	table.add(commandIds.research, async (preset: unknown) => (await searches.get()).research.research(preset));
	table.add(commandIds.exportResearchReport, async (log: unknown, target: unknown) =>
		(await searches.get()).research.exportReport(log, target),
	);
	add(commandIds.refreshSearches, (commands) => commands.refresh());
}

import type { CommandTable } from '../../commandTable.ts';
import { commandIds } from '../../ids.ts';
import type { PlaygroundCommandNeeds } from './playgroundNeeds.ts';

/** Registers *Open Playground* and *Try in Playground*, which opens it with a run or policy. */
export function addPlaygroundCommands(table: CommandTable, needs: PlaygroundCommandNeeds): void {
	const place = () => import('./playgroundPlace.ts');
	table.add(commandIds.openPlayground, async (...given: unknown[]) =>
		needs.playgrounds.open((await place()).placeOf(given)),
	);
	table.add(commandIds.tryInPlayground, async (argument: unknown, step: unknown) => {
		const found = await (await place()).askPlace(argument, step, needs);
		return found === undefined ? undefined : needs.playgrounds.open(found);
	});
}

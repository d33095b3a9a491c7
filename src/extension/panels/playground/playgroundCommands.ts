import type { CommandTable } from '../../commandTable.ts';
import { commandIds } from '../../ids.ts';
import type { LazyPanels } from '../../lazyPanels.ts';
import type { LazyPolicies } from '../../policies/lazyPolicies.ts';
import type { RunPicker } from '../../runPicker.ts';
import type { PlaygroundPlace } from './playgroundPanel.ts';

export interface PlaygroundCommandNeeds {
	readonly playgrounds: LazyPanels<never, PlaygroundPlace>;
	readonly picker: RunPicker;
	readonly policies: LazyPolicies;
}

/** *Open Playground*, and *Try in Playground* of a run or a policy. */
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

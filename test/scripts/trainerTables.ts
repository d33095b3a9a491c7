import { datasetPresets } from '../../src/core/dataset/presets.ts';
import { asyncKeys, asyncOptions } from '../../src/core/recipe/asyncLimits.ts';
import { trainerKeysElsewhere } from '../../src/core/recipe/trainerKeysElsewhere.ts';

const textOf = (table: object): string => `${JSON.stringify(table, null, '\t')}\n`;

/** The trainer's generated tables: path in its package, and text. */
export const trainerTables: Readonly<Record<string, string>> = {
	'data/presets.json': textOf(datasetPresets),
	'trl/elsewhere.json': textOf(trainerKeysElsewhere),
	'trl/async_limits.json': textOf({ keys: asyncKeys, options: asyncOptions }),
};

/** URL of a file in the trainer's package. */
export const trainerFile = (path: string): URL =>
	new URL(`../../src/engines/trainer/reasoning_lab_trainer/${path}`, import.meta.url);

import type { Recipe } from '../../protocol/recipe.ts';
import { defaultColumns } from '../dataset/datasetRows.ts';
import { datasetPresets } from '../dataset/presets.ts';
import { resolveTaskSettings } from '../dataset/settings.ts';
import { hasHubDatasetForm } from './hubId.ts';
import type { Machine } from './machine.ts';
import { recipeDefaults } from './recipeDefaults.ts';
import { given } from './recipeValues.ts';
import type { ResolvedDataset } from './resolvedRecipe.ts';

/** A hub id is left as it is, unless something lies at the path that it would be; anything else is made absolute. */
export function dataPath(path: string, machine: Machine): string {
	const absolute = machine.resolvePath(path);
	return hasHubDatasetForm(path) && !machine.exists?.(absolute) ? path : absolute;
}

/** The dataset with columns and places filled in. `embedded`: every path is a file's. */
export function resolveDataset(dataset: Recipe['dataset'], embedded: boolean, machine: Machine): ResolvedDataset {
	if ('task' in dataset) return resolveTaskSettings(dataset) as ResolvedDataset;
	const { path, config, split, heldOut, ...rest } = dataset;
	const preset = rest.preset === undefined ? null : datasetPresets[rest.preset];
	const columns = preset === null ? defaultColumns : pickColumns(preset);
	// A preset's own hub dataset, or another one with its columns.
	const named = path ?? preset?.path ?? '';
	const place = embedded ? machine.resolvePath(named) : dataPath(named, machine);
	const hub = place === named && hasHubDatasetForm(named);
	const own = hub && named === preset?.path;
	const measured = heldOut ?? (own ? (preset?.heldOut ?? undefined) : undefined);
	const configuration = config ?? (own ? (preset?.config ?? undefined) : undefined);
	return {
		...columns,
		heldOutShare: recipeDefaults.heldOutShare,
		...given(rest),
		path: place,
		heldOut: measured === undefined ? null : hub ? dataPath(measured, machine) : machine.resolvePath(measured),
		...(configuration === undefined ? {} : { config: configuration }),
		...(hub ? { split: split ?? (own ? preset?.split : undefined) ?? 'train' } : given({ split })),
	};
}

function pickColumns({ prompt, answer, solution }: typeof defaultColumns): typeof defaultColumns {
	return { prompt, answer, solution };
}

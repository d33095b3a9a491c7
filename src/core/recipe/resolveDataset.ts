import { defaultsOf } from '../../protocol/recipeKeys/keyDefaults.ts';
import { fileDatasetSchema, type Recipe } from '../../protocol/recipeKeys/recipe.ts';
import type { KeyContext } from '../../protocol/recipeKeys/recipeKey.ts';
import { datasetPresets } from '../dataset/presets.ts';
import { resolveTaskSettings } from '../dataset/settings.ts';
import { hasHubDatasetForm } from './hubId.ts';
import { given } from './recipeValues.ts';
import type { ResolvedDataset } from './resolvedRecipe.ts';

/** Returns the dataset with its columns and locations filled in. */
export function resolveDataset(dataset: Recipe['dataset'], { places }: KeyContext): ResolvedDataset {
	if ('task' in dataset) return resolveTaskSettings(dataset) as ResolvedDataset;
	const { path, config, split, heldOut, ...rest } = dataset;
	const preset = rest.preset === undefined ? null : datasetPresets[rest.preset];
	// Either the preset's own Hub dataset, or a different one with the same columns.
	const named = path ?? preset?.path ?? '';
	const place = places.data(named);
	const hub = place === named && hasHubDatasetForm(named);
	const own = hub && named === preset?.path;
	const measured = heldOut ?? (own ? (preset?.heldOut ?? undefined) : undefined);
	const configuration = config ?? (own ? (preset?.config ?? undefined) : undefined);
	return {
		...defaultsOf(fileDatasetSchema),
		...(preset === null ? {} : { prompt: preset.prompt, answer: preset.answer, solution: preset.solution }),
		...given(rest),
		path: place,
		heldOut: measured === undefined ? null : hub ? places.data(measured) : places.file(measured),
		...(configuration === undefined ? {} : { config: configuration }),
		...(hub ? { split: split ?? (own ? preset?.split : undefined) ?? 'train' } : given({ split })),
	};
}

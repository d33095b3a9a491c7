import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { environmentData } from '../episodes/environmentData.ts';
import { environmentSource, sourcePlace } from '../episodes/environmentSource.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type SearchEnvironment, type SearchSpec, searchEnvironmentSchema } from '../protocol/searchSpec.ts';
import type { SearchProblem } from '../protocol/treeLog.ts';
import { OpenEpisodes } from '../search/episodes/openEpisodes.ts';
import { argumentsOf, hostOptions, requireTimeout } from './environmentArguments.ts';
import { group, integer, type OptionValues, path } from './options.ts';

/** Options for episode searches. */
export const episodeOptions = group('Environment', {
	environment: path('E', 'Environment file, folder, package, or server address. Each search step is then one turn.'),
	turns: integer('N', 'Max turns with tool calls per episode (default: 20).', 1),
	...hostOptions,
});

type EpisodeValues = OptionValues<typeof episodeOptions>;

const episodeOnly = ['turns', 'timeout', 'arguments', 'python'] as const;

/** Maximum number of rows to read when looking for the requested one. */
const maxRows = 100_000;

/**
 * Returns the environment given by the options or a spec; null if there is none. Fails with the same errors as
 * `environmentSource`.
 */
export async function environmentOf(
	values: EpisodeValues,
	spec: Pick<SearchSpec, 'environment'> = {},
): Promise<SearchEnvironment | null> {
	const { environment: written, turns, timeout, arguments: given } = values;
	requireTimeout(timeout);
	const more = {
		...(turns === undefined ? {} : { maxTurns: turns }),
		...(timeout === undefined ? {} : { turnSeconds: timeout }),
	};
	if (written === undefined) {
		if (spec.environment !== undefined) return { ...spec.environment, ...more };
		const spare = episodeOnly.filter((name) => values[name] !== undefined);
		if (spare.length === 0) return null;
		const names = spare.map((name) => `--${name}`).join(' and ');
		throw new Failure('invalid', `${names} cannot be used without an environment.`, 'Add --environment.');
	}
	const parsed = argumentsOf(given);
	const own = parsed === undefined ? {} : { arguments: parsed };
	const place = sourcePlace(await environmentSource(written, own));
	return decodeOrThrow(searchEnvironmentSchema, { ...place, ...own, ...more }, 'The environment');
}

/**
 * Returns a dataset row as the problem for a search over episodes. Fails with `missing`, and with the same errors as
 * `environmentData`.
 */
export async function environmentProblem(
	environment: SearchEnvironment,
	{
		dataset,
		row = 1,
		python,
	}: { readonly dataset?: string | undefined; readonly row?: number | undefined; readonly python?: string | undefined },
): Promise<SearchProblem> {
	const { file } = environment;
	const given = dataset === undefined ? {} : { dataset: resolve(dataset) };
	const own =
		file === undefined && dataset === undefined ? { own: (count: number) => ownRows(environment, count, python) } : {};
	const place = file ?? environment.package ?? environment.server ?? '';
	const wanted = 'own' in own ? row : maxRows;
	const data = await environmentData({ file: place, rows: wanted, seed: 1, ...given, ...own });
	const found = data.rows.find((one) => one.row === row - 1);
	if (found === undefined) {
		const where = data.described ?? 'The environment';
		throw new Failure('missing', `${where} has no row ${row}.`, 'Choose another row with --row.');
	}
	return { prompt: '', answer: null, row: { ...found.columns } };
}

async function ownRows(environment: SearchEnvironment, count: number, python: string | undefined) {
	const episodes = await OpenEpisodes.open(environment, { python, seed: 1 });
	try {
		return await episodes.rows(count);
	} finally {
		episodes.dispose();
	}
}

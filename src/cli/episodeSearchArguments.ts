import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { environmentData } from '../episodes/environmentData.ts';
import { environmentSource } from '../episodes/environmentSource.ts';
import { type SearchEnvironment, type SearchSpec, searchEnvironmentSchema } from '../protocol/searchSpec.ts';
import type { SearchProblem } from '../protocol/treeLog.ts';
import { OpenEpisodes } from '../search/episodes/openEpisodes.ts';
import { argumentsOf } from './environmentArguments.ts';
import { group, integer, type OptionValues, path, text } from './options.ts';

/** Options for searches over episodes. */
export const episodeOptions = group('Environment', {
	environment: path(
		'E',
		'Environment file, folder, package, or server address. Each step of the search is then a turn.',
	),
	turns: integer('N', 'Max number of turns with calls per episode (default 20).', 1),
	arguments: text('JSON', 'Arguments of a package or server, as an object.'),
});

type EpisodeValues = OptionValues<typeof episodeOptions>;

/** Number of rows to read to find the requested one. */
const maxRows = 100_000;

/**
 * Returns the environment given by the options or a spec; null if there is none. Fails with the same errors as
 * `environmentSource`.
 */
export async function environmentOf(
	values: EpisodeValues,
	spec: Pick<SearchSpec, 'environment'> = {},
): Promise<SearchEnvironment | null> {
	const { environment: written, turns, arguments: given } = values;
	const more = turns === undefined ? {} : { maxTurns: turns };
	if (written === undefined) {
		if (spec.environment !== undefined) return { ...spec.environment, ...more };
		if (turns === undefined && given === undefined) return null;
		throw new Failure('invalid', '--turns and --arguments require an environment.', 'Add --environment.');
	}
	const parsed = argumentsOf(given);
	const own = parsed === undefined ? {} : { arguments: parsed };
	const { kind, file } = await environmentSource(written, own);
	const place = kind === 'file' ? { file } : /^https?:/.test(file) ? { server: file } : { package: file };
	const { maxTurns, turnSeconds } = searchEnvironmentSchema.entries;
	const defaults = { maxTurns: maxTurns.default as number, turnSeconds: turnSeconds.default as number };
	return { ...defaults, ...place, ...own, ...more };
}

/** Returns a dataset row as the problem of a search over episodes. Fails with `missing` or like `environmentData`. */
export async function environmentProblem(
	environment: SearchEnvironment,
	{ dataset, row = 1 }: { readonly dataset?: string | undefined; readonly row?: number | undefined },
): Promise<SearchProblem> {
	const { file } = environment;
	const given = dataset === undefined ? {} : { dataset: resolve(dataset) };
	const own =
		file === undefined && dataset === undefined ? { own: (count: number) => ownRows(environment, count) } : {};
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

async function ownRows(environment: SearchEnvironment, count: number) {
	const episodes = await OpenEpisodes.open(environment, { seed: 1 });
	try {
		return await episodes.rows(count);
	} finally {
		episodes.dispose();
	}
}

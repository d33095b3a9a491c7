import { basename, dirname, resolve } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { promptText } from '../../core/episode/promptText.ts';
import { environmentName } from '../../core/episode/sameEnvironment.ts';
import { datasetComment } from '../../core/reward/verification/datasetComment.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import type { ComparedProblem, ComparedProblemsSpec, ProblemsSpec } from '../../protocol/strategyComparison.ts';
import { readHead } from '../../rewards/rewardData.ts';
import { numberOf, openRows } from '../../runs/dataset/tableProblems.ts';
import { openProblemSet, type ProblemFault } from '../problemSet.ts';
import type { OpenEpisodes } from './openEpisodes.ts';

type Columns = Readonly<Record<string, unknown>>;

export interface EpisodeProblemsOptions {
	readonly problems: ComparedProblemsSpec;
	/** The environment, with absolute paths. */
	readonly environment: SearchEnvironment;
	readonly episodes: Pick<OpenEpisodes, 'rows'>;
	/** Base folder for relative paths. */
	readonly folder: string;
	/** Called for each row that is skipped because it cannot be read. */
	readonly onFault: (fault: ProblemFault) => void;
}

/**
 * Returns the rows that episodes are played on, as problems, in order. Unlike questions, they need no prompt, and two
 * rows can have the same prompt. Every row has every column; missing values are null, as in a dataset. Fails with
 * `missing` or `invalid`, and with the same errors as `OpenEpisodes.rows` and `openProblemSet`.
 */
export async function episodeProblems(options: EpisodeProblemsOptions): Promise<ComparedProblem[]> {
	const { problems, folder, onFault } = options;
	if (problems.from !== 'environment') return await specifiedRows(problems, folder, onFault);
	return problemsOf(await environmentRows(options, problems.limit));
}

/** Returns the rows of a dataset, run or generator, in the same form as `episodeProblems`. */
export async function specifiedRows(
	problems: ProblemsSpec,
	folder: string,
	onFault: EpisodeProblemsOptions['onFault'],
): Promise<ComparedProblem[]> {
	if (problems.from === 'file') {
		const { limit = Number.POSITIVE_INFINITY, prompt } = problems;
		return problemsOf(await fileRows(resolve(folder, problems.path), limit, onFault), prompt);
	}
	const rows: Columns[] = [];
	const set = await openProblemSet(problems, folder, ({ key, row }) => JSON.stringify([key, row]));
	for await (const { row } of set.problems(onFault)) rows.push(row);
	if (rows.length === 0) throw new Failure('invalid', `${set.name} has no problems.`);
	return problemsOf(rows);
}

/** @param column prompt column for rows without `prompt` */
function problemsOf(rows: readonly Columns[], column = 'prompt'): ComparedProblem[] {
	const names = new Set<string>();
	for (const row of rows) for (const name of Object.keys(row)) names.add(name);
	const none = Object.fromEntries([...names].map((name) => [name, null]));
	return rows.map((columns) => {
		const row = { ...none, ...columns };
		const prompt = promptText(row, null) || promptText({ prompt: columns[column] }, null);
		return { key: JSON.stringify(row), prompt, answer: null, row };
	});
}

async function environmentRows(
	{ environment, episodes, onFault }: EpisodeProblemsOptions,
	limit: number | undefined,
): Promise<Columns[]> {
	if (environment.file !== undefined) {
		return await fileRows(await namedDataset(environment.file), limit ?? Number.POSITIVE_INFINITY, onFault);
	}
	const rows = await episodes.rows(limit ?? maxOwnRows);
	if (rows.length > 0) return rows;
	throw new Failure('invalid', `${environmentName(environment)} has no rows.`, 'Choose a dataset file.');
}

/** Maximum number of rows from a library's environment. Some environments can generate any number of rows. */
const maxOwnRows = 500;

/** Returns the dataset specified by the comment in an environment file. Fails with `invalid` if there is none. */
async function namedDataset(file: string): Promise<string> {
	const comment = datasetComment(await readHead(file));
	const named = comment?.dataset ?? null;
	if (named !== null && 'path' in named && typeof named.path === 'string') return resolve(dirname(file), named.path);
	const why = comment?.fault ?? 'The file has no dataset comment.';
	throw new Failure(
		'invalid',
		`${basename(file)} has no rows: ${why}`,
		'Add "@dataset FILE", or choose a dataset file.',
	);
}

async function fileRows(path: string, limit: number, onFault: EpisodeProblemsOptions['onFault']): Promise<Columns[]> {
	const rows: Columns[] = [];
	const table = await openRows(path);
	try {
		for await (const row of table.scan()) {
			if (rows.length >= limit) break;
			const { value, fault, bare } = row;
			if (value !== null && !bare) rows.push(value);
			else onFault({ line: numberOf(row), message: bare ? 'is not a JSON object' : (fault ?? 'cannot be read') });
		}
	} finally {
		await table.close();
	}
	if (rows.length > 0) return rows;
	throw new Failure('invalid', `${path} has no rows.`, 'Write one JSON object per line.');
}

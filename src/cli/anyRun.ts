import { lstat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { openRun } from '../runs/openRun.ts';
import type { RunContent } from '../runs/runContent.ts';
import { runsBelow } from '../runs/runsBelow.ts';
import { findRun } from './findRun.ts';

/** Runs that are named when a folder holds several. */
const maxNamed = 10;

/**
 * The run of any trainer that a person names: a folder, the only one below a folder, or the name of a known run. Fails with
 * `invalid` when the folder holds none, and says what was looked for, or when it holds several, and says which.
 * @param format name of the format, where several fit
 */
export async function anyRun(named: string, format?: string): Promise<RunContent> {
	const options = format === undefined ? {} : { format };
	const path = resolve(named);
	if ((await lstat(path).catch(() => null)) === null) return openRun(await findRun(named), options);
	try {
		return await openRun(path, options);
	} catch (error) {
		const failure = Failure.from(error);
		if (failure.reason !== 'invalid') throw failure;
		const { runs } = await runsBelow(path, { runs: 100 });
		const fit = runs.filter((run) => format === undefined || run.formats.some(({ name }) => name === format));
		const [only] = fit;
		if (only === undefined) throw failure;
		if (fit.length === 1) return openRun(only.folder, options);
		const names = fit.slice(0, maxNamed).map((run) => `${relative(path, run.folder)} (${run.formats[0]?.title})`);
		const more = fit.length > maxNamed ? `, and ${fit.length - maxNamed} more` : '';
		throw new Failure('invalid', `${path} contains several runs: ${names.join(', ')}${more}.`, 'Choose one of them.');
	}
}

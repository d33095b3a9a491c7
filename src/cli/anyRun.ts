import { lstat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { openRun } from '../runs/openRun.ts';
import type { RunContent } from '../runs/runContent.ts';
import { runsBelow } from '../runs/runsBelow.ts';
import { findRun } from './findRun.ts';

/** Maximum number of runs listed in the error when a folder contains several. */
const maxNamed = 10;

/**
 * Finds a run from any trainer, given its folder, a folder that contains exactly one run, or the name of a known run.
 * Fails with `invalid` if the folder contains no runs (the error lists the files searched for) or several (the error
 * lists the runs).
 * @param format format name, needed if several formats match
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
		throw new Failure('invalid', `${path} contains several runs: ${names.join(', ')}${more}.`, 'Specify one of them.');
	}
}

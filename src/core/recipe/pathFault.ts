import { Failure } from '../../base/failure.ts';
import type { RecipeFix } from './recipeFix.ts';

/** An error with its path in the recipe, such as `['stages', 1, 'beta']`. */
export interface PathFault {
	readonly path: readonly (string | number)[];
	/** One sentence that names the key and suggests a fix. */
	readonly message: string;
	/** Change that corrects the error, if there is one. */
	readonly fix?: RecipeFix;
}

export type Report = (path: PathFault['path'], message: string) => void;

/** Runs a function and reports any Failure it throws as an error at the given path. */
export function attempt<T>(report: Report, path: PathFault['path'], make: () => T): T | null {
	try {
		return make();
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		report(path, error.toString());
		return null;
	}
}

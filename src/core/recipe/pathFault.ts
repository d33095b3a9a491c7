import { Failure } from '../../base/failure.ts';

/** A fault at a place of the recipe, such as `['stages', 1, 'beta']`. */
export interface PathFault {
	readonly path: readonly (string | number)[];
	/** One sentence that names the key and says what to do. */
	readonly message: string;
}

export type Report = (path: PathFault['path'], message: string) => void;

/** Collects what a thrown Failure says as a fault of that place. */
export function attempt<T>(report: Report, path: PathFault['path'], make: () => T): T | null {
	try {
		return make();
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		report(path, error.toString());
		return null;
	}
}

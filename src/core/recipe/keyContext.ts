import type { KeyContext } from '../../protocol/recipeKeys/recipeKey.ts';
import { hasHubDatasetForm, hasHubForm } from './hubId.ts';
import type { Machine } from './machine.ts';
import { defaultCompletionLength, type SequenceLengths } from './sequenceLengths.ts';

/** Default max_completion_length for file datasets; tasks determine their own. */
const fileCompletionLength = 64;

/**
 * Returns a stage's default completion length.
 * @param lengths lengths of the task's problems, or null for rows from a file
 */
export const completionLengthOf = (lengths: SequenceLengths | null): number =>
	lengths === null ? fileCompletionLength : defaultCompletionLength(lengths);

/** Creates the context from which recipe defaults are computed. */
export function keyContext(machine: Machine, embedded: boolean, lengths: SequenceLengths | null): KeyContext {
	const file = (path: string) => machine.resolvePath(path);
	/** Keeps a Hub id unchanged unless a file or folder exists at that path. */
	const orHub = (hasForm: (path: string) => boolean) => (path: string) => {
		const absolute = file(path);
		return !embedded && hasForm(path) && !machine.exists?.(absolute) ? path : absolute;
	};
	return {
		embedded,
		completionLength: completionLengthOf(lengths),
		places: {
			file,
			data: orHub(hasHubDatasetForm),
			model: orHub(hasHubForm),
			package: (name) => (/^\.|[\\/]/.test(name) ? file(name) : name),
		},
	};
}

import type { KeyContext } from '../../protocol/recipeKey.ts';
import { hasHubDatasetForm, hasHubForm } from './hubId.ts';
import type { Machine } from './machine.ts';
import { defaultCompletionLength, type SequenceLengths } from './sequenceLengths.ts';

/** max_completion_length of a file dataset; a task knows what it needs. */
const fileCompletionLength = 64;

/** Longest completion of a stage that does not say. @param lengths of a task's problems; null: rows of a file */
export const completionLengthOf = (lengths: SequenceLengths | null): number =>
	lengths === null ? fileCompletionLength : defaultCompletionLength(lengths);

/** What the defaults of a recipe are computed from. */
export function keyContext(machine: Machine, embedded: boolean, lengths: SequenceLengths | null): KeyContext {
	const file = (path: string) => machine.resolvePath(path);
	/** A hub id is left as it is, unless something lies at the path that it would be. */
	const orHub = (hasForm: (path: string) => boolean) => (path: string) => {
		const absolute = file(path);
		return !embedded && hasForm(path) && !machine.exists?.(absolute) ? path : absolute;
	};
	return {
		embedded,
		completionLength: completionLengthOf(lengths),
		places: { file, data: orHub(hasHubDatasetForm), model: orHub(hasHubForm) },
	};
}

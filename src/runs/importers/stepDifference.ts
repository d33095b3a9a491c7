import { Turns } from '../../files/turns.ts';
import type { FoundFile } from './folderView.ts';

/**
 * Compares the files of a step with an earlier state, yielding to other work because there can be a hundred thousand of
 * them.
 */
export async function differenceOf(
	before: readonly FoundFile[],
	later: readonly FoundFile[],
): Promise<'none' | 'more' | 'other'> {
	const turns = new Turns();
	const byPath = new Map<string, FoundFile>();
	for (const file of later) {
		byPath.set(file.path, file);
		if (turns.due) await turns.pass();
	}
	let more = later.length > before.length;
	for (const file of before) {
		const now = byPath.get(file.path);
		// A full file is replaced by a compressed copy, in which lines have the same positions.
		const sealed = now === undefined && byPath.has(`${file.path}.zst`);
		if (!sealed && (now === undefined || !isContinued(file, now))) return 'other';
		more ||= now?.stamp !== file.stamp;
		if (turns.due) await turns.pass();
	}
	return more ? 'more' : 'none';
}

/** Returns whether a file is unchanged or has only been appended to. Stamps start with the file's identity. */
function isContinued(before: FoundFile, later: FoundFile): boolean {
	const identity = (stamp: string) => stamp.split('-', 2).join('-');
	return later.size >= before.size && identity(before.stamp) === identity(later.stamp);
}

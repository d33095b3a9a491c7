import type { AnnotationReader } from './annotations.ts';
import type { PathMatch } from './diskFolder.ts';
import type { ForeignRollout } from './foreignRecord.ts';
import { stepIn } from './pathPattern.ts';
import type { RecordContext, RolloutFiles } from './runFormat.ts';

/** Looks up an entry in a companion file; null if there is no such file. */
export type Companion = ((key: string) => unknown) | null;

/** Data beyond the record itself that its format can use. */
export interface RecordExtras {
	readonly companion: Companion;
	readonly annotations: AnnotationReader | null;
	readonly learned: unknown;
}

/** Returns the context of a record that is read on its own. */
export function plainContext(match: PathMatch, record: number, learned?: unknown): RecordContext {
	return { file: match.path, parts: match.parts, step: stepIn(match.parts), record, learned };
}

/** Returns the context of a record together with data from other files. */
export async function fullContext(
	match: PathMatch,
	value: unknown,
	record: number,
	{ companion, annotations, learned }: RecordExtras,
): Promise<RecordContext> {
	const context = plainContext(match, record, learned);
	const found = await annotations?.of(value);
	return {
		...context,
		...(companion === null ? {} : { companion }),
		...(found === undefined ? {} : { annotations: (key: string) => found.get(key) ?? [] }),
	};
}

/** Lets a format interpret a record; an exception counts as a fault in the record. */
export function understood(
	files: RolloutFiles,
	record: unknown,
	context: RecordContext,
): readonly ForeignRollout[] | string {
	try {
		return files.rollouts(record, context);
	} catch (error) {
		return `is invalid (${error instanceof Error ? error.message : String(error)})`;
	}
}

import type { AbortSignalLike } from '../../base/async.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { LanguageName } from '../../protocol/builtInRewards.ts';
import type { RunContent } from '../runContent.ts';

/** What the parts of a report are read from. */
export interface ReadContext {
	readonly content: RunContent;
	/** Of the template; null: nothing says which it was. */
	readonly tags: TraceTags | null;
	/** That thinking is to be in; null: none is asked for. */
	readonly language: LanguageName | null;
	/** Resolved; undefined: there is none. */
	readonly recipe: unknown;
	readonly signal?: AbortSignalLike;
}

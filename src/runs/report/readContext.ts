import type { AbortSignalLike } from '../../base/async.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { RunContent } from '../runContent.ts';

/** Inputs for the sections of a report. */
export interface ReadContext {
	readonly content: RunContent;
	/** Tags in the template; null if unknown. */
	readonly tags: TraceTags | null;
	/** Language required for thinking; null if none is required. */
	readonly language: LanguageName | null;
	/** Resolved recipe; undefined if there is none. */
	readonly recipe: unknown;
	readonly signal?: AbortSignalLike;
}

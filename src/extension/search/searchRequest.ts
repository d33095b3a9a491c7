import type { SearchDraft } from '../../protocol/newSearchMessages.ts';

/**
 * Starts a search and returns its log. The step rule is passed separately, because the draft contains it only if the
 * user chose it.
 */
export type StartSearch = (draft: SearchDraft, split: SearchDraft['split']) => Promise<string>;

/** Request to open the form. */
export interface SearchRequest {
	/** Values set by the caller. */
	readonly draft: SearchDraft;
	/** Starts the search that the user has entered. */
	readonly start: StartSearch;
	/** Called once, with the log, or with undefined if the form was closed or reused for another search. */
	readonly done: (log: string | undefined) => void;
}

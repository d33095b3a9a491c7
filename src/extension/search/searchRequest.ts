import type { SearchDraft } from '../../protocol/newSearchMessages.ts';

/** Starts a search that is cut into steps by a rule, which the draft has only if the user chose it. Returns the log. */
export type StartSearch = (draft: SearchDraft, split: SearchDraft['split']) => Promise<string>;

/** What a caller wants from the form. */
export interface SearchRequest {
	/** What the caller has decided. */
	readonly draft: SearchDraft;
	/** Starts the search that the user has entered. */
	readonly start: StartSearch;
	/** Called once: with the log, or with undefined if the form was closed or is used for another search. */
	readonly done: (log: string | undefined) => void;
}

import * as vscode from 'vscode';
import {
	type NewSearchCommand,
	type NewSearchEvent,
	newSearchCommandSchema,
	newSearchRequests,
	type SearchDraft,
} from '../../../protocol/newSearchMessages.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import type { SearchForm } from '../../search/searchForm.ts';
import type { SearchRequest, StartSearch } from '../../search/searchRequest.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';

const app = {
	name: 'newSearch',
	viewType: panelTypes.newSearch,
	commands: newSearchCommandSchema,
	requests: newSearchRequests,
} as const;

/** Search features that the form needs. */
export interface FormSearches {
	readonly form: SearchForm;
	/** Starts the search from a form restored after a reload, which has no caller waiting for it. */
	readonly commands: { readonly startDraft: StartSearch };
}

/** Form for *New Search*. When the search starts, its tree replaces the form. */
class NewSearchPanel extends AppPanel<NewSearchEvent, NewSearchCommand, typeof newSearchRequests> {
	readonly #searches: FormSearches;
	#request: SearchRequest | undefined;
	/** Draft that the page has not received yet; null if the page keeps its own. */
	#draft: SearchDraft | null;

	protected readonly handlers: RequestHandlers<typeof newSearchRequests> = {
		facts: ({ policy }) => this.#searches.form.facts(policy),
		choosePolicy: () => this.#searches.form.choosePolicy(),
		chooseServer: () => this.#searches.form.chooseServer(),
		rows: ({ environment, policy }) => this.#searches.form.rows(environment, policy),
		chooseProblem: () => this.#searches.form.chooseProblem(),
		start: async ({ draft, split }) => {
			const request = this.#request;
			const log = await (request?.start(draft, split) ?? this.#searches.commands.startDraft(draft, split));
			// The form may have been reused for another search in the meantime, in which case it stays open.
			if (request !== this.#request) return null;
			this.#settle(log);
			// Send the response first.
			setImmediate(() => this.dispose());
			return null;
		},
	};

	constructor(
		panel: vscode.WebviewPanel,
		context: PanelContext,
		searches: FormSearches,
		request: SearchRequest | undefined,
	) {
		super(panel, context, app);
		this.#searches = searches;
		this.#request = request;
		this.#draft = request?.draft ?? null;
		this.register({ dispose: () => this.#settle(undefined) });
		this.load(context);
	}

	/** Reuses the open form for another request. Keeps the user's input if the request does not specify anything. */
	use(request: SearchRequest): void {
		this.#settle(undefined);
		this.#request = request;
		if (Object.keys(request.draft).length > 0) this.#draft = request.draft;
		if (this.listening) void this.#send();
	}

	protected override onCommand(command: NewSearchCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#send();
				break;
			case 'runDemo':
				void vscode.commands.executeCommand(commandIds.startDemoRun);
				break;
			case 'fault':
				this.log.error(`newSearch: ${command.message}`);
				break;
		}
	}

	async #send(): Promise<void> {
		const draft = this.#draft;
		this.#draft = null;
		await this.post(await this.#searches.form.contents(draft));
	}

	#settle(log: string | undefined): void {
		const request = this.#request;
		this.#request = undefined;
		request?.done(log);
	}
}

export type NewSearchPanels = PanelSet<NewSearchPanel, null, SearchRequest>;

/** Creates the panel set; the window has at most one form. */
export function newSearchPanels(context: PanelContext, searches: FormSearches): NewSearchPanels {
	return new PanelSet<NewSearchPanel, null, SearchRequest>(context.extensionUri, {
		viewType: panelTypes.newSearch,
		what: 'the New Search form',
		key: () => 'new',
		title: () => 'New Search',
		create: (panel, _, request) => new NewSearchPanel(panel, context, searches, request),
		reopen: (panel, _, request) => {
			if (request !== undefined) panel.use(request);
		},
		restore: () => null,
	});
}

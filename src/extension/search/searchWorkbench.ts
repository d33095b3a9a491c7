import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { SearchBudget } from '../../protocol/treeLog.ts';
import { readSearchSummary } from '../../runs/searchLog.ts';
import { viewIds } from '../ids.ts';
import type { SearchAction, TreeActions } from '../panels/tree/treePanel.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { AgreedSearches } from './agreedSearches.ts';
import { askBudget } from './budgetQuestion.ts';
import { ComparisonCommand } from './comparisonCommand.ts';
import { ResearchCommands } from './researchCommands.ts';
import { SearchCommands } from './searchCommands.ts';
import { SearchEnvironments } from './searchEnvironments.ts';
import type { SearchList } from './searchesTree.ts';
import { SearchForm } from './searchForm.ts';
import type { SearchWorkbenchNeeds } from './searchNeeds.ts';
import { presentSearch, searchName } from './searchPresentation.ts';
import { searchSettings } from './searchSettings.ts';
import { SearchStore } from './searchStore.ts';
import { chooseTreeFile } from './treeFileQuestion.ts';
import { WindowSearches } from './windowSearches.ts';

/** Search features that load lazily, when the view is first shown or a search command runs. */
export class SearchWorkbench extends Disposable {
	readonly searches: WindowSearches;
	readonly store: SearchStore;
	readonly commands: SearchCommands;
	readonly form: SearchForm;
	readonly comparisons: ComparisonCommand;
	readonly research: ResearchCommands;
	readonly #agreed: AgreedSearches;
	readonly #changed = this.register(new Emitter<void>());

	constructor(needs: SearchWorkbenchNeeds) {
		super();
		this.searches = this.register(new WindowSearches(needs));
		this.store = this.register(new SearchStore(this.searches, needs.store));
		this.#agreed = new AgreedSearches(needs.memory);
		const own = { searches: this.searches, list: this.store, agreed: this.#agreed };
		const episodes = new SearchEnvironments(needs);
		this.form = new SearchForm({ ...needs, searches: this.searches, episodes });
		this.commands = new SearchCommands({ ...needs, ...own, episodes, form: this.form, goOn: this.actions });
		this.research = this.register(
			new ResearchCommands({ ...own, notices: needs.notices, memory: needs.memory, commands: this.commands }),
		);
		const { openComparison: openPanel } = needs;
		this.comparisons = this.register(new ComparisonCommand({ ...needs, ...own, episodes, openPanel }));
		this.register(
			this.searches.onChanged(({ log, failure }) => {
				this.#changed.fire();
				if (failure === null) return;
				void needs.notices.warning(`The search ${displayText(basename(log))} failed: ${displayText(failure, 400)}`, [
					{ title: 'Open Search Tree', run: () => needs.openTree({ path: log }) },
				]);
			}),
		);
	}

	/** Data source for the *Searches* view. */
	get list(): SearchList {
		const { store } = this;
		return {
			logs: async () => {
				await store.refresh();
				return store.searches.map(({ log }) => log);
			},
			get known() {
				return store.searches.map(({ log }) => log);
			},
			present: (log) => {
				const view = store.get(log);
				return view === undefined ? null : presentSearch(view);
			},
			get watched() {
				return store.watched;
			},
			set watched(watched: boolean) {
				store.watched = watched;
			},
			onDidChange: store.onDidChange,
		};
	}

	/** Actions available to tree panels. */
	get actions(): TreeActions {
		const { searches, store } = this;
		return {
			reader: { request: (method: never, params: never) => searches.request(method, params) as never },
			running: (log) => searches.isRunning(log),
			forbidden: () => searches.forbidden(),
			onChanged: this.#changed.event,
			goOn: (log, action, budget) => this.#goOn(log, action, budget),
			prune: async (log, node, restore) => {
				await searches.request('prune', { log, node, restore });
				this.#changed.fire();
			},
			stop: (log) => this.#stop(log),
			chooseOther: async (log) => {
				await store.refresh();
				const others = store.searches.filter((view) => view.log !== log);
				const picked = await showQuickPick(
					[
						...others.map((view) => {
							const { label, description, icon } = presentSearch(view);
							return { label: `$(${icon.id}) ${label}`, description, log: view.log };
						}),
						{ label: '$(folder-opened) Other file...', description: '', log: null },
					],
					{ title: 'Compare tree with', matchOnDescription: true },
				);
				if (picked === undefined) return null;
				return picked.log ?? (await chooseTreeFile())?.fsPath ?? null;
			},
		};
	}

	async #goOn(log: string, action: SearchAction, given?: SearchBudget): Promise<boolean> {
		const { searches } = this;
		const reason = searches.forbidden();
		if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
		if (await searches.isRunning(log)) throw new Failure('busy', 'The search is already running.', 'Stop it first.');
		const summary = await readSearchSummary(log);
		if (summary === null) throw new Failure('invalid', `${basename(log)} is not a search log.`);
		const agreed = await this.#agreed.specOf(summary);
		if (agreed === null) return false;
		// For the user's own searches, the log is authoritative, including for settings changed along the way.
		const changed = agreed === undefined || agreed.own ? {} : { spec: agreed.spec };
		const standard = searchSettings.budget(vscode.Uri.file(log));
		const own = Object.keys(summary.start.budget).length === 0 ? null : summary.start.budget;
		const titles = { more: 'Run More', branch: 'Branch from Here', edit: 'Edit and Continue', force: 'Force a Token' };
		const title = `${titles[action.kind]}: ${searchName(summary)}`;
		const question = { title, placeholder: 'Additional budget', step: 1, steps: 1 };
		const answer = given === undefined ? await askBudget(question, standard, own) : { value: given };
		if (answer === 'back' || answer === 'cancel') return false;
		await withProgress({ title, why: 'Loading the policy...', view: viewIds.searches }, (signal) =>
			searches.goOn({ log, action, budget: answer.value, ...changed }, signal),
		);
		return true;
	}

	async #stop(log: string): Promise<void> {
		if (this.searches.running.has(log)) {
			await withProgress({ title: 'Stopping the search', view: viewIds.searches }, () =>
				this.searches.request('stop', { log }),
			);
			return;
		}
		if (!(await this.searches.isRunning(log))) return;
		throw new Failure('unsupported', 'The search is running in another window or process.', 'Stop it there.');
	}
}

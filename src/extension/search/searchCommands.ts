import { rename } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import type * as v from 'valibot';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { decode, decodeOrThrow } from '../../protocol/decode.ts';
import type { SearchDraft } from '../../protocol/newSearchMessages.ts';
import type { SearchSpec } from '../../protocol/searchSpec.ts';
import { type SearchProblem, searchBudgetSchema } from '../../protocol/treeLog.ts';
import { listCheckpoints } from '../../runs/checkpointFiles.ts';
import { isBeingSearched, searchLogEnding } from '../../runs/searchLog.ts';
import { viewIds } from '../ids.ts';
import type { TreeActions } from '../panels/tree/treePanel.ts';
import { withProgress } from '../progress.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { runLabels } from '../runPresentation.ts';
import { displayText, nameOf } from '../runView.ts';
import type { AgreedSearches } from './agreedSearches.ts';
import { askBudget } from './budgetQuestion.ts';
import { askPolicy } from './policyQuestion.ts';
import { problemOfLine } from './problemOfRow.ts';
import { askChoice, type Choice, type NoAnswer } from './questions.ts';
import type { SearchEnvironments } from './searchEnvironments.ts';
import type { SearchForm } from './searchForm.ts';
import type { SearchWorkbenchNeeds } from './searchNeeds.ts';
import { presentSearch, searchName } from './searchPresentation.ts';
import type { StartSearch } from './searchRequest.ts';
import { searchSettings } from './searchSettings.ts';
import type { SearchStore, SearchView } from './searchStore.ts';
import { chooseTreeFile, isFile } from './treeFileQuestion.ts';
import { treePlaceOf } from './treePlaceOf.ts';
import { isComplete, presetSchema, type WantedSearch, wantedSearch } from './wantedSearch.ts';
import type { WindowSearches } from './windowSearches.ts';

interface Needs extends SearchWorkbenchNeeds {
	readonly searches: WindowSearches;
	readonly list: SearchStore;
	readonly goOn: TreeActions;
	readonly agreed: AgreedSearches;
	readonly form: SearchForm;
	readonly episodes: SearchEnvironments;
}

/** Search commands. */
export class SearchCommands {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/**
	 * *New Search*: accepts a partial description `{problem?, policy?, strategy?, params?, guide?, judge?, budget?,
	 * sampling?, split?, concurrency?, seed?, log?, open?}`, and opens the form if a required part is missing.
	 * Resolves to the log path, or to undefined if the form is closed.
	 */
	async newSearch(argument?: unknown): Promise<string | undefined> {
		this.#requireTrust();
		const { log, open, ...draft } = presetOf(argument);
		if (isComplete(draft)) {
			return this.#start(wantedSearch(draft, draft.params !== undefined), draft, log, open ?? true);
		}
		return this.#openForm(draft, log, open);
	}

	/** Starts the search entered in the form. */
	startDraft(draft: SearchDraft, split: SearchDraft['split'], log?: string, open = true): Promise<string> {
		this.#requireTrust();
		return this.#start(wantedSearch({ ...draft, split }), draft, log, open);
	}

	/** *Search on This Row*: uses the given zero-based line of an open dataset file, or the line at the cursor. */
	async searchRow(file?: unknown, line?: unknown, preset?: unknown): Promise<string | undefined> {
		this.#requireTrust();
		const document =
			file instanceof vscode.Uri
				? await vscode.workspace.openTextDocument(file)
				: vscode.window.activeTextEditor?.document;
		if (document === undefined) throw new Failure('missing', 'No dataset file is open.', 'Open a JSONL file first.');
		const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
		const at = typeof line === 'number' ? line : (editor?.selection.active.line ?? 0);
		const problem = at < document.lineCount ? problemOfLine(document.lineAt(at).text) : null;
		if (problem === null) {
			throw new Failure(
				'invalid',
				`No problem found on line ${at + 1} of ${basename(document.fileName)}.`,
				'Choose a row with a "prompt" or "question" column.',
			);
		}
		return this.newSearch({ ...(preset as object | undefined), problem });
	}

	/**
	 * *Search from Checkpoint*: uses the given run folder, or prompts for it, and the given step, or the best
	 * checkpoint.
	 */
	async searchFromCheckpoint(run?: unknown, step?: unknown, preset?: unknown): Promise<string | undefined> {
		this.#requireTrust();
		const { store } = this.#needs;
		await store.ready;
		const folder = typeof run === 'string' ? run : run instanceof vscode.Uri ? run.fsPath : await this.#chooseRun();
		if (folder === undefined) return undefined;
		const view = await store.require(folder);
		const checkpoints = (await listCheckpoints(view.folder)).reverse();
		if (checkpoints.length === 0) {
			throw new Failure(
				'missing',
				`${nameOf(view)} has no complete checkpoints.`,
				'Wait until the run saves its first checkpoint.',
			);
		}
		const chosen =
			typeof step === 'number'
				? checkpoints.find((checkpoint) => checkpoint.step === step)
				: (checkpoints.find(({ best }) => best) ?? checkpoints[0]);
		if (chosen === undefined) return undefined;
		return this.newSearch({ ...(preset as object | undefined), policy: { kind: 'checkpoint', folder: chosen.path } });
	}

	/** *Search Again with...*: repeats the given search, or the most recent one, with one setting changed. */
	async searchAgain(argument?: unknown): Promise<string | undefined> {
		this.#requireTrust();
		const view = typeof argument === 'string' ? await this.#view(argument) : await this.#newest();
		if (view === undefined) return this.newSearch();
		const agreed = await this.#needs.agreed.specOf(view);
		if (agreed === undefined) return this.newSearch({ problem: view.start.problem });
		if (agreed === null) return undefined;
		const { spec } = agreed;
		const problem: SearchProblem = view.start.problem;
		const question = { title: `Again: ${searchName(view)}`, step: 1, steps: 1 };
		const choices: Choice<'seed' | 'policy' | 'budget' | 'form'>[] = [
			{ label: '$(refresh) Different seed', description: `${spec.strategy}, seed ${spec.seed + 1}`, value: 'seed' },
			{ label: '$(server-process) Different policy...', value: 'policy' },
			{ label: '$(dashboard) Different budget...', value: 'budget' },
			{ label: '$(list-flat) Different strategy, problem, or settings...', value: 'form' },
		];
		const answer = await askChoice(question, choices);
		if (answer === 'back' || answer === 'cancel') return undefined;
		const again = (change: Partial<SearchSpec>) => {
			const draft = { ...spec, ...change, problem };
			return this.#start(wantedSearch(draft, true), draft, undefined, true);
		};
		switch (answer.value) {
			case 'seed':
				return again({ seed: spec.seed + 1 });
			case 'policy': {
				const policy = answered(await askPolicy(question, this.#needs.store, this.#needs.policies, spec.policy));
				return policy && again({ policy });
			}
			case 'budget': {
				const standard = searchSettings.budget(vscode.Uri.file(view.log));
				const budget = answered(await askBudget(question, standard, spec.budget));
				return budget && again({ budget });
			}
			case 'form':
				return this.#openForm({ ...spec, environment: spec.environment ?? null, problem });
		}
	}

	/** *Open Search Tree*: opens a log from the list, from a context menu, or from a picker. */
	async openTree(argument?: unknown, place?: unknown): Promise<void> {
		const path = pathOf(argument) ?? (await chooseTreeFile())?.fsPath;
		if (path === undefined) return;
		if (!(await isFile(path))) throw new Failure('missing', `${path} is not a file.`, 'Choose a search log.');
		await this.#needs.openTree({ path: normalize(path), ...treePlaceOf(place) });
	}

	/** *Compare Search Trees*: compares two selected logs, or one log with another that the user picks. */
	async compare(argument?: unknown, selected?: unknown): Promise<void> {
		const first = pathOf(argument);
		const others = Array.isArray(selected) ? selected.map(pathOf).filter((path) => path !== null) : [];
		const given = typeof selected === 'string' ? selected : others.find((path) => path !== first);
		const path = first ?? others[0] ?? (await this.#choose('Compare search tree'));
		if (path === undefined) return;
		const other = given ?? (await this.#needs.goOn.chooseOther(path));
		if (other !== null) await this.#needs.openTree({ path, other });
	}

	/** *Run More*: continues a search with the given budget, or prompts for one. */
	async runMore(argument?: unknown, budget?: unknown): Promise<boolean> {
		const path = pathOf(argument) ?? (await this.#choose('Run more', (view) => !view.running));
		if (path === undefined) return false;
		const decoded = decode(searchBudgetSchema, budget);
		return this.#needs.goOn.goOn(
			path,
			{ kind: 'more' },
			budget !== undefined && decoded.ok ? decoded.value : undefined,
		);
	}

	/** *Stop Search*: stops the given search, or the one that is running. */
	async stop(argument?: unknown): Promise<void> {
		const path = pathOf(argument) ?? (await this.#choose('Stop search', (view) => view.running));
		if (path !== undefined) await this.#needs.goOn.stop(path);
	}

	/** *Open Search Log*: opens the log as text. */
	async openLog(argument?: unknown): Promise<void> {
		const path = pathOf(argument) ?? (await this.#choose('Open search log'));
		if (path !== undefined) await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true });
	}

	/** *Rename Search*: renames the log file. */
	async rename(argument?: unknown, named?: unknown): Promise<string | undefined> {
		const path = pathOf(argument) ?? (await this.#choose('Rename search', (view) => !view.running));
		if (path === undefined) return undefined;
		await this.#requireEnded(path);
		const stem = basename(path, searchLogEnding);
		const name =
			typeof named === 'string'
				? named
				: await showInputBox({
						title: 'Rename Search',
						value: stem,
						validateInput: (text) => faultOfName(text),
					});
		if (name === undefined || name === stem) return undefined;
		const fault = faultOfName(name);
		if (fault !== null) throw new Failure('invalid', fault);
		const target = join(dirname(path), `${name.trim()}${searchLogEnding}`);
		if (await isFile(target))
			throw new Failure('exists', `A search named ${name} already exists.`, 'Choose another name.');
		await rename(path, target).catch((error: unknown) => {
			throw Failure.from(error, `Cannot rename ${stem}`);
		});
		await this.#needs.list.refresh();
		return target;
	}

	/** *Delete Search*: moves logs to the trash. */
	async remove(argument?: unknown, selected?: unknown): Promise<void> {
		const first = pathOf(argument) ?? (await this.#choose('Delete search', (view) => !view.running));
		if (first === undefined) return;
		const all = Array.isArray(selected) ? selected.map(pathOf).filter((path) => path !== null) : [];
		const paths = all.includes(first) ? all : [first];
		for (const path of paths) await this.#requireEnded(path);
		const what =
			paths.length === 1
				? `the search ${displayText(basename(first))}`
				: formatCounted(paths.length, 'search', 'searches');
		const answer = await vscode.window.showWarningMessage(
			`Move ${what} to the trash?`,
			{ modal: true },
			{ title: 'Move to Trash' },
		);
		if (answer === undefined) return;
		for (const path of paths) await vscode.workspace.fs.delete(vscode.Uri.file(path), { useTrash: true });
		await this.#needs.list.refresh();
	}

	refresh(): Promise<void> {
		return this.#needs.list.refresh();
	}

	#requireTrust(): void {
		const reason = this.#needs.searches.forbidden();
		if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
	}

	#openForm(draft: SearchDraft, log?: string, open = true): Promise<string | undefined> {
		const start: StartSearch = (chosen, split) => this.startDraft(chosen, split, log, open);
		return new Promise((done, failed) => {
			Promise.resolve(this.#needs.openForm({ draft, start, done })).catch(failed);
		});
	}

	async #start({ spec, problem }: WantedSearch, draft: SearchDraft, log: string | undefined, open: boolean) {
		const { searches, form, openTree, list, episodes } = this.#needs;
		if (spec.environment !== undefined) await episodes.require(spec.environment, spec.policy);
		const words = { title: 'Starting the search', why: 'Loading the policy...', view: viewIds.searches };
		const path = await withProgress(words, (signal) => searches.start({ spec, problem, log }, signal));
		await (await this.#needs.policies()).store.used(spec.policy);
		await form.remember(draft);
		if (open) await openTree({ path });
		void list.refresh();
		return path;
	}

	async #view(log: string): Promise<SearchView | undefined> {
		const { list } = this.#needs;
		if (list.get(log) === undefined) await list.refresh();
		return list.get(log);
	}

	async #newest(): Promise<SearchView | undefined> {
		await this.#needs.list.refresh();
		return this.#needs.list.searches[0];
	}

	/** Prompts for a listed search. Skips the prompt if only one qualifies. */
	async #choose(title: string, fits: (view: SearchView) => boolean = () => true): Promise<string | undefined> {
		const { list, tree } = this.#needs;
		const [selected] = tree.selection;
		if (selected !== undefined) return selected;
		await list.refresh();
		const views = list.searches.filter(fits);
		if (views.length === 0) throw new Failure('missing', 'No matching search found.', 'Start one with New Search.');
		if (views.length === 1) return views[0]?.log;
		const picked = await showQuickPick(
			views.map((view) => {
				const { label, description, icon } = presentSearch(view);
				return { label: `$(${icon.id}) ${label}`, description, log: view.log };
			}),
			{ title, placeHolder: 'Select a search', matchOnDescription: true },
		);
		return picked?.log;
	}

	async #chooseRun(): Promise<string | undefined> {
		const { own, runs } = this.#needs.store;
		const labelOf = runLabels(runs);
		const picked = await showQuickPick(
			own.map((view) => ({ label: labelOf(view), folder: view.folder })),
			{ title: 'Search from checkpoint', placeHolder: 'Select a run' },
		);
		return picked?.folder;
	}

	async #requireEnded(path: string): Promise<void> {
		if (!this.#needs.searches.running.has(path) && !(await isBeingSearched(path))) return;
		throw new Failure('busy', `${displayText(basename(path))} is still running.`, 'Stop it first.');
	}
}

const answered = <T>(answer: { readonly value: T } | NoAnswer): T | undefined =>
	answer === 'back' || answer === 'cancel' ? undefined : answer.value;

function presetOf(argument: unknown): v.InferOutput<typeof presetSchema> {
	// Editor menus pass a Uri.
	if (typeof argument !== 'object' || argument === null || argument instanceof vscode.Uri) {
		const editor = vscode.window.activeTextEditor;
		const selected = argument instanceof vscode.Uri && editor ? editor.document.getText(editor.selection).trim() : '';
		return selected === '' ? {} : { problem: { prompt: selected, answer: null, row: {} } };
	}
	return decodeOrThrow(presetSchema, argument, 'New Search argument');
}

function pathOf(argument: unknown): string | null {
	if (argument instanceof vscode.Uri) {
		if (argument.scheme === 'file') return argument.fsPath;
		throw new Failure('unsupported', 'The document is not a file on this machine.', 'Save it to disk first.');
	}
	if (typeof argument !== 'string' || argument === '') return null;
	if (!isAbsolute(argument)) throw new Failure('invalid', `${argument} is not an absolute path.`);
	return argument;
}

function faultOfName(text: string): string | null {
	const name = text.trim();
	if (name === '') return 'Enter a name.';
	return name.length > 100 || /[\\/:*?"<>|\p{Cc}]/u.test(name) || name.startsWith('.')
		? 'Use at most 100 characters, none of \\ / : * ? " < > |, and no leading dot.'
		: null;
}

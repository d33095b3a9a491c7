import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import type { RecipeFault } from '../core/recipe/parseRecipe.ts';
import type { EngineName } from '../protocol/runRecord.ts';
import type { Agree } from '../runs/foreignCode.ts';
import type { PipelineOptions, StartedPipeline } from '../runs/pipeline/startPipeline.ts';
import type { StartedRun, StartOptions } from '../runs/startRun.ts';
import { launchSettings, requireTrust } from './launchSettings.ts';
import type { Notices } from './notices.ts';
import { withProgress } from './progress.ts';
import type { RecipeDiagnostics } from './recipeDiagnostics.ts';
import type { RunStore } from './runStore.ts';
import type { RunsTree } from './runsTree.ts';
import { displayText, nameOf, type RunView } from './runView.ts';
import { saveDocument } from './saveDocument.ts';
import { settings } from './settings.ts';

/** Loaded only for a run or pipeline that this user did not start. */
const questions = () => import('./foreignCodeQuestion.ts');
const agree: Agree = async (code) => (await questions()).agreeForeignCode(code);

export interface StartPlace {
	/** Whether to open the dashboard and show the run in the view; default true. */
	readonly show?: boolean;
}

interface Needs {
	readonly extension: vscode.Uri;
	readonly store: RunStore;
	readonly tree: RunsTree;
	readonly notices: Notices;
	readonly diagnostics: RecipeDiagnostics;
	/** Returns the environment for the engine's rewards: Python, sandbox, and API keys. @param recipe recipe to start */
	readonly environment: (recipe: vscode.Uri) => Promise<Readonly<Record<string, string>>>;
	/**
	 * Returns the environment for engines that train in Python, or undefined if no Python interpreter is available, in
	 * which case the user is asked what to do.
	 * @param retry starts the run
	 */
	readonly torch: (
		engine: EngineName,
		retry: () => unknown,
		/** Recipe or run folder; absent when a pipeline is rerun. */
		from?: string,
	) => Promise<Readonly<Record<string, string>> | undefined>;
	/** Returns true if the run fits in memory or the user chooses to start it anyway. */
	readonly mayStart: (recipe: vscode.Uri, engine: EngineName) => Promise<boolean>;
	/** Adds a pipeline to the view, and reports when it ends. */
	readonly expectPipeline: (pipeline: StartedPipeline) => Promise<void>;
	/** Returns the engine that trains the stages of a pipeline. */
	readonly pipelineEngine: (folder: string) => Promise<EngineName>;
	readonly openDashboard: (folder: string) => unknown;
	readonly openLog: (run: { readonly folder: string }) => Promise<void>;
	/**
	 * Suppresses the end notification while a start is pending. The returned function ends the suppression; its
	 * argument says whether the end has already been reported.
	 */
	readonly holdEnd: (folder: string) => (reported: boolean) => Promise<void>;
}

/**
 * Starts engines to run a recipe, resume a run, or continue from a checkpoint. All of these require workspace trust.
 * Code needed only to start an engine is loaded on demand, to keep activation fast.
 */
export class RunStarter {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/** @returns the run folder, or undefined if the recipe has errors (which are shown) */
	async start(recipe: vscode.Uri, place: StartPlace = {}): Promise<string | undefined> {
		requireTrust();
		const document = await vscode.workspace.openTextDocument(recipe);
		if (document.isDirty) await saveDocument(document, 'Save it, then start the run.');
		const { faultsOf } = await import('./recipeFaults.ts');
		const { recipe: parsed, pipeline, faults } = await faultsOf(document.getText(), recipe.fsPath);
		if (faults.length > 0 || parsed === null) {
			this.#needs.diagnostics.show(recipe, faults);
			this.#showFaults(document, faults);
			return undefined;
		}
		if (!(await (await questions()).agreeServer(parsed.environment?.server))) return undefined;
		const set = parsed.whenBusy === undefined ? [{ path: ['whenBusy'], value: settings.whenBusy() }] : [];
		const torch = await this.#needs.torch(parsed.engine, () => this.start(recipe, place), recipe.fsPath);
		if (torch === undefined) return undefined;
		if (pipeline !== null) {
			return this.#pipeline(`Starting ${displayText(pipeline.name)}`, recipe, torch, (pipelines, options) =>
				pipelines.startPipeline(recipe.fsPath, { set }, options),
			);
		}
		if (!(await this.#needs.mayStart(recipe, parsed.engine))) return undefined;
		return this.#run(`Starting ${displayText(parsed.name)}`, recipe, torch, place, (runs, options) =>
			runs.startRun(recipe.fsPath, { set }, options),
		);
	}

	/** Resumes a pipeline that has ended. */
	async resumePipeline(folder: string, name: string): Promise<string | undefined> {
		requireTrust();
		const engine = await this.#needs.pipelineEngine(folder);
		const torch = await this.#needs.torch(engine, () => this.resumePipeline(folder, name));
		if (torch === undefined) return undefined;
		return this.#pipeline(`Resuming ${displayText(name)}`, vscode.Uri.file(folder), torch, (pipelines, options) =>
			pipelines.resumePipeline(folder, {}, { ...options, agree }),
		);
	}

	/** Starts a new pipeline with the recipe of an existing one. */
	async startPipelineAgain(folder: string, name: string): Promise<string | undefined> {
		requireTrust();
		const engine = await this.#needs.pipelineEngine(folder);
		const torch = await this.#needs.torch(engine, () => this.startPipelineAgain(folder, name));
		if (torch === undefined) return undefined;
		return this.#pipeline(`Starting ${displayText(name)}`, vscode.Uri.file(folder), torch, (pipelines, options) =>
			pipelines.startPipelineAgain(folder, { ...options, agree }),
		);
	}

	/** Shows the pipeline once its folder exists, and waits until its runner has started. */
	async #pipeline(
		title: string,
		from: vscode.Uri,
		torch: Readonly<Record<string, string>>,
		begin: (
			pipelines: typeof import('../runs/pipeline/startPipeline.ts'),
			options: PipelineOptions,
		) => Promise<StartedPipeline>,
	): Promise<string | undefined> {
		const pipelines = await import('../runs/pipeline/startPipeline.ts');
		const { parallelStages } = await import('./pipelines/parallelStages.ts');
		const launch = {
			...(await launchSettings(this.#needs.extension)),
			...parallelStages(),
			environment: { ...(await this.#needs.environment(from)), ...torch },
		};
		const started = await withProgress({ title, why: 'starting the runner' }, (signal) =>
			begin(pipelines, { ...launch, signal }),
		);
		const { folder } = started;
		await this.#needs.expectPipeline(started);
		await this.#needs.tree.reveal(folder);
		return folder;
	}

	async resume(view: RunView, place: StartPlace = {}): Promise<string | undefined> {
		requireTrust();
		const torch = await this.#torchOf(view, () => this.resume(view, place));
		if (torch === undefined) return undefined;
		const folder = vscode.Uri.file(view.folder);
		return this.#run(`Resuming ${nameOf(view)}`, folder, torch, place, (runs, options) =>
			runs.resumeRun(view.folder, { ...options, agree }),
		);
	}

	/** Starts a new run from a checkpoint. @param step null for the latest checkpoint */
	async branch(view: RunView, step: number | null, place: StartPlace = {}): Promise<string | undefined> {
		requireTrust();
		const torch = await this.#torchOf(view, () => this.branch(view, step, place));
		if (torch === undefined) return undefined;
		return this.#run(`Resuming ${nameOf(view)}`, vscode.Uri.file(view.folder), torch, place, (runs, options) =>
			runs.branchRun(view.folder, step, {}, { ...options, agree }),
		);
	}

	#torchOf(view: RunView, retry: () => unknown): Promise<Readonly<Record<string, string>> | undefined> {
		return this.#needs.torch(view.record?.engine ?? 'embedded', retry, view.folder);
	}

	/**
	 * Shows the run once its folder exists, and waits until its engine has started. If the run is queued for its device,
	 * its row shows that, and the call stops waiting.
	 */
	async #run(
		title: string,
		from: vscode.Uri,
		torch: Readonly<Record<string, string>>,
		place: StartPlace,
		begin: (runs: typeof import('../runs/startRun.ts'), options: StartOptions) => Promise<StartedRun>,
	): Promise<string | undefined> {
		const { store, tree, openDashboard } = this.#needs;
		const runs = await import('../runs/startRun.ts');
		const launch = {
			...(await launchSettings(this.#needs.extension)),
			environment: { ...(await this.#needs.environment(from)), ...torch },
		};
		let folder: string | null = null;
		let shown: Promise<void> | null = null;
		let release: ((reported: boolean) => Promise<void>) | null = null;
		let reported = false;
		const show = async (run: string): Promise<void> => {
			folder = await store.expect(run);
			await store.adopt(folder);
			if (place.show ?? true) {
				openDashboard(folder);
				await tree.reveal(folder);
			}
		};
		try {
			const started = await withProgress({ title, why: 'starting the engine' }, (signal) =>
				begin(runs, {
					...launch,
					signal,
					onFolder: (run) => {
						release = this.#needs.holdEnd(run);
						shown = show(run).catch(() => undefined);
					},
				}),
			);
			await shown;
			folder = await store.expect(started.folder);
			await store.adopt(folder);
			await tree.reveal(folder);
			return folder;
		} catch (error) {
			await shown;
			await store.refresh();
			const failure = Failure.from(error);
			const view = folder === null ? undefined : store.get(folder);
			// The run is queued for its device, or the user canceled the wait. It continues in the background.
			if (view !== undefined && (view.queued || failure.reason === 'cancelled')) return view.folder;
			// An engine that exited before it wrote run.json has logged the reason.
			const run = folder === null ? null : { folder };
			const actions = run === null ? [] : [{ title: 'Open Log', run: () => this.#needs.openLog(run) }];
			this.#needs.notices.failure(failure, actions);
			reported = true;
			return undefined;
		} finally {
			void (release as ((reported: boolean) => Promise<void>) | null)?.(reported);
		}
	}

	#showFaults(document: vscode.TextDocument, faults: readonly RecipeFault[]): void {
		const [first] = faults;
		const rest = faults.length - 1;
		const more = rest > 0 ? ` ${formatCounted(rest, 'more problem')}.` : '';
		const name = document.uri.path.split('/').pop() ?? '';
		const text = first ? `${name}, line ${first.line}: ${first.message}${more}` : `${name} is not a valid recipe.`;
		const goTo = async () => {
			const position = new vscode.Position((first?.line ?? 1) - 1, (first?.column ?? 1) - 1);
			await vscode.window.showTextDocument(document, { selection: new vscode.Range(position, position) });
		};
		void this.#needs.notices.error(text, [{ title: 'Go to Line', run: goTo }]);
	}
}

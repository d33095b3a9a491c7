import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { type EnvironmentState, environmentState } from '../../environment/environmentState.ts';
import { ManagedFolder } from '../../environment/managedFolder.ts';
import { knownExtras } from '../../environment/setup/requirements.ts';
import {
	prepareSetup,
	removeEnvironment,
	type SetupOptions,
	type SetupResult,
	setUpEnvironment,
} from '../../environment/setup/setUpEnvironment.ts';
import { newestSetupLog } from '../../environment/setup/setupLog.ts';
import type { SetupPlan } from '../../environment/setup/setupPlan.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { pytorchSettings } from './pytorchSettings.ts';
import { type SetupAnswers, setupAnswers } from './setupAnswers.ts';
import { askForExtras, askForPython, askToInstall, askWhatToDo } from './setupQuestions.ts';

interface Needs {
	readonly version: string;
	readonly notices: Notices;
	readonly doctor: () => unknown;
	readonly choose: () => Promise<string | undefined>;
}

/**
 * Implements *Set Up PyTorch Engine*: shows what will be installed and its size, then installs it with cancellable
 * progress.
 */
export class SetUpCommand extends Disposable {
	readonly #needs: Needs;
	readonly #abort = new AbortController();
	/** Setup in progress in this window; null if there is none. */
	#running: Promise<string | undefined> | null = null;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		// A setup started in this window is undone when the window closes.
		this.register({ dispose: () => this.#abort.abort() });
	}

	/**
	 * @param given answers provided by the caller to skip the prompts
	 * @returns the Python interpreter to train with, or undefined if setup was not completed
	 */
	run(given?: unknown): Promise<string | undefined> {
		this.#running ??= this.#ask(setupAnswers(given)).finally(() => {
			this.#running = null;
		});
		return this.#running;
	}

	async openLog(): Promise<void> {
		const path = await newestSetupLog(ManagedFolder.at(pytorchSettings.folder()).logs);
		await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true });
	}

	/** @param confirmed true to skip the confirmation */
	async remove(confirmed?: unknown): Promise<void> {
		const folder = ManagedFolder.at(pytorchSettings.folder());
		if ((await folder.current()) === null) throw new Failure('missing', 'No PyTorch environment is set up.');
		if (confirmed !== true) {
			const detail = `${folder.environments}\n\nRuns and their checkpoints are kept.`;
			const question = 'Remove the PyTorch environment?';
			if ((await vscode.window.showWarningMessage(question, { modal: true, detail }, 'Remove')) !== 'Remove') return;
		}
		await withProgress({ title: 'Removing the PyTorch environment' }, () => removeEnvironment(folder));
		void this.#needs.notices.information('PyTorch environment removed.');
	}

	async #ask(answers: SetupAnswers): Promise<string | undefined> {
		const folder = ManagedFolder.at(pytorchSettings.folder());
		const state = await environmentState(folder, answers.requirements);
		let extras = answers.extras ?? (state.kind === 'ready' ? knownExtras(state.record.extras) : []);
		let python = answers.python;
		if (state.kind === 'ready' && state.outdated.length === 0 && !answers.confirmed) {
			const wish = await askWhatToDo(state.record);
			if (wish === 'doctor') await this.#needs.doctor();
			else if (wish === 'choose') return this.#needs.choose();
			else if (wish === 'remove') await this.remove();
			else if (wish === 'log') await this.openLog();
			if (wish !== 'again') return undefined;
		}
		for (;;) {
			const options: SetupOptions = {
				...{ folder, version: this.#needs.version, choices: pytorchSettings.choices(), extras, python },
				requirements: answers.requirements,
			};
			if (answers.confirmed) return this.#install(options);
			const { plan } = await withProgress({ title: 'Detecting Python and GPUs' }, (signal) =>
				prepareSetup({ ...options, signal }),
			);
			const wish = await askToInstall(plan, this.#notesOf(plan, state));
			if (wish === 'install') return this.#install(options);
			if (wish !== 'change') return undefined;
			const chosen = await askForPython(plan.python);
			if (chosen === undefined) return undefined;
			python = chosen;
			const more = await askForExtras(extras);
			if (more === undefined) return undefined;
			extras = more;
		}
	}

	#notesOf(plan: SetupPlan, state: EnvironmentState): string[] {
		const named = pytorchSettings.python();
		return [
			...plan.notes,
			...(state.kind === 'ready' && state.outdated.length > 0
				? [
						`The environment was created by version ${state.record.version}. Changed since then: ${state.outdated.join(', ')}.`,
					]
				: []),
			...(named === null ? [] : [`This also clears the setting reasoningLab.pytorch.python, currently ${named}.`]),
		];
	}

	async #install(options: SetupOptions): Promise<string | undefined> {
		const { notices } = this.#needs;
		const log = { title: 'Open Log', run: () => this.openLog() };
		try {
			const result = await this.#withProgress(options);
			if (pytorchSettings.python() !== null) await pytorchSettings.setPython(null);
			void notices.information(readySentence(result), [{ title: 'Doctor', run: () => this.#needs.doctor() }, log]);
			return result.python;
		} catch (error) {
			// Until the setup starts, it has no log, and the newest log belongs to an earlier setup.
			const failure = Failure.from(error);
			notices.failure(failure, failure.reason === 'busy' ? [] : [log]);
			return undefined;
		}
	}

	#withProgress(options: SetupOptions): Thenable<SetupResult> {
		return vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: 'Setting up the PyTorch engine', cancellable: true },
			(progress, token) => {
				const abort = new AbortController();
				token.onCancellationRequested(() => abort.abort());
				let before = 0;
				return setUpEnvironment(
					{ ...options, signal: AbortSignal.any([abort.signal, this.#abort.signal]) },
					{
						onProgress: ({ message, fraction }) => {
							progress.report({ message, increment: 100 * (fraction - before) });
							before = fraction;
						},
					},
				);
			},
		);
	}
}

function readySentence({ probe, seconds }: SetupResult): string {
	const took = seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;
	const torch = probe.torch?.version ?? probe.packages.torch;
	return `PyTorch engine set up${torch ? ` (torch ${torch})` : ''} in ${took}.`;
}

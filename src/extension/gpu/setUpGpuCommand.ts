import { join } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import {
	type GpuSetupOptions,
	type GpuSetupPlan,
	planGpuSetup,
	removeGpu,
	setUpGpu,
} from '../../environment/gpu/gpuSetup.ts';
import { GpuRuntimeFolder } from '../../runs/gpuRuntimeFolder.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';

interface Needs {
	readonly extension: vscode.Uri;
	readonly notices: Notices;
	readonly doctor: () => unknown;
}

/**
 * Implements *Set Up GPU*: shows what will be downloaded and its size, then downloads the CUDA provider for the
 * embedded engine with cancellable progress.
 */
export class SetUpGpuCommand extends Disposable {
	readonly #needs: Needs;
	readonly #abort = new AbortController();
	/** Setup in progress in this window; null if there is none. */
	#running: Promise<void> | null = null;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register({ dispose: () => this.#abort.abort() });
	}

	run(): Promise<void> {
		this.#running ??= this.#ask().finally(() => {
			this.#running = null;
		});
		return this.#running;
	}

	async #ask(): Promise<void> {
		const folder = GpuRuntimeFolder.at();
		if ((await folder.current()) !== null) {
			const wish = await askWhatToDo(folder);
			if (wish === 'doctor') await this.#needs.doctor();
			else if (wish === 'remove') await this.#remove(folder);
			if (wish !== 'again') return;
		}
		const options: GpuSetupOptions = {
			folder,
			indexUrl: null,
			withoutGpu: false,
			installed: join(this.#needs.extension.fsPath, 'node_modules', 'onnxruntime-node'),
		};
		const plan = await withProgress({ title: 'Detecting the GPU and its packages' }, (signal) =>
			planGpuSetup({ ...options, signal }),
		);
		if (await askToDownload(plan)) await this.#install(options, plan);
	}

	async #remove(folder: GpuRuntimeFolder): Promise<void> {
		await withProgress({ title: 'Removing the CUDA runtime' }, () => removeGpu(folder));
		void this.#needs.notices.information('CUDA runtime removed.');
	}

	async #install(options: GpuSetupOptions, plan: GpuSetupPlan): Promise<void> {
		const { notices, doctor } = this.#needs;
		try {
			await vscode.window.withProgress(
				{ location: vscode.ProgressLocation.Notification, title: 'Setting up the GPU', cancellable: true },
				(progress, token) => {
					const abort = new AbortController();
					token.onCancellationRequested(() => abort.abort());
					let before = 0;
					const signal = AbortSignal.any([abort.signal, this.#abort.signal]);
					return setUpGpu({ ...options, signal }, plan, ({ message, fraction }) => {
						progress.report({ message, increment: 100 * (fraction - before) });
						before = fraction;
					});
				},
			);
		} catch (error) {
			notices.failure(Failure.from(error));
			return;
		}
		void notices.information(
			'GPU set up. Recipes with "device" set to "auto" or "cuda" use it if its results are correct.',
			[{ title: 'Doctor', run: doctor }],
		);
	}
}

async function askWhatToDo(folder: GpuRuntimeFolder): Promise<'doctor' | 'again' | 'remove' | undefined> {
	const items: (vscode.QuickPickItem & { readonly wish: 'doctor' | 'again' | 'remove' })[] = [
		{ label: '$(pulse) Check GPU', description: 'Doctor', wish: 'doctor' },
		{ label: '$(refresh) Set Up Again', wish: 'again' },
		{ label: '$(trash) Remove', description: folder.path, wish: 'remove' },
	];
	const title = 'The CUDA runtime of the embedded engine is set up';
	return (await showQuickPick(items, { title, placeHolder: 'Select an action' }))?.wish;
}

/** Shows the sizes and asks for confirmation before anything is downloaded. */
async function askToDownload({ gpu, index, wheels, bytes, folder }: GpuSetupPlan): Promise<boolean> {
	const files = wheels.map(({ package: { name }, version, bytes }) => `${name} ${version} (${formatBytes(bytes)})`);
	const detail = [
		`${gpu ?? 'No NVIDIA GPU'}. Downloads ${formatBytes(bytes)} from ${new URL(index.url).host}: ${files.join(', ')}.`,
		`Target folder: ${folder}. The installed extension is not changed.`,
	].map((line) => displayText(line, 700));
	const question = 'Set up CUDA for the embedded engine?';
	const answer = await vscode.window.showInformationMessage(
		question,
		{ modal: true, detail: detail.join('\n\n') },
		'Download',
	);
	return answer === 'Download';
}
